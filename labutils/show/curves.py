"""Training curves: the test loss of runs over steps, epochs or examples, a colour for each group of runs."""

from labutils.show import style
from labutils.show.log_scale import log_axis

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#222222", "#999999")
LEAST, MOST = 0.05, 10.0  # losses outside are drawn at the edge: a run that blew up goes on to infinity


def draw_curves(groups, target=None, samples=None, title="Test loss", width=10.0):
    """Draw the test losses of `groups`, {label: results}, one line a run and one colour a group: a Figure.

    The x axis counts epochs of `samples` examples, or steps where `samples` is None. A dot marks where a run reached
    the target, a cross where it diverged. ValueError without any run.
    """
    runs = [(label, number, run) for number, (label, rows) in enumerate(groups.items()) for run in rows]
    if not runs:
        raise ValueError("there are no runs to draw: pass at least one group with one result.")
    longest = max(_places(run, samples)[-1] for _, _, run in runs)
    lowest = min(min(run.losses) for _, _, run in runs)
    lowest = min(lowest, 1.0 if target is None else target)  # where all blew up at once, an axis is needed still
    with style.style():
        figure = style.picture(width, 4.8)
        axes = figure.add_axes((0.1, 0.14, 0.57, 0.72))
        seen = set()
        for label, number, run in runs:
            color, name = COLORS[number % len(COLORS)], None if label in seen else label
            seen.add(label)
            losses = [min(loss, MOST) if loss == loss else MOST for loss in run.losses]
            places = _places(run, samples)
            axes.plot(places, losses, color=color, lw=2, label=name)
            mark = {"reached": "o", "diverged": "X"}.get(run.outcome)
            if mark:
                axes.plot(places[-1:], losses[-1:], mark, color=color, ms=10, clip_on=False, zorder=4)
        if target is not None:
            axes.axhline(target, color=style.INK, ls="--", lw=1.5, label=f"target {target:g}")
        log_axis(axes.yaxis, max(LEAST, 0.8 * lowest), MOST)
        axes.set_xlim(0, longest * 1.02)
        axes.set_xlabel("steps" if samples is None else "epochs")
        axes.set_ylabel("test loss")
        axes.set_title(title)
        axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1.02))
    return figure


def _places(run, samples):
    if samples is None:
        return list(run.steps)
    return [step * run.setting.batch / samples for step in run.steps]
