"""Checks of lab 05: what a remedy can give; and three sick training steps, to be named and mended."""

import math
import numbers
import tempfile

import tensorflow as tf

from labutils import profile
from labutils.bench import compare
from labutils.course.verdict import called, exercise, right, wrong
from labutils.profile.symptoms import BY_NAME
from labutils.train import data, models, pipelines

JOB = {"input": 36.0, "gaps": 3.0, "communication": 6.0, "compute": 15.0}  # ms of the step of exercise 1
FASTER_DEVICE = 3
BATCH = 256
PLANTED = {1: "python-in-input", 2: "retracing", 3: "tiny-operators"}  # by the number of the script
SMALLEST_SPEEDUP = 2.0
STEPS, NEAR = 6, 1e-3  # losses held side by side, and how far they may be apart
#: {symptom: the row of `profile.clues` that shows it}
_SEEN_IN = {
    "input-bound": "waiting for input",
    "python-in-input": "Python in the input pipeline",
    "retracing": "steps that build a graph",
    "tiny-operators": "operators run one by one from Python",
    "host-work": "longest gap in which nothing of TensorFlow's runs",
    "communication-bound": "communication",
    "straggling-replica": "compute of each replica",
    "idle-devices": "devices that ran an operator",
}


@exercise
def gains_of_a_job(most_gain, faster_device):
    """The most that the input can give, as a ratio of speeds; and the step time on a faster device, in ms."""
    whole = sum(JOB.values())
    rows = [
        (most_gain, whole / (whole - JOB["input"]), "gain", "the whole step over what is left without the waiting"),
        (
            faster_device,
            whole - JOB["compute"] * (1 - 1 / FASTER_DEVICE),
            "step time on the faster device in ms",
            "the same as before but for the compute, which takes a third",
        ),
    ]
    for got, expected, name, why in rows:
        if isinstance(got, bool) or not isinstance(got, numbers.Real):
            return wrong(f"The {name} is a number, not {got!r}.")
        if not math.isclose(got, expected, rel_tol=0.02):
            return wrong(f"The {name} is not {got:g}: it is {why}.")
    return right("The faster device would not have been worth its price: the input was the longest segment.")


def batches():
    """Digits in batches of 256, over and over; to fetch one costs next to nothing."""
    digits = data.digits()
    dataset = tf.data.Dataset.from_tensor_slices((digits.x_train, digits.y_train))
    return iter(pipelines.as_written(dataset.batch(BATCH).cache().repeat()))


def training(dataset):
    """A step function that trains a small network on the (images, labels) of a dataset and returns the loss."""
    model, loss_of = models.mlp(), tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = tf.keras.optimizers.SGD(0.1)
    optimizer.build(model.trainable_variables)
    elements = iter(pipelines.as_written(dataset))

    @tf.function
    def train(x, y):
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    return lambda: train(*next(elements))


@exercise
def named(number, sick, answer):
    """`answer` is the name of what is the matter with script `number`, of which `sick` makes the step."""
    planted = PLANTED[number]
    if answer not in BY_NAME:
        return wrong(f"{answer!r} is no symptom's name. The names are {', '.join(sorted(BY_NAME))}.")
    if answer == planted:
        return right(_evidence(sick, planted))
    if BY_NAME[answer].verdict == BY_NAME[planted].verdict and answer == "input-bound":
        return wrong("True as far as it goes. Another name says more: why is that so? Look at the other figures.")
    row = _SEEN_IN.get(answer)
    if row is None:
        return wrong("The figures show nothing of that. Which of them is out of the ordinary?")
    figures = {line[0]: line[1] for line in _captured(sick, profile.clues).rows}
    return wrong(f"Look at “{row}”: it is {figures[row]}. Which figure is out of the ordinary?")


def _captured(make, reader):
    """What a reader says of a capture of the step that `make` makes."""
    with tempfile.TemporaryDirectory(prefix="four-beats-lab-") as folder:
        profile.capture(make(), folder)
        return reader(folder)


def _diagnosed(make):
    return _captured(make, lambda folder: profile.diagnose(folder, with_official=False))


def _evidence(sick, planted):
    found = _diagnosed(sick)
    if found.cause == planted:
        return f"{BY_NAME[planted].title}. {found.evidence[0]}"
    return f"{BY_NAME[planted].title}."


@exercise
def mended(number, sick, answer):
    """`answer()` makes a step that trains as that of `sick()`, without its symptom and at least twice as fast."""
    step = called(answer)
    if not callable(step):
        return wrong(f"Return a step function, as the sick script does, not {type(step).__name__}.")
    problem = _trains_otherwise(sick(), step)
    if problem:
        return wrong(problem)
    planted, found = PLANTED[number], _diagnosed(answer)
    if planted in found.found:
        return wrong(f"{BY_NAME[planted].title} still. {found.evidence[0]}")
    ratio = compare(sick(), called(answer), budget=1.0, pairs=5).ratio
    seen = f"A step is {ratio:.1f} times as fast"
    if ratio < SMALLEST_SPEEDUP:
        return wrong(f"{seen}; {SMALLEST_SPEEDUP:g} times are asked. Capture your step: what takes its time now?")
    return right(f"{seen}, and the losses are the same.")


def _trains_otherwise(sick, step):
    for number in range(1, STEPS + 1):
        expected, loss = float(sick()), called(step)
        try:
            loss = float(loss)
        except (TypeError, ValueError):
            return f"A step returns its loss, a number, as the sick one does; yours returned {loss!r}."
        if not abs(loss - expected) <= NEAR * max(1.0, abs(expected)):
            return (
                f"In step {number} the loss is {loss:.4f}; that of the sick script is {expected:.4f}. Train the same."
            )
    return ""
