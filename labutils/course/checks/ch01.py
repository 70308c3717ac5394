"""Checks of lab 01: the ring's second lap, uneven shares, four outcomes, the slowest link that will do."""

import numpy as np

from labutils.course.verdict import Unfinished, called, exercise, right, wrong
from labutils.theory.cost import Link
from labutils.theory.timeline import StepSpec, predict_step

OUTCOMES = ("right", "wrong report", "wrong training", "both wrong")


@exercise
def all_gather(answer):
    """`answer(pieces)` spreads the finished pieces of a reduce-scatter over all ranks of the ring, in place."""
    for n in (2, 1, 3, 4, 8):
        finished = [np.full(2, 10.0 * piece) for piece in range(n)]
        # Rank r has finished piece r + 1; the others it holds are unfinished.
        pieces = [[f if p == (r + 1) % n else np.full(2, -1.0) for p, f in enumerate(finished)] for r in range(n)]
        before = np.array(pieces)
        result = answer(pieces)
        if (result is None or result is ...) and n == 2 and np.array_equal(pieces, before):
            raise Unfinished
        for rank, mine in enumerate(pieces):
            missing = [p for p in range(n) if not np.array_equal(mine[p], finished[p])]
            if missing and np.array_equal(pieces, before):
                return wrong("Your function leaves `pieces` as they were. Change them in place: `pieces[r][p] = ...`.")
            if missing:
                return wrong(f"On {n} ranks, rank {rank} ends without the finished piece {missing[0]}.")
    return right("Every rank holds every finished piece, for 1 to 8 ranks: n − 1 rounds, one piece a rank and round.")


@exercise
def combine(answer):
    """`answer(means, examples)` is the mean over all examples, from the means of uneven and empty shares."""
    random = np.random.default_rng(0)
    for examples in ([16, 16, 16, 16], [2, 2, 1, 1], [1, 1, 0, 0], [5], [0, 3]):
        gradients = [random.normal(size=(count, 3)) for count in examples]
        means = [g.mean(axis=0) if len(g) else np.full(3, np.nan) for g in gradients]
        expected = np.concatenate(gradients).mean(axis=0)
        got = np.asarray(called(answer, [mean.copy() for mean in means], list(examples)))
        if got.shape != expected.shape:
            return wrong(f"The result has the shape {got.shape}; one gradient has the shape {expected.shape}.")
        if np.isnan(got).any():
            return wrong(f"With shares of {examples} examples the result is not a number: an empty share spoils it.")
        factor = got[0] / expected[0]
        if not np.isclose(factor, 1) and np.allclose(got, factor * expected):
            return wrong(f"With shares of {examples} examples, that is {factor:.3g} times the mean over all examples.")
        if not np.allclose(got, expected):
            hint = " That is the average of the means." if np.allclose(got, np.nanmean(means, axis=0)) else ""
            return wrong(f"With shares of {examples} examples, not every example weighs the same.{hint}")
    return right("Every example weighs the same, whatever the shares; an empty share counts for nothing.")


@exercise
def diagnosis(local_mean_sum, local_mean_mean, global_share_sum, global_share_mean):
    """The outcome of each of the four ways to scale the loss and to reduce its report."""
    answers = {
        "local mean + SUM": (local_mean_sum, "both wrong"),
        "local mean + MEAN": (local_mean_mean, "wrong training"),
        "global share + SUM": (global_share_sum, "right"),
        "global share + MEAN": (global_share_mean, "wrong report"),
    }
    for way, (answer, expected) in answers.items():
        if answer not in OUTCOMES:
            return wrong(f"For {way}, answer one of {', '.join(map(repr, OUTCOMES))}; you wrote {answer!r}.")
        if answer != expected:
            return wrong(
                f"{way} is not {answer!r}. Set the switches so and read both bars: report and training differ."
            )
    return right("The nasty one is local mean + MEAN: the loss looks right, and the weights go four times too far.")


@exercise
def bandwidth(answer):
    """The smallest bandwidth, in bytes/s, at which 16 replicas of the given job are 90% efficient (within 5%)."""
    if isinstance(answer, bool) or not isinstance(answer, (int, float, np.number)) or not answer > 0:
        return wrong(f"A bandwidth is a positive number of bytes per second, not {answer!r}.")
    if abs(answer * 8 / _needed() - 1) < 0.06 or abs(answer / 8 / _needed() - 1) < 0.06:
        return wrong("You are off by a factor of 8: a byte has 8 bits, and links are sold in bits per second.")
    reached = _efficiency(answer)
    if reached < 0.9 - 0.005:
        return wrong(f"At {answer:.3g} bytes/s the efficiency is {reached:.1%}: not yet 90%.")
    if answer > 1.05 * _needed():
        return wrong(f"At {answer:.3g} bytes/s the efficiency is {reached:.1%}. A slower link would do.")
    return right(
        f"About {answer * 8 / 1e9:.0f} Gbit/s. The ring sends nearly twice the gradients, within 8.9 ms a step."
    )


def _efficiency(bandwidth):
    link = Link(bandwidth=float(bandwidth), latency=20e-6)
    spec = StepSpec(replicas=16, forward_time=0.03, backward_time=0.05, gradient_bytes=100e6, link=link)
    return spec.compute_time / predict_step(spec).step_time


def _needed():
    # compute / (compute + rounds * latency + bytes / bandwidth) = 0.9, solved for the bandwidth
    exposed = 0.08 / 0.9 - 0.08
    return (2 * 15 / 16 * 100e6) / (exposed - 30 * 20e-6)
