"""Checks of lab 00: waves of work, a trusted figure, and which of two is faster."""

import numbers

from labutils.bench import Comparison, Measurement
from labutils.course.verdict import called, exercise, right, wrong
from labutils.theory.sharing import shared_time


@exercise
def waves(answer):
    """`answer(replicas, cores)` is the number of waves in which the cores get through the replicas' work."""
    for replicas, cores in [(1, 1), (8, 2), (8, 8), (7, 2), (3, 8), (16, 5)]:
        expected = round(shared_time(replicas, cores, 1.0))
        got = called(answer, replicas, cores)
        if got != expected:
            return wrong(f"{replicas} replicas on {cores} cores need {expected} waves; your function says {got!r}.")
    return right("Replicas over cores, rounded up: the last wave takes as long, even where cores have nothing to do.")


@exercise
def trusted(measurement, tracing):
    """`measurement` is a Measurement of the function; `tracing` the seconds that its first call spent on tracing."""
    if not isinstance(measurement, Measurement):
        return wrong(f"The first answer is what measure() returns, not {type(measurement).__name__}.")
    if measurement.unit != "s":
        return wrong(f"Give the measurement in seconds; yours is in {measurement.unit}.")
    if measurement.n < 6:
        return wrong(f"{measurement.n} values are too few for an interval. Give measure() a larger budget.")
    if isinstance(tracing, bool) or not isinstance(tracing, numbers.Real):
        return wrong(f"The second answer is a number of seconds, not {tracing!r}.")
    usual, first = measurement.median, measurement.first
    if abs(tracing - first) < 0.01 * usual:
        return wrong("That is the whole first call. It traced and then also ran: take the run off.")
    if not abs(tracing - (first - usual)) < 0.5 * usual:  # the mean or the fastest call may stand for a usual one
        return wrong(f"The first call took {first:.4g} s, and you say {tracing:.4g} s. What of it was no normal call?")
    return right(f"Tracing took {tracing / measurement.median:.3g} times as long as a call. It is paid once.")


@exercise
def faster(comparison, verdict):
    """`comparison` compares the two given functions; `verdict` is what the learner concludes from it."""
    if not isinstance(comparison, Comparison):
        return wrong(f"The first answer is what compare() returns, not {type(comparison).__name__}.")
    if verdict not in ("faster", "slower", "no difference"):
        return wrong(f"A verdict is 'faster', 'slower' or 'no difference', not {verdict!r}.")
    if verdict != comparison.verdict:
        low, high = comparison.interval
        return wrong(
            f"Your comparison's interval is {low:.3g} to {high:.3g}. Does all of it lie on one side of 1, "
            f"and is the ratio further than {100 * comparison.threshold:.0f}% from it?"
        )
    return right(f"The interval says '{verdict}'. You concluded from the measurement, and from nothing else.")
