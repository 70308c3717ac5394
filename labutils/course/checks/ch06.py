"""Checks of lab 06: a format by hand, a loop that scales its loss, a float16 training with faults, and decisions."""

import math
import numbers

import keras
import numpy as np
import tensorflow as tf

from labutils.bench.table import Table
from labutils.course.verdict import called, exercise, right, wrong
from labutils.theory.floats import Format
from labutils.train import data, models, precision

SMALL = Format("the small format", 5, 2)
EPOCHS, BATCH, ENOUGH = 40, 64, 0.9  # of the training in exercise 3
#: {machine: {policy: (speed against float32 with its 99% interval, accuracy in % with two standard errors)}}
MEASURED = {
    "laptop": {"mixed_bfloat16": ((0.86, 0.83, 0.90), (97.4, 0.3)), "mixed_float16": ((0.97, 0.93, 1.02), (97.5, 0.3))},
    "server": {"mixed_bfloat16": ((1.92, 1.85, 1.98), (97.3, 0.4)), "mixed_float16": ((0.55, 0.53, 0.58), (97.5, 0.3))},
    "gpu": {"mixed_bfloat16": ((2.31, 2.24, 2.37), (95.1, 0.4)), "mixed_float16": ((2.29, 2.21, 2.36), (97.4, 0.3))},
}
FLOAT32 = (97.5, 0.3)
ANSWERS = {"laptop": "float32", "server": "mixed_bfloat16", "gpu": "mixed_float16"}
_REASONS = {
    "laptop": "neither format is faster beyond doubt, so nothing is gained by either",
    "server": "bfloat16 is nearly twice as fast at an accuracy that agrees with float32's; float16 is slower",
    "gpu": "both are as fast as each other, and bfloat16 loses more accuracy than the error bars explain",
}


@exercise
def small_format(largest, step_at_one, of_0_3):
    """The largest number, the step at 1, and what becomes of 0.3, of 5 bits of exponent and 2 of mantissa."""
    rows = [
        (largest, SMALL.largest, "largest number", "the mantissa 1.75 times 2 to the 15, the largest exponent but one"),
        (step_at_one, SMALL.epsilon, "step at 1", "one of 4 steps from 1 to 2: the mantissa has 2 bits"),
        (
            of_0_3,
            float(SMALL.round(0.3)),
            "number for 0.3",
            "between 0.25 and 0.5 the step is 0.0625; take the nearest",
        ),
    ]
    for got, expected, name, why in rows:
        if isinstance(got, bool) or not isinstance(got, numbers.Real):
            return wrong(f"The {name} is a number, not {got!r}.")
        if not math.isclose(got, expected, rel_tol=1e-6):
            return wrong(f"The {name} is not {got:g}: {why}.")
    return right("Such a format exists: float8 with 5 bits of exponent. It trains, with a scale for every tensor.")


def half_model():
    """A small model for the digits that computes in float16, its last layer in float32."""
    policy = keras.mixed_precision.dtype_policy()
    keras.mixed_precision.set_global_policy("mixed_float16")
    try:
        return models.mlp(width=32)
    finally:
        keras.mixed_precision.set_global_policy(policy)


@exercise
def scales(answer):
    """`answer(model, optimizer, x, y)` is a training step that scales its loss, and returns it unscaled."""
    model, optimizer = half_model(), keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1))
    optimizer.build(model.trainable_variables)
    digits = data.digits()
    x, y = digits.x_train[:BATCH], digits.y_train[:BATCH]
    expected = float(keras.losses.SparseCategoricalCrossentropy(from_logits=True)(y, model(x)))
    before = [variable.numpy() for variable in model.trainable_variables]
    loss = called(answer, model, optimizer, x, y)
    try:
        loss = float(loss)
    except (TypeError, ValueError):
        return wrong(f"Return the loss, a number; yours returned {loss!r}.")
    if not math.isclose(loss, expected, rel_tol=0.01):
        if math.isclose(loss, expected * float(optimizer.initial_scale), rel_tol=0.01):
            return wrong("That is the scaled loss. Return the loss as it was before scaling.")
        return wrong(f"The loss of this batch is {expected:.4f}; yours is {loss:.4f}.")
    if all(
        np.array_equal(left, right_.numpy()) for left, right_ in zip(before, model.trainable_variables, strict=True)
    ):
        return wrong("No weight has moved. Apply the gradients.")
    said = precision.check_scaling(lambda: called(answer, model, optimizer, x, y), model, optimizer)
    if said:
        return wrong(said)
    moved = float(np.abs(before[0] - model.trainable_variables[0].numpy()).max())
    if moved > 1:
        return wrong(f"A weight has moved by {moved:.3g}. The optimizer divides by the scale itself, once, in apply().")
    return right("The update does not depend on the scale: it is put on once and taken off once.")


class Energy(keras.layers.Layer):
    """Each number's share of its sample's energy, times 20, computed in the layer's own type."""

    def call(self, x):
        """`x` of shape (batch, numbers)."""
        squares = x * x
        energy = tf.reduce_sum(squares, axis=1, keepdims=True) + tf.cast(1e-3, x.dtype)
        return tf.cast(20, x.dtype) * squares / energy


def pixels(count=None):
    """(images from 0 to 255, labels) of the digits for training, the first `count` or all."""
    digits = data.digits()
    return (255 * digits.x_train)[:count], digits.y_train[:count]


@exercise
def trains_in_float16(answer):
    """`answer()` gives a model that computes in float16, its optimizer, and a loss that trains it to 90%."""
    keras.utils.set_random_seed(0)  # the same answer is right today and tomorrow
    made = called(answer)
    if not (isinstance(made, tuple) and len(made) == 3 and isinstance(made[0], keras.Model) and callable(made[2])):
        return wrong("Return three things: the model, its optimizer, and the function of the loss.")
    model, optimizer, loss_of = made
    dense = [layer for layer in model.layers if isinstance(layer, keras.layers.Dense)]
    if not dense or dense[0].compute_dtype != "float16":
        return wrong("The first Dense layer should still compute in float16: mend the others.")
    found = precision.first_out_of_range(model, pixels()[0])
    if found:
        return wrong(repr(found))
    faults = precision.audit(model, optimizer)
    if faults:
        return wrong(faults[0])
    losses = _train(model, optimizer, loss_of)
    if not np.all(np.isfinite(losses)):
        return wrong(
            f"In step {int(np.argmin(np.isfinite(losses))) + 1} the loss is {losses[-1]}. Where is its logarithm?"
        )
    digits = data.digits()
    accuracy = float(np.mean(np.argmax(model(255 * digits.x_test), -1) == digits.y_test))
    if accuracy < ENOUGH:
        return wrong(
            f"It has {accuracy:.0%} of the test digits right; {ENOUGH:.0%} are asked. Does the loss fit the logits?"
        )
    return right(f"In float16, all losses finite, {accuracy:.0%} of the test digits right.")


def _train(model, optimizer, loss_of):
    """The losses, up to the first that is no number."""
    optimizer.build(model.trainable_variables)

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = called(loss_of, x, y)
            scaled = optimizer.scale_loss(loss)
        optimizer.apply(tape.gradient(scaled, model.trainable_variables))
        return loss

    losses = []
    for x, y in tf.data.Dataset.from_tensor_slices(pixels()).batch(BATCH).repeat(EPOCHS):
        losses.append(float(step(x, y)))
        if not math.isfinite(losses[-1]):
            break
    return losses


def machines():
    """What was measured on three machines, as a Table. They are made up, each for a case of its own."""
    rows = [["all", "float32", "1.00x", f"{FLOAT32[0]} ± {FLOAT32[1]}"]]
    for machine, policies in MEASURED.items():
        for policy, (speed, accuracy) in policies.items():
            ratio, low, high = speed
            told = f"{ratio:.2f}x ({low:.2f} to {high:.2f})"
            rows.append([machine, policy, told, f"{accuracy[0]} ± {accuracy[1]}"])
    return Table(["machine", "policy", "a step, times as fast", "accuracy (%)"], rows, right=(2, 3))


@exercise
def decisions(laptop, server, gpu):
    """The policy to keep on each of the three machines."""
    for machine, got in {"laptop": laptop, "server": server, "gpu": gpu}.items():
        if got not in ("float32", "mixed_bfloat16", "mixed_float16"):
            return wrong(f"{got!r} is no policy. Choose 'float32', 'mixed_bfloat16' or 'mixed_float16'.")
        if got != ANSWERS[machine]:
            return wrong(f"On the {machine} it is not {got}: {_REASONS[machine]}.")
    return right("Speed beyond doubt, and an accuracy that agrees: both, or it is rolled back.")
