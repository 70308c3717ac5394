"""Checks of lab 02: a distributed script, batches and steps, a train_step, a job that passes inspection."""

from itertools import pairwise

import keras
import numpy as np
import tensorflow as tf

from labutils.course.verdict import called, exercise, right, wrong
from labutils.train import data, devices, models
from labutils.train.lint import check_training, check_update_scale, explain, split_batch

SAMPLES = 384
FEWEST_SAMPLES = 1000
CLOSE = 1e-5


@exercise
def distributed(answer):
    """`answer(make_model, x, y, replicas, per_replica_batch)` trains one epoch on replicas; returns the model."""
    x, y = _digits(SAMPLES)
    for replicas, batch in ((4, 16), (2, 32)):
        model = called(_explained, answer, _compiled, x, y, replicas, batch)
        if not isinstance(model, keras.Model):
            return wrong(f"Return the trained model, not {type(model).__name__}.")
        if not model.compiled:
            return wrong("The model is not compiled. Create it with make_model().")
        copies = model.distribute_strategy.num_replicas_in_sync
        if copies != replicas:
            return wrong(f"The model lives on {copies} replica(s), not {replicas}. Was it created in the scope?")
        expected_steps = SAMPLES // (replicas * batch)
        steps = int(model.optimizer.iterations.numpy())
        if steps == 0:
            return wrong("The model was never trained: call its fit before you return it.")
        if steps != expected_steps:
            return wrong(
                f"{SAMPLES} examples took {steps} steps; {batch} on each of {replicas} replicas make {expected_steps}. "
                "fit takes the global batch."
            )
        if _apart(model, _reference(x, y, replicas * batch)) > 1e-5:
            return wrong("The weights are not those of one device at the same global batch. Is the order kept?")
    return right("Strategy, scope, global batch: the weights are those of one device, on 4 and on 2 replicas.")


@exercise
def numbers(per_replica_in_fit, examples_from_function, global_batch, steps_per_epoch):
    """Four numbers on shares, batches and steps, in the order of the exercise."""
    share = split_batch(32, 4).split
    rows = [
        (per_replica_in_fit, share[0], f"fit splits 32 over 4 replicas into {share}"),
        (examples_from_function, 128, "each of the 4 replicas gets a batch(32) of its own: 32 + 32 + 32 + 32"),
        (global_batch, 128, "every one of 8 replicas has 16 examples"),
        (steps_per_epoch, 10, "an epoch is every example once: 1280 over the global batch"),
    ]
    for place, (got, expected, why) in enumerate(rows, start=1):
        if got != expected:
            return wrong(f"Number {place} is not {got!r}: {why}.")
    return right("A bare 'batch size' says nothing. Say global, or per replica.")


@exercise
def train_step(answer):
    """`answer(self, data)` is a train_step whose update and loss are those of one device on any number of replicas."""
    x, y = _digits(64)
    reference = _linear(keras.Sequential)
    start = reference.get_weights()
    model_class = type("Answered", (keras.Sequential,), {"train_step": answer})
    shown = called(answer, _linear(model_class), (tf.constant(x), tf.constant(y)))
    if not isinstance(shown, dict) or "loss" not in shown:
        return wrong("train_step returns what fit shows: a dictionary with the key 'loss'.")
    expected = _fitted(reference, start, x, y)
    for replicas in (2, 4):
        strategy = devices.mirrored(replicas)
        with strategy.scope():
            model = _linear(model_class)
        loss = _explained(_fitted, model, start, x, y)
        if _moved(model, start) == 0:
            return wrong("train_step never moves the weights. Apply the gradients.")
        apart = _apart(model, reference)
        if apart < 1e-5 and abs(loss - expected) < 1e-4 * expected:
            continue
        findings = check_update_scale(lambda: _linear(model_class), x, y, strategy)
        if findings:
            return wrong(f"On {replicas} replicas: {findings[0].sentence}")
        if not apart < 1e-5:
            return wrong(f"On {replicas} replicas: the weights are not those of Keras' own train_step on one device.")
        return wrong(f"On {replicas} replicas: fit shows a loss of {loss:.4g}; on one device it is {expected:.4g}.")
    return right("The update and the loss are those of one device, on 2 and on 4 replicas.")


@exercise
def inspection(answer):
    """`answer(strategy)` builds a job: a dict with model, batch_size, samples and drop_remainder."""
    findings, trained = [], []
    for replicas in (1, 4):
        strategy = devices.mirrored(replicas)
        job = called(_explained, answer, strategy)
        if problem := _incomplete(job):
            return wrong(problem)
        findings = check_training(strategy=strategy, **job)
        if findings:
            return wrong(f"Inspection on {replicas} replicas says: {findings[0]}")
        x, y = _digits(job["samples"])
        batches = tf.data.Dataset.from_tensor_slices((x, y)).batch(job["batch_size"], job["drop_remainder"])
        called(_explained, job["model"].fit, batches, verbose=0)
        trained.append(job["model"])
    if _apart(*trained) > CLOSE:
        return wrong("Inspection finds nothing, and yet 4 replicas and 1 do not end with the same weights.")
    return right("Nothing to find, and the weights on 4 replicas are those of one device.")


def _incomplete(job):
    """What is wrong with a job as a dictionary, whatever it trains; empty when nothing is."""
    if not isinstance(job, dict):
        return f"A job is a dictionary with model, batch_size, samples and drop_remainder, not {type(job).__name__}."
    missing = {"model", "batch_size", "samples", "drop_remainder"} - set(job)
    if missing:
        return f"The job lacks {', '.join(sorted(missing))}."
    model, batch, samples = job["model"], job["batch_size"], job["samples"]
    if not isinstance(model, keras.Model) or not model.compiled:
        return "The model of a job is a compiled Keras model."
    if not any(isinstance(layer, keras.layers.BatchNormalization) for layer in model.layers):
        return "Keep the kind of model: normalised_mlp, which has a BatchNormalization."
    if not all(isinstance(count, (int, np.integer)) and count > 0 for count in (batch, samples)):
        return f"batch_size and samples are whole numbers above 0, not {batch!r} and {samples!r}."
    used = samples // batch * batch if job["drop_remainder"] else samples
    if used < FEWEST_SAMPLES:
        return f"Only {used} of the 1222 samples are trained on. Drop less."
    available = len(data.digits().x_train)
    return f"There are {available} samples, not {samples}." if samples > available else ""


def _explained(function, *arguments, **named):
    """Call a learner's function; a TensorFlow error becomes the sentence that explains it."""
    try:
        return function(*arguments, **named)
    except Exception as error:
        sentence = explain(error)
        if sentence:
            raise RuntimeError(sentence) from error
        raise


def _digits(samples):
    digits = data.digits()
    return digits.x_train[:samples], digits.y_train[:samples]


def _mean_loss():
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def _compiled():
    model = models.mlp(seed=0)
    model.compile(keras.optimizers.SGD(0.1), _mean_loss())
    return model


def _reference(x, y, batch):
    model = _compiled()
    model.fit(x, y, batch_size=batch, shuffle=False, verbose=0)
    return model


def _linear(model_class):
    """The smallest model that can learn digits: enough to see whether a train_step is right."""
    model = model_class([keras.Input((8, 8, 1)), keras.layers.Flatten(), keras.layers.Dense(10)])
    model.compile(keras.optimizers.SGD(0.1), _mean_loss())
    return model


def _fitted(model, start, x, y):
    """The loss that fit shows after an epoch of two steps from the weights `start`."""
    model.set_weights(start)
    return float(model.fit(x, y, batch_size=len(x) // 2, shuffle=False, verbose=0).history["loss"][0])


def _moved(model, start):
    return max(float(np.abs(a - b).max()) for a, b in zip(model.get_weights(), start, strict=True))


def _apart(left, right):
    # Moving statistics are kept per replica on purpose; what is trained must agree.
    pairs = zip(_felt(left), _felt(right), strict=True)
    return max(float(np.abs(a.numpy() - b.numpy()).max()) for a, b in pairs)


def _felt(model):
    """The trained variables that the loss feels. BatchNormalization subtracts the bias before it again, so its
    gradient is rounding alone, which Adam blows up to whole steps."""
    norm = keras.layers.BatchNormalization
    cancelled = {
        id(getattr(before, "bias", None)) for before, after in pairwise(model.layers) if isinstance(after, norm)
    }
    return [variable for variable in model.trainable_variables if id(variable) not in cancelled]
