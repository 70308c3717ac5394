"""A fixed global batch on more and more devices: how long the step takes, and whether each device was worth it."""

from labutils.bench.units import format_si
from labutils.show import style
from labutils.theory.timeline import StepSpec, predict_step

REPLICAS = (1, 2, 4, 8, 16, 32)


def draw_strong_scaling(compute_time, gradient_bytes, link, replica_counts=REPLICAS, width=10.0):
    """Draw the predicted step time of one global batch for each number of replicas: a Figure.

    `compute_time`: seconds of forward and backward on one device, shared out evenly; `gradient_bytes` per
    replica over `link` by a ring, nothing overlapped. A bar above the dashed line is slower than one device.
    ValueError for values that no step can have.
    """
    if not len(replica_counts) or compute_time == 0:
        raise ValueError("There is nothing to draw: give at least one number of replicas, and work that takes time.")
    steps = [predict_step(_spec(compute_time, gradient_bytes, link, n)) for n in replica_counts]
    factor, prefix = style.si_scale(max(step.step_time for step in steps))
    compute = [step.breakdown["compute"] * factor for step in steps]
    exposed = [step.exposed_communication * factor for step in steps]
    with style.style():
        figure = style.picture(width, 4.6)
        axes = figure.add_axes((0.1, 0.15, 0.87, 0.62))
        places = range(len(steps))
        axes.bar(places, compute, color=style.color("compute"), label="compute", width=0.65)
        axes.bar(places, exposed, bottom=compute, color=style.color("all-reduce"), label="all-reduce", width=0.65)
        axes.axhline(compute_time * factor, color=style.IDEAL, ls="--", lw=1.5, label="one device")
        top = max(step.step_time for step in steps) * factor
        for place, step in zip(places, steps, strict=True):
            height = step.step_time * factor + 0.02 * top
            axes.text(place, height, f"{compute_time / step.step_time:.2g} x", ha="center", va="bottom", size=12)
        axes.set_ylim(0, top * 1.15)
        axes.set_xticks(places, [str(n) for n in replica_counts])
        axes.set_xlabel("replicas that share one global batch (above each bar: speed-up)")
        axes.set_ylabel(f"step time ({prefix}s)")
        figure.text(0.02, 0.97, _headline(compute_time, gradient_bytes, link, steps), size=14, weight="bold", va="top")
        figure.legend(loc="upper left", bbox_to_anchor=(0.09, 0.92), ncols=3, handlelength=1.5)
    return figure


def _spec(compute_time, gradient_bytes, link, replicas):
    share = compute_time / replicas
    times = {"forward_time": share / 3, "backward_time": share * 2 / 3}
    return StepSpec(replicas=replicas, gradient_bytes=gradient_bytes, link=link, **times)


def _headline(compute_time, gradient_bytes, link, steps):
    best = min(steps, key=lambda step: step.step_time)
    job = f"{format_si(compute_time, 's')} on one device, {format_si(gradient_bytes, 'bytes')} of gradients"
    rate = format_si(link.bandwidth, "bytes/s")
    return f"{job}, {rate}: fastest on {best.spec.replicas}"
