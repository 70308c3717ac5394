"""Checks of lab 07: when compiling pays, a function of one kernel, buckets and padding, and decisions."""

import math
import numbers

import numpy as np
import tensorflow as tf

from labutils.bench.table import Table
from labutils.course.verdict import called, exercise, right, wrong
from labutils.theory import fusion
from labutils.train import xla

COMPILING, BEFORE, AFTER = 45.0, 0.120, 0.090  # s: of compiling, and of a step without and with XLA
TEST, TRAINING = 1000, 100_000  # steps
MOST_PROGRAMS, MOST_PADDING, LONGEST = 6, 0.25, 100
NEAR = 1e-5
#: {machine: {setting: (times as fast, loss after the same steps)}}; None for one that failed.
MEASURED = {
    "laptop": {
        "bfloat16": (0.71, 0.412),
        "float16": (0.64, 0.411),
        "XLA": (0.97, 0.411),
        "XLA, bfloat16": (0.70, 0.412),
    },
    "server": {
        "bfloat16": (1.62, 0.413),
        "float16": (0.48, 0.411),
        "XLA": (1.31, 0.411),
        "XLA, bfloat16": (2.05, 0.413),
    },
    "gpu": {"bfloat16": (2.28, 0.590), "float16": (2.21, 0.413), "XLA": None, "XLA, bfloat16": None},
}
LOSS = 0.411
ANSWERS = {"laptop": "float32", "server": "XLA, bfloat16", "gpu": "float16"}
_REASONS = {
    "laptop": "no setting is faster than float32 there",
    "server": "of those with the same loss, another is faster",
    "gpu": "XLA failed, and bfloat16 ends at another loss; of those that are right, another is faster",
}


@exercise
def worth_the_wait(pays_after, test_with_xla, training_saves):
    """After how many steps compiling has paid; seconds of the test with XLA; seconds that the training saves."""
    rows = [
        (
            pays_after,
            fusion.break_even(COMPILING, BEFORE, AFTER),
            "number of steps",
            "the compilation over what a step saves",
        ),
        (test_with_xla, COMPILING + TEST * AFTER, "time of the test", "the compilation and 1000 steps of 90 ms"),
        (
            training_saves,
            TRAINING * (BEFORE - AFTER) - COMPILING,
            "time that the training saves",
            "30 ms a step, less the compilation",
        ),
    ]
    for got, expected, name, why in rows:
        if isinstance(got, bool) or not isinstance(got, numbers.Real):
            return wrong(f"The {name} is a number, not {got!r}.")
        if not math.isclose(got, expected, rel_tol=1e-3):
            return wrong(f"The {name} is not {got:g}: it is {why}.")
    return right("The test is slower with XLA, 135 s in place of 120; the training saves most of an hour.")


@exercise
def one_kernel(answer):
    """`answer(x)` gives the numbers of the given function, and XLA makes one kernel of it."""
    x = tf.constant(np.random.default_rng(0).normal(0, 3, (64, 32)), tf.float32)
    got = called(answer, x)
    if not isinstance(got, tf.Tensor) or got.shape != x.shape:
        return wrong(f"Return a tensor of shape {tuple(x.shape)}, not {getattr(got, 'shape', got)!r}.")
    expected = 0.5 * x + 0.1
    expected = tf.clip_by_value(expected * tf.sigmoid(expected), -0.1, 0.4)
    if not np.allclose(got, expected, atol=NEAR):
        return wrong(f"The numbers differ by up to {np.abs(got - expected).max():.3g}.")
    try:
        made = xla.program(answer, x)
    except TypeError as error:
        return wrong(str(error))
    except ValueError as error:
        return wrong(f"{error} Without Python in it, it compiles.")
    if len(made.kernels) != 1:
        return wrong(f"XLA makes {len(made.kernels)} kernels of it. What stands between those that could be one?")
    return right(f"One kernel, with {len(made.operations(made.kernels[0]))} operations in it.")


def lengths():
    """A thousand lengths of sequences, from 1 to 100."""
    return np.random.default_rng(7).integers(1, LONGEST + 1, 1000)


@exercise
def few_and_tight(buckets):
    """`buckets` are at most six lengths that hold all sequences with at most a quarter of the work wasted."""
    if not isinstance(buckets, (list, tuple)) or not all(
        isinstance(each, numbers.Integral) and not isinstance(each, bool) and each > 0 for each in buckets
    ):
        return wrong("Buckets are a list of lengths, whole numbers from 1 up.")
    if max(buckets, default=0) < lengths().max():
        return wrong(f"No bucket holds a length of {lengths().max()}.")
    sizes = [fusion.padded(int(length), buckets) for length in lengths()]
    wasted = 1 - lengths().sum() / np.sum(sizes)
    if len(set(sizes)) > MOST_PROGRAMS:
        return wrong(f"That makes {len(set(sizes))} programs; at most {MOST_PROGRAMS} are asked.")
    if wasted > MOST_PADDING:
        return wrong(
            f"{wasted:.0%} of the work is padding; at most {MOST_PADDING:.0%} is asked. Where are the widest gaps?"
        )
    return right(f"{len(set(sizes))} programs, and {wasted:.0%} of the work is padding.")


@exercise
def without_padding(answer):
    """`answer(padded, lengths)` is the sum of squares of the first numbers of each row, whatever the padding."""
    rows = np.random.default_rng(1).normal(size=(6, 16)).astype(np.float32)
    many = np.array([16, 1, 7, 0, 12, 3], np.int32)
    expected = np.array([np.sum(row[:count] ** 2) for row, count in zip(rows, many, strict=True)])
    got = called(answer, tf.constant(rows), tf.constant(many))
    if np.shape(got) != (6,):
        return wrong(f"Return one sum for each row, of shape (6,), not {np.shape(got)}.")
    if not np.allclose(got, expected, rtol=1e-4, atol=1e-5):
        whole = np.allclose(got, np.sum(rows**2, axis=1), rtol=1e-4)
        return wrong(
            "That counts the padding, too." if whole else "The sums differ from those of the rows without padding."
        )
    compiled = tf.function(answer, jit_compile=True)
    try:
        called(compiled, tf.constant(rows), tf.constant(many))
    except Exception as error:
        return wrong(f"It is right, and XLA cannot compile it: {str(error).strip().splitlines()[0][:200]}")
    return right("The padding does not count, and XLA compiles it once for each bucket.")


def machines():
    """What was tried on three machines, as a Table. They are made up, each for a case of its own."""
    rows = []
    for machine, settings in MEASURED.items():
        rows.append([machine, "float32", "1.00x", f"{LOSS}"])
        for setting, found in settings.items():
            told = [f"{found[0]:.2f}x", f"{found[1]}"] if found else ["failed", ""]
            rows.append([machine, setting, *told])
    return Table(["machine", "setting", "times as fast, ± 0.03", "loss"], rows, right=(2, 3))


@exercise
def decisions(laptop, server, gpu):
    """The setting to keep on each of the three machines."""
    for machine, got in {"laptop": laptop, "server": server, "gpu": gpu}.items():
        if got != "float32" and got not in MEASURED[machine]:
            return wrong(f"{got!r} was not tried on the {machine}. Take one from the table.")
        if got != ANSWERS[machine]:
            return wrong(f"On the {machine} it is not {got}: {_REASONS[machine]}.")
    return right("The fastest of those that are right. On the next machine, measure again.")
