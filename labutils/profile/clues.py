"""The figures of a capture without a verdict: what an engineer reads before saying what the matter is."""

from collections.abc import Mapping

import numpy as np

from labutils.bench.table import Table
from labutils.profile import reading, runs
from labutils.profile.device_looks import busy_by_replica
from labutils.profile.evidence import PS, Job, s
from labutils.profile.host_looks import longest_gaps
from labutils.profile.job import host_of
from labutils.profile.segments import SEGMENTS


def clues(logdir, run=None):
    """A Table of the figures of the usual step: counts, shares, times. No verdict.

    `logdir` is a log directory, with a column for each of its hosts; or {title: log directory}, with a column for each
    title. BadCapture as `diagnose`, and for a capture of the old layouts that holds no events.
    """
    if isinstance(logdir, Mapping):
        if not logdir:
            raise ValueError("There is no job to show: give at least one {title: log directory}.")
        jobs = {str(title): _jobs(folder, run)[0][1] for title, folder in logdir.items()}
    else:
        found = _jobs(logdir, run)
        jobs = dict(found) if len(found) > 1 else {"the usual step": found[0][1]}
    columns = [_figures(job) for job in jobs.values()]
    rows = [[name, *(column[name] for column in columns)] for name in columns[0]] if columns else []
    return Table(["figure", *jobs], rows, right=tuple(range(1, len(jobs) + 1)))


def _jobs(logdir, run):
    """[(host, Job)] of a run."""
    chosen, _ = runs.choose(logdir, run)
    spaces, _ = reading.read(chosen)
    if not spaces:
        raise runs.BadCapture(f"Run {chosen.name} holds no events, only pages made of them: ask `diagnose` about it.")
    return [(name, Job(host_of(space, name), space.span)) for name, space in spaces.items()]


def _figures(job):
    """{what: a text} of one host's usual step."""
    operators = [device.operators for device in job.host.active]
    starts = np.concatenate([each.starts for each in operators] or [np.zeros(0, np.int64)])
    lengths = np.concatenate([each.ends - each.starts for each in operators] or [np.zeros(0, np.int64)])
    longest = longest_gaps(job)
    return {
        "steps judged": f"{len(job.steps)}",
        "step time": s(job.step_time),
        **{_SEGMENT[name]: f"{job.share(name):.0%}" for name in SEGMENTS},
        "devices that ran an operator": f"{len(operators)} of {len(job.host.devices)}",
        "operators": f"{job.count(starts):.0f}",
        "half of them shorter than": s(float(np.median(lengths)) / PS) if len(lengths) else "–",
        "operators run one by one from Python": f"{job.count(job.host.eager[:, 0]):.0f}",
        "longest gap in which nothing of TensorFlow's runs": s(float(np.median(longest)) / PS) if len(longest) else "–",
        "steps that build a graph": f"{job.often(job.host.tracing)} of {len(job.steps)}",
        "Python in the input pipeline": s(job.usual(job.host.input_python)),
        "compute of each replica": _replicas(job),
    }


_SEGMENT = {
    "input": "waiting for input",
    "gaps": "gaps between operators",
    "communication": "communication",
    "compute": "compute",
}


def _replicas(job):
    busy = busy_by_replica(job)
    if len(busy) < 2:
        return s(job.segments["compute"])
    usual = sorted(float(np.median(times)) / PS for times in busy.values())
    return f"{s(usual[0])} to {s(usual[-1])}"
