"""What others have published about input pipelines: the gain of tuning them, frameworks side by side, a fleet."""

import textwrap

import numpy as np

from labutils.show import style
from labutils.show.log_scale import log_axis
from labutils.theory import published

_BARS = {
    "parallelism": ("parallel stages, set by an expert", "#9CC8E3"),
    "optimizations": ("static optimizations as well", "#0072B2"),
    "autotune": ("all of it left to AUTOTUNE", "#E69F00"),
}
_PANELS = {
    "tfdata2021_fig7": "the input pipeline alone",
    "tfdata2021_fig8": "training end to end (another machine)",
}
_LETTERS_PER_INCH = 10  # of the source
_HIGH = 0.27  # of a bar; a benchmark's three take a row
_FACTS = (  # the rows of a fleet's table that are worth a sentence
    (
        "tfdata2021_fleet",
        "Murray et al. 2021, millions of jobs",
        {
            "more than a third of the compute time goes into the input pipeline": "of the jobs spent more than a third "
            "of their compute time in the input pipeline",
            "compute time spent on ingesting data": "of the compute time of all jobs went into ingesting data",
            "map runs in parallel": "of the pipelines ran map in parallel",
            "prefetch is used": "of the pipelines used prefetch",
            "cache is used": "of the jobs used cache",
        },
    ),
    (
        "plumber2022_fleet",
        "Kuchnik et al. 2022, over two million jobs",
        {
            "latency above 1 ms": "of the jobs waited more than 1 ms for an element on average",
            "latency above 100 ms": "of the jobs waited more than 100 ms for an element on average",
            "mean use of the CPU where the latency is 100 ms or more": "of the host's CPU was in use, on average, "
            "where a job waited 100 ms or more",
            "mean use of the memory bandwidth where the latency is 100 ms or more": "of the host's memory bandwidth "
            "was in use there",
        },
    ),
)


def draw_published(width=11.5):
    """Draw how many times faster than a sequential one tuned input pipelines are, alone and end to end: a Figure.

    From Figures 7 and 8 of Murray et al. 2021; the two were measured on different machines.
    """
    tables = {name: published.load(name) for name in _PANELS}
    with style.style():
        figure = style.picture(width, 6.6)
        for number, name in enumerate(_PANELS):
            axes = figure.add_axes((0.115 + 0.455 * number, 0.185, 0.395, 0.6))
            _draw_panel(axes, tables[name], named=number == 0)
            axes.set_title(_PANELS[name], fontsize=13, fontweight="normal", pad=8)
        handles, labels = axes.get_legend_handles_labels()
        figure.legend(handles, labels, loc="upper left", bbox_to_anchor=(0.01, 0.94), ncols=3, handlelength=1)
        alone, training = (table.where(pipeline="autotune")["low"].max() for table in tables.values())
        title = f"Tuning made the input up to {alone:.0f} times faster, and training up to {training:.0f} times"
        figure.text(0.02, 0.98, title, size=15, weight="bold", va="top")
        _cite(figure, tables["tfdata2021_fig7"].source.replace("Figure 7", "Figures 7 and 8"))
    return figure


def draw_frameworks(width=10.0):
    """Draw how long the input of one epoch takes in three frameworks: a Figure, from Table 6 of Murray et al. 2021."""
    table = published.load("tfdata2021_table6")
    order = np.argsort(table["seconds"])
    with style.style():
        figure = style.picture(width, 4.6)
        axes = figure.add_axes((0.44, 0.29, 0.48, 0.58))
        for row, place in enumerate(order):
            framework, hardware, seconds = (table[name][place] for name in ("framework", "hardware", "seconds"))
            own = framework.startswith("tf.data")
            axes.barh(row, seconds, 0.68, color=_BARS["optimizations"][1] if own else style.COLORS["input"])
            axes.text(seconds, row, f" {seconds:.0f} s", va="center")
            label = f"{framework}, {hardware}".replace("-only", " only")
            axes.text(-0.02, row, label, ha="right", va="center", size=12, transform=axes.get_yaxis_transform())
        axes.set_ylim(len(order) - 0.5, -0.5)
        axes.yaxis.set_visible(False)
        axes.set_xlabel("one epoch of ImageNet, input alone (s)")
        title = "The same work in three frameworks, on 64 virtual CPUs"
        figure.text(0.02, 0.97, title, size=15, weight="bold", va="top")
        _cite(figure, table.source)
    return figure


def fleet_sentences():
    """What input pipelines cost in a large company, a sentence a fact, each with its source: a list of texts."""
    sentences = []
    for name, source, facts in _FACTS:
        table = published.load(name)
        for statistic, words in facts.items():
            share = table.where(statistic=statistic)["low"][0]
            sentences.append(f"{share:.0f}% {words} ({source}).")
    return sentences


def _draw_panel(axes, table, named):
    benchmarks = list(dict.fromkeys(table["benchmark"]))
    for number, (pipeline, (label, color)) in enumerate(_BARS.items()):
        rows = table.where(pipeline=pipeline)
        for place, (low, high) in enumerate(zip(rows["low"], rows["high"], strict=True)):
            middle = place + (number - 1) * _HIGH
            known = low == high
            look = {} if known else {"alpha": 0.5, "hatch": "//", "edgecolor": "white"}
            axes.barh(middle, low, _HIGH, color=color, label=label if place == 0 else None, **look)
            axes.text(low * 1.06, middle, f"{low:.1f}" if known else f"{low:g} or {high:g}", va="center", size=12)
    for place, benchmark in enumerate(benchmarks if named else []):
        axes.text(-0.03, place, benchmark, ha="right", va="center", transform=axes.get_yaxis_transform())
    log_axis(axes.xaxis, 1, 150)
    axes.set_ylim(len(benchmarks) - 0.5, -0.5)
    axes.yaxis.set_visible(False)
    axes.set_xlabel("times faster than the sequential pipeline")


def _cite(figure, source):
    text = textwrap.fill(f"Source: {source}", int(figure.get_figwidth() * _LETTERS_PER_INCH))
    figure.text(0.02, 0.015, text, size=12, color="#555555", va="bottom")
