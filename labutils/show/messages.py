"""An all-reduce drawn round by round: what each rank holds, and the messages that are on their way."""

from itertools import pairwise

from matplotlib.collections import PatchCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import FancyArrowPatch, Rectangle

from labutils.bench.units import format_si
from labutils.show import style

_NAMES = {
    "ring": "Ring",
    "tree": "Tree",
    "halving_doubling": "Halving-doubling",
    "hierarchical": "Hierarchical",
}
_FILL = LinearSegmentedColormap.from_list("share of the sum", ["#FBE6DA", style.COLORS["all-reduce"]])
_CELL_HEIGHT = 0.62  # of the distance between two ranks; arrows need the rest
_LABELLED_RANKS = 8  # with more, the cells are too small for words


def draw_all_reduce(reduced, upto_round, width=11.0):
    """Draw the ranks of a Reduced after `upto_round` rounds, with that round's messages as arrows: a Figure.

    Every row is a rank, every column a piece of its array. A cell says how many ranks' values it has summed;
    it is as dark as its sum is complete, and gets a thick edge when all are in. Round 0 is the start.
    ValueError for a round that is not between 0 and reduced.rounds.
    """
    _check_round(reduced, upto_round)
    ranks = len(reduced.arrays)
    columns = _columns(reduced)
    summed = _contributions(reduced.messages, upto_round, ranks, columns)
    latest = [message for message in reduced.messages if message.round == upto_round - 1]

    with style.style():
        row_inches = min(0.85, 6.8 / ranks)
        height = 1.45 + row_inches * ranks
        figure = style.picture(width, height)
        axes = figure.add_axes((1.1 / width, 0.62 / height, 1 - 1.3 / width, 1 - 1.45 / height))
        _draw_cells(axes, summed, ranks)
        _draw_arrows(axes, latest, columns)
        _label_axes(axes, ranks, len(columns))
        _write_around(figure, reduced, upto_round, latest)
    return figure


def _check_round(reduced, upto_round):
    whole = isinstance(upto_round, int) and not isinstance(upto_round, bool)
    if not whole or not 0 <= upto_round <= reduced.rounds:
        raise ValueError(
            f"upto_round is {upto_round!r}, but this all-reduce has {reduced.rounds} rounds: "
            f"give a whole number from 0 (the start) to {reduced.rounds} (the end)."
        )


def _columns(reduced):
    """The pieces that messages cut the array into, as (start, stop)."""
    bounds = {0, reduced.arrays[0].size}
    for message in reduced.messages:
        bounds |= {message.start, message.stop}
    return list(pairwise(sorted(bounds))) or [(0, 0)]  # an empty array is drawn as one empty chunk


def _contributions(messages, upto_round, ranks, columns):
    """The set of ranks whose values are in each cell, as [rank][column], after `upto_round` rounds."""
    held = [[frozenset([rank]) for _ in columns] for rank in range(ranks)]
    for number in range(upto_round):
        before = [list(row) for row in held]  # messages of one round leave before any of them lands
        for message in (message for message in messages if message.round == number):
            for column in _touched(message, columns):
                payload = before[message.sender][column]
                own = before[message.receiver][column] if message.adds else frozenset()
                held[message.receiver][column] = own | payload
    return held


def _touched(message, columns):
    return [
        column
        for column, (start, stop) in enumerate(columns)
        if message.start <= start and stop <= message.stop and start < stop
    ]


def _draw_cells(axes, summed, ranks):
    cells, colors, edges, widths = [], [], [], []
    for rank, row in enumerate(summed):
        for column, inside in enumerate(row):
            complete = len(inside) == ranks
            color = _FILL(1.0 if complete else (len(inside) - 1) / (ranks - 1))
            cells.append(Rectangle((column + 0.04, rank - _CELL_HEIGHT / 2), 0.92, _CELL_HEIGHT))
            colors.append(color)
            edges.append(style.INK if complete else "white")
            widths.append(2.5 if complete else 1)
            if ranks <= _LABELLED_RANKS:
                words = _words(inside, ranks)
                weight = "bold" if complete else "normal"
                at = (column + 0.5, rank)
                axes.text(*at, words, ha="center", va="center", fontsize=12, weight=weight, color=style.ink_on(color))
    axes.add_collection(PatchCollection(cells, facecolors=colors, edgecolors=edges, linewidths=widths))


def _words(inside, ranks):
    if len(inside) == ranks:
        return "sum"
    if ranks <= 4:
        return " + ".join(f"r{rank}" for rank in sorted(inside))
    return f"{len(inside)} of {ranks}"


def _draw_arrows(axes, messages, columns):
    """One arrow a message, from the sender's row to the receiver's, in the columns that it carries."""
    carried = [(message, _touched(message, columns)) for message in messages]
    carried = [(message, touched) for message, touched in carried if touched]
    alike = {}
    for message, touched in carried:
        alike.setdefault((touched[0], touched[-1] + 1), []).append(message)
    for (first, last), together in alike.items():
        for place, message in enumerate(together):
            _draw_arrow(axes, message, _beside(place, len(together), first, last - first))


def _beside(place, arrows, first, columns):
    """Where arrow `place` of `arrows` that share their columns stands: left of the words in the cells."""
    column, slot = divmod(place * columns, arrows)
    return first + column + 0.1 + 0.25 * slot / arrows


def _draw_arrow(axes, message, x):
    edge = _CELL_HEIGHT / 2 if message.receiver > message.sender else -_CELL_HEIGHT / 2
    start, end = (x, message.sender + edge * 0.55), (x, message.receiver - edge * 0.75)
    axes.add_patch(
        FancyArrowPatch(
            start, end, arrowstyle="-|>", mutation_scale=18, linewidth=2.2, color=style.INK, shrinkA=0, shrinkB=0
        )
    )


def _label_axes(axes, ranks, columns):
    axes.set_xlim(0, columns)
    axes.set_ylim(ranks - 0.5, -0.5)
    every = -(-ranks // 16)
    axes.set_yticks(range(0, ranks, every), [f"rank {rank}" for rank in range(0, ranks, every)])
    every = -(-columns // 16)
    axes.set_xticks([c + 0.5 for c in range(0, columns, every)], [f"{c}" for c in range(0, columns, every)])
    axes.set_xlabel("piece of the array")
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _write_around(figure, reduced, upto_round, latest):
    width, height = figure.get_size_inches()
    name, ranks = _NAMES.get(reduced.algorithm, reduced.algorithm), len(reduced.arrays)
    title = f"{name} all-reduce, {ranks} rank{'s' if ranks > 1 else ''}"
    sent = sum(message.nbytes for message in reduced.messages if message.round < upto_round)
    total = f"sent by all so far: {format_si(sent, 'bytes')} of {format_si(sum(reduced.bytes_sent), 'bytes')}"
    left, right, line = 0.2 / width, 1 - 0.2 / width, 1 - 0.48 / height
    figure.text(left, 1 - 0.14 / height, title, size=15, weight="bold", va="top")
    figure.text(left, line, _state(reduced, upto_round, latest), size=14, va="top")
    figure.text(right, line, total, size=13, va="top", ha="right")


def _state(reduced, upto_round, latest):
    """What happened in the round that is shown, in words."""
    if not reduced.messages:
        return "one rank alone has nothing to send"
    if not latest:
        return f"round 0 of {reduced.rounds}: every rank holds its own values"
    what = "the receiver adds" if latest[0].adds else "the receiver replaces"
    if reduced.arrays[0].size == 0:
        what = "but the array is empty"
    return f"round {upto_round} of {reduced.rounds}: {latest[0].phase}, {what}"
