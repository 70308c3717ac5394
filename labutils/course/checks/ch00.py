"""Checks of lab 00: waves of work, a trusted figure, and which of two is faster."""

import math

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
    expected = measurement.first - measurement.median
    if not isinstance(tracing, (int, float)) or not math.isclose(tracing, expected, rel_tol=0.05):
        if isinstance(tracing, (int, float)) and math.isclose(tracing, measurement.first, rel_tol=0.001):
            return wrong("That is the whole first call. It traced and then also ran: take the run off.")
        return wrong(f"The first call took {measurement.first:.4g} s. What of it was tracing, and not a normal call?")
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
