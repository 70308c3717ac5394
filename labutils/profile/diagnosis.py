"""`diagnose`: a log directory of anybody's, the bottleneck with its evidence, and what to try, in order."""

import time
from dataclasses import dataclass, field, replace

import numpy as np

from labutils.profile import detect, official, pages, reading, runs
from labutils.profile.device_looks import straggling_host
from labutils.profile.evidence import FEW_STEPS, Job, s
from labutils.profile.job import host_of
from labutils.profile.segments import SEGMENTS
from labutils.profile.symptoms import BY_NAME, COMMUNICATION, COMPUTE, HOST, INPUT, UNKNOWN

DECIDES = 0.3  # of a step that something other than compute takes: then it is what to mend first
CLEARLY = {True: 0.5, False: 0.7}  # what a confident verdict takes: waste, and compute
STEADY = 0.5  # spread of the step times, over their median, up to which a verdict is confident
CONFIDENT_STEPS = 5
_VERDICTS = {"input": INPUT, "gaps": HOST, "communication": COMMUNICATION, "compute": COMPUTE}
#: For each verdict, the symptoms that may be its cause, the most telling first.
_CAUSES = {
    INPUT: ("python-in-input", "markers-miss-input", "input-bound"),
    HOST: (
        "retracing",
        "recompilation",
        "python-in-model",
        "tiny-operators",
        "host-work",
        "host-to-device-copies",
        "uneven-steps",
        "small-batch",
    ),
    COMMUNICATION: ("straggling-host", "straggling-replica", "communication-bound"),
    COMPUTE: ("straggling-replica", "busy-device"),
}


@dataclass(frozen=True)
class Diagnosis:
    """What `diagnose` found.

    verdict: "input-bound", "host-bound", "communication-bound", "compute-bound" or "cannot tell"
    cause: the name of the symptom that explains it best (`symptoms`), "" for none
    confidence: "high", "medium" or "low"
    step_time: the usual step, s (nan for unknown); steps: how many were judged; segments: {segment: s} of that step
    evidence: sentences with the numbers it rests on; found: the names of all symptoms, what explains most first
    notes: what was read and what was left out; official: what TensorBoard's overview page says, if anything
    """

    logdir: str
    run: str
    verdict: str
    cause: str
    confidence: str
    step_time: float
    steps: int
    segments: dict
    evidence: tuple[str, ...]
    found: tuple[str, ...]
    notes: tuple[str, ...] = ()
    official: str = ""
    seconds: float = field(default=0.0, compare=False)

    @property
    def shares(self):
        """{segment: its share of the step}, of 1; empty where the step time is not known."""
        return {name: time / self.step_time for name, time in self.segments.items()} if self.step_time > 0 else {}

    @property
    def remedies(self):
        """What to try, in order: those of the cause first, then those of the other symptoms; none twice."""
        names = [self.cause, *self.found] if self.cause else self.found
        ordered = [remedy for name in names for remedy in BY_NAME[name].remedies]
        return tuple(dict.fromkeys(ordered))

    def __str__(self):
        from labutils.profile.report import text

        return text(self)

    __repr__ = __str__

    def _repr_html_(self):
        from labutils.profile.report import html

        return html(self)

    def to_json(self):
        """All of it as a JSON text."""
        from labutils.profile.report import as_json

        return as_json(self)


def diagnose(logdir, run=None, *, with_official=True):
    """Read the newest run below a log directory, or the one named `run`, and name its bottleneck: a Diagnosis.

    Reads captures of TensorFlow or JAX, on CPU, GPU or TPU, of one host or several: .xplane.pb, the older tool pages,
    or a trace alone. Changes nothing. BadCapture with a sentence where there is none, or it cannot be read.
    """
    began = time.perf_counter()
    chosen, names = runs.choose(logdir, run)
    notes = [f"Run {chosen.name}, the newest of {len(names)}."] if len(names) > 1 and run is None else []
    spaces, more = reading.read(chosen)
    if spaces is None:
        verdict, said = _judge_pages(chosen)
        return Diagnosis(
            logdir=str(logdir),
            run=chosen.name,
            **verdict,
            notes=(*notes, *more, pages.NOTE),
            official=said,
            seconds=time.perf_counter() - began,
        )
    jobs = [Job(host_of(space, name), space.span) for name, space in spaces.items()]
    said, why = _official(chosen) if with_official else (None, "")
    verdict = _judge(jobs)
    return Diagnosis(
        logdir=str(logdir),
        run=chosen.name,
        **verdict,
        notes=tuple(
            [*notes, *more, *_notes(jobs, spaces), *([f"TensorBoard's page is left out: {why}."] if why else [])]
        ),
        official=said["statement"] if said else "",
        seconds=time.perf_counter() - began,
    )


def _official(run):
    paths = [file.path for file in runs.distinct(run.of("xplane"))[0]]
    if not paths:
        return None, ""
    try:
        return official.overview(paths)
    except OSError as error:
        return None, f"its converter could not be started ({error.strerror})"


def _notes(jobs, spaces):
    notes = []
    for space in spaces.values():
        if space.share < 1:
            notes.append(f"The capture is large: the first {space.share:.0%} of it was read, {space.events:,} events.")
            break
    left = max(job.steps.left_out for job in jobs)
    if left:
        notes.append("The first step and the last one are left out: one pays for the profiler's start, one has no end.")
    return notes


def _judge(jobs):
    """The fields of a Diagnosis that speak of the job."""
    jobs = [job for job in jobs if len(job.steps) and (job.host.active or job.step_time)] or jobs[:1]
    segments = {name: float(np.mean([job.segments[name] for job in jobs])) for name in SEGMENTS}
    step_time, steps = sum(segments.values()), min(len(job.steps) for job in jobs)
    found = _found(jobs)
    base = {"step_time": step_time or float("nan"), "steps": steps, "segments": segments}
    if not any(job.host.active for job in jobs):
        why = "No operator of any device is in the capture: what the steps were busy with cannot be seen."
        return base | {
            "verdict": UNKNOWN,
            "cause": "",
            "confidence": "low",
            "evidence": (why,),
            "found": tuple(f.name for f in found),
        }
    verdict, share = _verdict(segments, step_time)
    cause = _cause(verdict, found)
    evidence = sorted(found, key=lambda each: each.name != cause)
    return base | {
        "verdict": verdict,
        "cause": cause,
        "confidence": _confidence(jobs, verdict, share, cause, steps),
        "evidence": tuple(each.evidence for each in evidence),
        "found": tuple(each.name for each in evidence),
    }


def _judge_pages(run):
    """The same from tool pages, which know the parts of a step and nothing of their causes; and the page's sentence."""
    times, segments, said = pages.read(run)
    step_time = sum(segments.values())
    verdict, share = _verdict(segments, step_time)
    names = {INPUT: "input-bound", COMMUNICATION: "communication-bound", COMPUTE: "busy-device", HOST: ""}
    part = {INPUT: "input", HOST: "gaps", COMMUNICATION: "communication", COMPUTE: "compute"}[verdict]
    evidence = (
        f"Of a step of {s(step_time)} the {_WORDS[part]} takes {s(segments[part])} ({share:.0%}); the "
        f"shortest of {len(times)} steps took {s(min(times))}, the longest {s(max(times))}."
    )
    fields = {"step_time": step_time, "steps": len(times), "segments": segments, "evidence": (evidence,)}
    confidence = "medium" if len(times) >= FEW_STEPS and share >= CLEARLY[verdict != COMPUTE] else "low"
    cause = names[verdict]
    return fields | {
        "verdict": verdict,
        "cause": cause,
        "confidence": confidence,
        "found": (cause,) if cause else (),
    }, said


_WORDS = {
    "input": "waiting for input",
    "gaps": "work of the host",
    "communication": "communication",
    "compute": "compute",
}


def _found(jobs):
    """The symptoms of all hosts, each once, from the host that shows it most; and those of hosts held side by side."""
    best = {}
    for job in jobs:
        for each in detect.find(job):
            if each.name not in best or each.share > best[each.name].share:
                best[each.name] = (
                    each if len(jobs) == 1 else replace(each, evidence=f"{job.host.name}: {each.evidence}")
                )
    straggler = straggling_host(jobs)
    if straggler:
        best[straggler.name] = straggler
    return sorted(best.values(), key=lambda each: -each.share)


def _verdict(segments, step_time):
    waste = max(("input", "gaps", "communication"), key=lambda name: segments[name])
    if segments[waste] >= DECIDES * step_time:
        return _VERDICTS[waste], segments[waste] / step_time
    return COMPUTE, segments["compute"] / step_time


def _cause(verdict, found):
    names = [each.name for each in found]
    return next((name for name in _CAUSES[verdict] if name in names), "")


def _confidence(jobs, verdict, share, cause, steps):
    marked = all(job.steps.source == "markers" and len(job.host.steps) for job in jobs)
    if steps < FEW_STEPS or not marked or not cause or (verdict == COMPUTE and share < 1 - DECIDES):
        return "low"  # compute leads, and yet too much of the step is something else
    steady = max(job.spread for job in jobs) <= STEADY and not any(job.uneven for job in jobs)
    clear = share >= CLEARLY[verdict != COMPUTE]
    return "high" if steady and clear and steps >= CONFIDENT_STEPS else "medium"
