"""The step as it passes, second by second, on every replica: predicted from a StepSpec.

spec = StepSpec(replicas=4, forward_time=0.01, backward_time=0.02, gradient_bytes=100e6, link=Link(1e10))
predict_step(spec).step_time
"""

from dataclasses import dataclass
from typing import NamedTuple

from labutils.theory.cost import all_reduce_time
from labutils.theory.step_spec import StepSpec

__all__ = ["Event", "StepSpec", "Timeline", "predict_step"]


class Event(NamedTuple):
    """What one replica does from `start` to `end` seconds; `bucket` numbers its all-reduces from 0."""

    replica: int
    phase: str
    start: float
    end: float
    bucket: int | None = None

    @property
    def duration(self):
        """Seconds from start to end."""
        return self.end - self.start


@dataclass(frozen=True)
class Timeline:
    """A predicted step: `events` of all replicas, `step_time` in seconds, `breakdown` of the step time.

    `breakdown` maps each phase to the seconds that it adds to the step: compute is forward and backward,
    "all-reduce" and "input" are just what is left exposed. The values add up to step_time.
    """

    spec: StepSpec
    events: tuple
    step_time: float
    breakdown: dict

    @property
    def communication(self):
        """Seconds for which the link is busy in one step, hidden or not."""
        return sum(event.duration for event in self.events if event[:2] == (0, "all-reduce"))

    @property
    def exposed_communication(self):
        """Seconds of communication that nothing hides: the replica waits for them."""
        return self.breakdown["all-reduce"]

    @property
    def throughput(self):
        """Samples/s of all replicas together."""
        return self.spec.global_batch / self.step_time if self.step_time else float("inf")


def predict_step(spec):
    """Predict one step in the steady state: a Timeline, in seconds.

    Without overlap and prefetch, and with one bucket, the step time is the sum of its phases. ValueError
    unless `spec` is a StepSpec.
    """
    if not isinstance(spec, StepSpec):
        raise ValueError(f"predict_step needs a StepSpec, but it was given {spec!r}: write StepSpec(replicas=...).")
    events = []

    def run(phase, start, seconds):
        if seconds > 0:
            events.append((phase, start, start + seconds, None))
        return start + seconds

    # With prefetch this step's batch is there already, and the input that runs is the next step's.
    fetched = run("input", 0.0, spec.input_time)
    split = run("split", 0.0 if spec.prefetch else fetched, spec.split_time)
    forward = run("forward", split, spec.forward_time)
    backward = run("backward", forward, spec.backward_time)
    buckets = _buckets(spec, forward, backward)
    events += [("all-reduce", start, end, bucket) for bucket, (start, end) in enumerate(buckets)]
    reduced = max(backward, buckets[-1][1]) if buckets else backward
    updated = run("update", reduced, spec.update_time)
    step_time = max(updated, fetched)

    breakdown = {
        "input": step_time - updated if spec.prefetch else spec.input_time,
        "split": spec.split_time,
        "compute": spec.compute_time,
        "all-reduce": reduced - backward,
        "update": spec.update_time,
    }
    lanes = tuple(Event(replica, *event) for replica in range(spec.replicas) for event in events)
    return Timeline(spec, lanes, step_time, breakdown)


def _buckets(spec, forward, backward):
    """(start, end) of each bucket's all-reduce: after its gradients are there and the link is free.

    The backward pass is taken to make gradients at a steady rate, so of k buckets the i-th is ready after
    i/k of it.
    """
    if spec.replicas == 1 or spec.gradient_bytes == 0:
        return []
    seconds = all_reduce_time(
        spec.gradient_bytes / spec.buckets,
        spec.replicas,
        spec.link,
        spec.algorithm,
        group_size=spec.group_size,
        inner_link=spec.inner_link,
    )
    spans = []
    free = forward
    for bucket in range(1, spec.buckets + 1):
        ready = forward + (backward - forward) * bucket / spec.buckets if spec.overlap else backward
        start = max(ready, free)
        free = start + seconds
        spans.append((start, free))
    return spans
