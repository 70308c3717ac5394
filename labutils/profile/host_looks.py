"""What the host does while the device rests: builds graphs, starts tiny operators, runs somebody's Python, or waits."""

import numpy as np

from labutils.profile import intervals
from labutils.profile.evidence import MOST_STEPS, NOTICED, PS, Found, s

TINY = 30e-6  # s of an operator
MANY = 100  # operators a step
MANY_ALONE = 40  # of those that Python starts one by one


def _input(job):
    waits = job.segments["input"]
    if job.share("input") < NOTICED:
        return None
    times = job.often(job.split.moments.get("input", job.host.waiting), 0.3 * waits)
    return Found(
        "input-bound",
        job.share("input"),
        f"Of a step of {s(job.step_time)} the device waits {s(waits)} ({job.share('input'):.0%}) for the next batch, "
        f"in {times} of {len(job.steps)} steps.",
    )


def _python_in_input(job):
    python = job.usual(job.host.input_python)
    if job.share("input") < NOTICED or python < 0.3 * job.segments["input"]:
        return None
    return Found(
        "python-in-input",
        job.share("input"),
        f"While the device waits, tf.data runs Python code (PyFunc): {s(python)} of every step, one thread at a time.",
    )


def _markers_miss_input(job):
    if job.steps.source != "markers" or job.share("input") < NOTICED / 2:
        return None
    marked = intervals.union(job.steps.markers[:, 0], job.steps.markers[:, 1])
    outside = job.usual(intervals.without(job.host.waiting, marked))
    if outside < 0.5 * job.segments["input"]:
        return None
    return Found(
        "markers-miss-input",
        outside / job.step_time,
        f"{s(outside)} of the waiting lies between the marked steps, where TensorBoard's own pages do not look.",
    )


def _retracing(job):
    times = job.often(job.host.tracing)
    if times < max(2, MOST_STEPS * len(job.steps)):
        return None
    took = job.usual(intervals.without(job.host.traced, job.split.moments.get("compute", intervals.NONE)))
    if took < NOTICED * job.step_time:
        return None
    return Found(
        "retracing",
        took / job.step_time,
        f"TensorFlow builds the graph of a function anew in {times} of {len(job.steps)} steps"
        f"{f' ({job.host.called})' if job.host.called else ''}; that takes {s(took)} of the step.",
    )


def _recompilation(job):
    took, times = job.usual(job.host.compiling), job.often(job.host.compiling)
    if times < max(2, MOST_STEPS * len(job.steps)) or took < NOTICED * job.step_time:
        return None
    return Found(
        "recompilation",
        took / job.step_time,
        f"XLA compiles in {times} of {len(job.steps)} steps, {s(took)} each time.",
    )


def _python_in_model(job):
    computing = job.split.moments.get("compute", intervals.NONE)
    took = job.usual(intervals.without(job.host.model_python, computing))
    if took < NOTICED * job.step_time:
        return None
    return Found(
        "python-in-model",
        took / job.step_time,
        f"An operator of the step itself runs Python code (PyFunc) for {s(took)} of the step, and nothing computes "
        "meanwhile.",
    )


def _tiny_operators(job):
    gaps = job.share("gaps")
    alone = job.count(job.host.eager[:, 0])
    if gaps < NOTICED or not job.host.active:
        return None
    if alone >= MANY_ALONE:
        lengths = np.median(job.host.eager[:, 1] - job.host.eager[:, 0]) / PS
        return Found(
            "tiny-operators",
            gaps,
            f"{alone:.0f} operators a step are run one by one from Python, not inside of a tf.function; the usual one "
            f"is over in {s(lengths)}. Between them the device rests for {s(job.segments['gaps'])} ({gaps:.0%}).",
        )
    operators = job.host.active[0].operators
    number = job.count(operators.starts)
    usual = float(np.median(operators.ends - operators.starts)) / PS
    if number < 4 * MANY or usual > TINY:
        return None
    return Found(
        "tiny-operators",
        gaps,
        f"{number:.0f} operators a step, half of them shorter than {s(usual)}; between them the device rests for "
        f"{s(job.segments['gaps'])} ({gaps:.0%}).",
    )


def _host_work(job):
    """One long gap in every step, in which TensorFlow itself does nothing: somebody's Python."""
    silent, longest = _silent(job), longest_gaps(job)
    if not len(longest):
        return None
    usual = float(np.median(longest)) / PS
    if usual < max(0.2 * job.step_time, 0.5 * job.segments["gaps"]) or usual < NOTICED * job.step_time:
        return None
    return Found(
        "host-work",
        usual / job.step_time,
        f"In the usual step there is one gap of {s(usual)} ({usual / job.step_time:.0%}) in which nothing of "
        f"TensorFlow's runs, {_where(silent, job)}: Python code, as of a callback, or waiting for something else.",
    )


def longest_gaps(job):
    """The longest gap of each step, in ps, in which nothing of TensorFlow's runs."""
    return _longest(_silent(job), job.windows)


def _silent(job):
    gaps = job.split.moments.get("gaps", intervals.NONE)
    return intervals.without(
        gaps, intervals.merge(job.host.traced, job.host.compiling, job.host.dispatch, job.host.model_python)
    )


def _longest(moments, windows):
    """The length of the longest piece in each window."""
    found = []
    for start, end in windows:
        first, last = np.searchsorted(moments[:, 1], start, "right"), np.searchsorted(moments[:, 0], end, "left")
        pieces = np.clip(moments[first:last], start, end)
        found.append(int((pieces[:, 1] - pieces[:, 0]).max()) if len(pieces) else 0)
    return np.array(found)


def _where(silent, job):
    """Where in the step the long gap usually lies."""
    operators = intervals.merge(*(device.operators.busy() for device in job.host.active))
    after = intervals.within(operators, np.stack((job.windows[:, 0], job.windows[:, 1]), axis=1))
    if not after.any():
        return "in a step without operators"
    ends = [operators[max(np.searchsorted(operators[:, 0], end) - 1, 0), 1] for _, end in job.windows]
    behind = np.stack((np.minimum(ends, job.windows[:, 1]), job.windows[:, 1]), axis=1)
    late = float(np.median(_longest(silent, behind)))
    usual = float(np.median(_longest(silent, job.windows)))
    return "behind the last operator of the step" if late > 0.8 * usual else "before or between its operators"


def _small_batch(job):
    gaps, compute = job.share("gaps"), job.segments["compute"]
    if gaps < 0.3 or job.count(job.host.eager[:, 0]) >= MANY_ALONE or not job.host.active:
        return None
    number = job.count(np.concatenate([device.operators.starts for device in job.host.active]))
    return Found(
        "small-batch",
        gaps,
        f"The {number:.0f} operators of a step compute for {s(compute)} only ({job.share('compute'):.0%}); starting "
        f"them, and fetching and handing on the batch, takes {s(job.segments['gaps'])} ({gaps:.0%}).",
    )


LOOKS = (
    _input,
    _python_in_input,
    _markers_miss_input,
    _retracing,
    _recompilation,
    _python_in_model,
    _tiny_operators,
    _host_work,
    _small_batch,
)
