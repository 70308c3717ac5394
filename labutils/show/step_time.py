"""Predicted step time and throughput against the number of replicas: where communication eats the gain."""

import math

from labutils.bench.units import format_si
from labutils.show import style
from labutils.theory.efficiency import weak_efficiency, weak_scaling

REPLICAS = (1, 2, 4, 8, 16, 32, 64)
_STACK = ("split", "compute", "all-reduce", "update", "input")


def draw_step_time(spec, replica_counts=REPLICAS, width=12.0):
    """Draw what `spec` predicts for each number of replicas, the batch per replica kept: a Figure.

    Left: the step time in its phases (exposed communication only). Right: throughput beside the ideal line,
    and the efficiency at the end. `spec` is a StepSpec; its own number of replicas does not matter. ValueError
    for a bad number of replicas or a step that takes no time.
    """
    single, *timelines = weak_scaling(spec, [1, *sorted(set(replica_counts))])
    if not timelines or single.step_time == 0:
        raise ValueError(
            f"there is nothing to draw for replicas {list(replica_counts)} and a step of {single.step_time} s "
            f"on one replica: give at least one number of replicas, and a step that takes time."
        )
    counts = [timeline.spec.replicas for timeline in timelines]
    with style.style():
        figure = style.picture(width, 5.0)
        left = figure.add_axes((0.075, 0.14, 0.395, 0.67))
        right = figure.add_axes((0.575, 0.14, 0.395, 0.67))
        _draw_stack(left, counts, timelines)
        _draw_throughput(right, counts, timelines, single.throughput)
        handles, labels = left.get_legend_handles_labels()
        figure.legend(
            handles,
            labels,
            loc="upper left",
            bbox_to_anchor=(0.065, 0.935),
            ncols=5,
            handlelength=0.9,
            columnspacing=1.1,
        )
        figure.text(0.02, 0.975, _headline(spec), size=14, weight="bold", va="top")
    return figure


def _draw_stack(axes, counts, timelines):
    factor, prefix = style.si_scale(max(timeline.step_time for timeline in timelines))
    places = range(len(counts))
    bottoms = [0.0] * len(counts)
    for phase in _STACK:
        heights = [timeline.breakdown[phase] * factor for timeline in timelines]
        if any(heights):
            label = {"all-reduce": "exposed all-reduce", "input": "waiting for input"}.get(phase, phase)
            axes.bar(places, heights, 0.8, bottoms, color=style.color(phase), label=label)
            bottoms = [bottom + height for bottom, height in zip(bottoms, heights, strict=True)]
    axes.set_xticks(places, counts)
    axes.set_xlabel("replicas")
    axes.set_ylabel(f"step time ({prefix}s)")
    axes.grid(axis="y")


def _draw_throughput(axes, counts, timelines, single):
    ideal = [single * count for count in counts]
    real = [timeline.throughput for timeline in timelines]
    axes.fill_between(counts, real, ideal, color=style.COLORS["all-reduce"], alpha=0.18, linewidth=0)
    axes.plot(counts, ideal, "--", color=style.IDEAL, label="ideal")
    axes.plot(counts, real, "o-", color=style.COLORS["compute"], label="predicted")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.minorticks_off()
    axes.set_xticks(counts, counts)
    ticks = _doublings(min(real), max(ideal), single)
    axes.set_yticks(ticks, [_short(value) for value in ticks])
    axes.set_ylim(min(real) / 1.2, max(ideal) * 1.2)
    axes.set_xlabel("replicas")
    axes.set_ylabel("samples/s")
    axes.grid()
    axes.legend(loc="upper left")
    percent = weak_efficiency(real[-1], counts[-1], single)
    gain = real[-1] / single
    gain = f"{gain:,.0f}" if gain >= 10 else f"{gain:.2g}"
    axes.set_title(
        f"{counts[-1]} replica{'s' if counts[-1] > 1 else ''} do the work of {gain} ({percent:.0%})", size=14, pad=8
    )


def _headline(spec):
    parts = [f"{format_si(spec.gradient_bytes, 'bytes')} of gradients"]
    if spec.link is not None:
        parts.append(f"link {format_si(spec.link.bandwidth, 'bytes/s')}, {format_si(spec.link.latency, 's')}")
    parts.append(f"{format_si(spec.compute_time, 's')} of compute")
    parts.append("overlap" if spec.overlap else "no overlap")
    return "  ·  ".join(parts)


def _doublings(smallest, largest, single):
    """Ticks at the throughput of one replica times powers of two, five at most."""
    low, high = math.floor(math.log2(smallest / single)), math.ceil(math.log2(largest / single))
    step = -(-(high - low + 1) // 5)
    return [single * 2.0**power for power in range(high, low - 1, -step)]


def _short(value):
    """1536.0 as "1.54k": a tick of few letters."""
    factor, prefix = style.si_scale(value)
    return f"{value * factor:.3g}{prefix}"
