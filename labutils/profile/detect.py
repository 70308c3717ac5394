"""Which symptoms a job has: those that explain most of its step first."""

import numpy as np

from labutils.profile import device_looks, host_looks
from labutils.profile.evidence import FEW_STEPS, PS, Found, s


def find(job):
    """The symptoms of one host's job, those that explain most first."""
    looks = (_LOOKS if job.step_time > 0 else ()) + _OF_THE_CAPTURE
    found = [each for look in looks for each in [look(job)] if each]
    if any(each.name in _SAY_MORE for each in found):
        found = [each for each in found if each.name != "small-batch"]
    return sorted(found, key=lambda each: -each.share)


def _no_markers(job):
    if job.steps.source == "markers" and len(job.host.steps):
        return None
    if job.steps.source == "calls":
        how = f"the {len(job.steps)} steps are taken from the calls of {job.host.called}"
    else:
        how = "the time from the first operator to the last one is taken as one step"
    return Found("no-step-markers", 0.0, f"No step is marked: {how}.")


def _uneven(job):
    """A few steps that cost far more than the usual one: a checkpoint, an evaluation, input that comes in bursts."""
    if not job.uneven:
        return None
    lengths = (job.windows[:, 1] - job.windows[:, 0]) / PS
    usual = float(np.median(lengths))
    long = lengths[lengths > 1.5 * usual]
    share = float((long - usual).sum() / lengths.sum()) if len(long) else 0.0
    return Found(
        "uneven-steps",
        share,
        f"{len(long)} of {len(lengths)} steps take {s(float(np.median(long)) if len(long) else usual)}, the usual one "
        f"{s(usual)}: what they take more is {share:.0%} of all time. The segments are those of the mean step.",
    )


def _too_short(job):
    if len(job.steps) >= FEW_STEPS:
        return None
    number = f"{len(job.steps)} step" + ("" if len(job.steps) == 1 else "s")
    return Found("too-short", 0.0, f"The capture holds {number} to judge by: what it shows may be an accident.")


_SAY_MORE = {
    "retracing",
    "recompilation",
    "python-in-model",
    "tiny-operators",
    "host-work",
}  # of the same gaps than "small-batch" does
_LOOKS = (*host_looks.LOOKS, *device_looks.LOOKS)
_OF_THE_CAPTURE = (_no_markers, _too_short, _uneven)
