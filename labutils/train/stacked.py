"""Many small models trained side by side in one computation: the same mathematics as one by one, far faster.

A step of a small model is over before Python has said what comes next. So the weights of all runs are stacked,
(runs, inputs, outputs), and one compiled loop takes many steps of every run at once. The loop is traced once per
optimizer, whatever the batch and the number of runs: a trace takes longer than many a run.
"""

import functools

import numpy as np
import tensorflow as tf

from labutils.theory.scaling import steps_per_epoch
from labutils.train import models

OPTIMIZERS = {"sgd": 0, "momentum": 1, "adam": 2}  # how many numbers per weight each remembers
CLASSES = 10  # of `models.mlp`
MOMENTUM = 0.9
BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-7  # those of keras.optimizers.Adam
_STACKED = [tf.TensorSpec([None, None, None])] * 6  # kernel and bias of each of the three layers of `models.mlp`
_EXAMPLES = (tf.TensorSpec([None, None]), tf.TensorSpec([None], tf.int32))


class Stack:
    """One `models.mlp` for each of `seeds`, trained side by side with `optimizer` on the examples x, y.

    `advance` takes steps, `losses` measures, `keep` goes on with some of the runs only.
    """

    def __init__(self, seeds, x, y, optimizer="sgd", shape=models.DIGIT_SHAPE):
        self.examples = _examples(x, y)
        self.optimizer, self.step = optimizer, 0
        self.weights = _stacked_weights(tuple(seeds), shape)
        self.slots = [tf.zeros_like(weight) for _ in range(OPTIMIZERS[optimizer]) for weight in self.weights]

    def advance(self, order, rates):
        """Take steps: `order` (steps, runs, batch) are examples' numbers, `rates` (steps, runs) learning rates."""
        state = [*self.weights, *self.slots]
        count = tf.constant(self.step, tf.float32)
        order, rates = tf.constant(order, tf.int32), tf.constant(rates, tf.float32)
        state = _loop(self.optimizer)(state, *self.examples, order, rates, count)
        self.weights, self.slots = list(state[: len(self.weights)]), list(state[len(self.weights) :])
        self.step += order.shape[0]

    def losses(self, x, y):
        """The mean loss of each run on x, y: an array of shape (runs,)."""
        return _evaluate(self.weights, *_examples(x, y)).numpy()

    def keep(self, chosen):
        """Go on with the runs at the places `chosen` only."""
        chosen = tf.constant(chosen, tf.int32)  # also of an empty list
        self.weights = [tf.gather(weight, chosen) for weight in self.weights]
        self.slots = [tf.gather(slot, chosen) for slot in self.slots]


def batches_of(seed, samples, batch):
    """Endless batches of examples' numbers, shuffled anew each epoch, the rest dropped: arrays of shape (batch,).

    ValueError, with the first of them, for a batch that is not whole or larger than the data.
    """
    steps_per_epoch(samples, batch)
    random = np.random.default_rng(seed)
    while True:
        yield from random.permutation(samples)[: samples // batch * batch].reshape(-1, batch).astype(np.int32)


def _examples(x, y):
    """Flat images and labels as tensors."""
    return tf.constant(x.reshape(len(x), -1), tf.float32), tf.constant(y, tf.int32)


@functools.cache
def _one_models_weights(seed, shape):
    return models.mlp(shape=shape, seed=seed).get_weights()


def _stacked_weights(seeds, shape):
    """Kernels of shape (runs, inputs, outputs) and biases of shape (runs, 1, outputs), layer by layer."""
    each = [_one_models_weights(seed, shape) for seed in seeds]
    stacked = [np.stack(values) for values in zip(*each, strict=True)]
    return [tf.constant(value if value.ndim == 3 else value[:, None, :]) for value in stacked]


def _logits(weights, x):
    """Of each run: x has the shape (runs, examples, inputs), or (1, examples, inputs) where all see the same."""
    for kernel, bias in zip(weights[:-2:2], weights[1:-2:2], strict=True):
        x = tf.nn.relu(tf.matmul(x, kernel) + bias)
    return tf.matmul(x, weights[-2]) + weights[-1]


def _mean_losses(weights, x, y):
    """Softmax cross-entropy, of each run; y may be shared by all as x may."""
    # Two plain operations: for so few classes they take less time than the ready-made one.
    logs = tf.nn.log_softmax(_logits(weights, x))
    wanted = tf.one_hot(y, CLASSES)
    return -tf.reduce_sum(logs * wanted, axis=[1, 2]) / tf.cast(tf.shape(y)[1], tf.float32)


@tf.function(autograph=False, input_signature=[_STACKED, *_EXAMPLES])
def _evaluate(weights, x, y):
    return _mean_losses(weights, x[None], y[None])


@functools.cache
def _loop(optimizer):
    """The compiled loop of one optimizer, with every dimension left open so that it is traced once."""
    update = {"sgd": _sgd, "momentum": _momentum, "adam": _adam}[optimizer]
    state = _STACKED * (1 + OPTIMIZERS[optimizer])
    order, rates = tf.TensorSpec([None, None, None], tf.int32), tf.TensorSpec([None, None])

    @tf.function(autograph=False, input_signature=[state, *_EXAMPLES, order, rates, tf.TensorSpec([])])
    def loop(state, x, y, order, rates, count):
        def one_step(index, state):
            weights, slots = state[: len(_STACKED)], state[len(_STACKED) :]
            examples = order[index]
            with tf.GradientTape() as tape:
                tape.watch(weights)
                # The runs share no weight, so the gradient of the sum holds the gradient of each.
                total = tf.reduce_sum(_mean_losses(weights, tf.gather(x, examples), tf.gather(y, examples)))
            gradients = tape.gradient(total, weights)
            rate = rates[index][:, None, None]
            done = count + tf.cast(index, tf.float32) + 1
            return index + 1, [*update(weights, gradients, slots, rate, done)]

        return tf.while_loop(lambda index, _: index < tf.shape(order)[0], one_step, (0, list(state)))[1]

    return loop


def _sgd(weights, gradients, _slots, rate, _done):
    return [weight - rate * gradient for weight, gradient in zip(weights, gradients, strict=True)]


def _momentum(weights, gradients, slots, rate, _done):
    speeds = [MOMENTUM * speed - rate * gradient for speed, gradient in zip(slots, gradients, strict=True)]
    return [weight + speed for weight, speed in zip(weights, speeds, strict=True)] + speeds


def _adam(weights, gradients, slots, rate, done):
    first, second = slots[: len(weights)], slots[len(weights) :]
    first = [BETA_1 * mean + (1 - BETA_1) * gradient for mean, gradient in zip(first, gradients, strict=True)]
    second = [BETA_2 * mean + (1 - BETA_2) * gradient**2 for mean, gradient in zip(second, gradients, strict=True)]
    rate = rate * tf.sqrt(1 - BETA_2**done) / (1 - BETA_1**done)
    moved = [
        weight - rate * mean / (tf.sqrt(square) + EPSILON)
        for weight, mean, square in zip(weights, first, second, strict=True)
    ]
    return moved + first + second
