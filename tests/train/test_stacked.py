"""Models trained side by side: the mathematics of Keras and of MirroredStrategy, and no run sees another."""

import itertools

import numpy as np
import pytest

BATCH = 128
STEPS = 10  # an epoch
RATES = {"sgd": 0.25, "momentum": 0.05, "adam": 0.002}
# Seeds with which no unit's input comes nearer to zero than 1e-5 in this epoch. Nearer, the rounding of another
# kernel of the matrix product decides whether the ReLU passes a gradient on, and the weights part by 1e-4.
SEEDS = {"sgd": (27, 12, 18), "momentum": (5, 13, 22), "adam": (8, 31, 16)}


def stack_of(digits, seeds, optimizer="sgd"):
    from labutils.train import stacked

    return stacked.Stack(seeds, digits.x_train, digits.y_train, optimizer)


def order_of(seeds, steps=STEPS, batch=BATCH):
    from labutils.train import stacked

    each = [list(itertools.islice(stacked.batches_of(seed, 1280, batch), steps)) for seed in seeds]
    return np.stack(each, axis=1)


def constant(rates, steps=STEPS):
    return np.tile(np.float32(rates), (steps, 1))


def keras_optimizer(name):
    import keras

    make = {
        "sgd": keras.optimizers.SGD,
        "momentum": lambda rate: keras.optimizers.SGD(rate, momentum=0.9),
        "adam": keras.optimizers.Adam,
    }
    return make[name](RATES[name])


def distance(stack, place, weights):
    """The largest difference of any weight between a run of a stack and a model's weights."""
    ours = [weight.numpy()[place] for weight in stack.weights]
    return max(np.abs(a - b.reshape(a.shape)).max() for a, b in zip(ours, weights, strict=True))


@pytest.mark.parametrize("optimizer", RATES)
def test_an_epoch_side_by_side_ends_at_the_weights_of_keras(digits, optimizer):
    import keras

    from labutils.train import models

    seeds = SEEDS[optimizer][:2]
    order = order_of(seeds)
    stack = stack_of(digits, seeds, optimizer)
    for piece in (slice(0, 1), slice(1, 4), slice(4, STEPS)):  # the optimizer's memory goes on from piece to piece
        stack.advance(order[piece], constant([RATES[optimizer]] * 2)[piece])
    assert stack.step == STEPS
    losses = stack.losses(digits.x_test, digits.y_test)
    for place, seed in enumerate(seeds):
        model = models.mlp(seed=seed)
        before = model.get_weights()
        loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras_optimizer(optimizer), loss_of, jit_compile=False)  # XLA compiles longer than this trains
        for rows in order[:, place]:
            model.train_on_batch(digits.x_train[rows], digits.y_train[rows])
        assert distance(stack, place, before) > 0.01  # it did train
        assert distance(stack, place, model.get_weights()) < 1e-5
        loss = model.evaluate(digits.x_test, digits.y_test, batch_size=517, verbose=0)
        assert losses[place] == pytest.approx(loss, rel=1e-4)


def test_it_stands_for_four_replicas_at_the_same_global_batch(digits):
    import keras

    from labutils.train import devices, models
    from labutils.train.step import FourPhaseStep

    strategy = devices.mirrored(4)
    with strategy.scope():
        model, optimizer = models.mlp(seed=27), keras.optimizers.SGD(0.25)
    step = FourPhaseStep(model, optimizer, keras.losses.SparseCategoricalCrossentropy(from_logits=True), strategy)
    order = order_of([27])
    for rows in order[:, 0]:
        step.run((digits.x_train[rows], digits.y_train[rows]))
    stack = stack_of(digits, [27])
    stack.advance(order, constant([0.25]))
    assert distance(stack, 0, model.get_weights()) < 1e-5


@pytest.mark.parametrize("optimizer", RATES)
def test_a_run_does_not_see_its_neighbours_even_one_that_blows_up(digits, optimizer):
    seeds = SEEDS[optimizer]
    order = order_of(seeds)
    rates = constant([RATES[optimizer], np.inf, RATES[optimizer]])
    together = stack_of(digits, seeds, optimizer)
    together.advance(order, rates)
    losses = together.losses(digits.x_test, digits.y_test)
    assert np.isnan(losses[1])
    for place in (0, 2):
        alone = stack_of(digits, [seeds[place]], optimizer)
        alone.advance(order[:, [place]], rates[:, [place]])
        assert distance(together, place, [weight.numpy()[0] for weight in alone.weights]) < 1e-6
        assert losses[place] == pytest.approx(alone.losses(digits.x_test, digits.y_test)[0], rel=1e-5)


@pytest.mark.parametrize("optimizer", RATES)
def test_keep_goes_on_with_the_chosen_runs_and_their_optimizers_memory(digits, optimizer):
    seeds, chosen = (0, *SEEDS[optimizer]), [1, 3]
    order, rates = order_of(seeds), constant([RATES[optimizer] * factor for factor in (2, 1, 0.5, 1)])
    whole, fewer = stack_of(digits, seeds, optimizer), stack_of(digits, seeds, optimizer)
    whole.advance(order, rates)
    fewer.advance(order[:5], rates[:5])
    fewer.keep(chosen)
    fewer.advance(order[5:, chosen], rates[5:, chosen])
    for place, run in enumerate(chosen):
        assert distance(fewer, place, [weight.numpy()[run] for weight in whole.weights]) < 1e-6
    fewer.keep([])
    assert fewer.losses(digits.x_test, digits.y_test).shape == (0,)


def test_every_step_takes_the_rate_of_its_own(digits):
    order = order_of([0])
    rates = np.zeros((STEPS, 1), np.float32)
    rates[3] = 0.25
    stack, once = stack_of(digits, [0]), stack_of(digits, [0])
    stack.advance(order, rates)
    once.advance(order[3:4], rates[3:4])
    assert distance(stack, 0, [weight.numpy()[0] for weight in once.weights]) == 0


def test_one_trace_serves_every_batch_and_number_of_runs(digits):
    from labutils.train import stacked

    def train(runs, batch, steps):
        stack = stack_of(digits, range(runs))
        stack.advance(order_of(range(runs), steps, batch), constant([0.1] * runs, steps))
        stack.losses(digits.x_test[:batch], digits.y_test[:batch])

    train(1, 16, 2)
    loop = stacked._loop("sgd")
    before = loop.experimental_get_tracing_count(), stacked._evaluate.experimental_get_tracing_count()
    for runs, batch, steps in ((2, 16, 1), (3, 64, 2), (1, 128, 3)):
        train(runs, batch, steps)
    assert (loop.experimental_get_tracing_count(), stacked._evaluate.experimental_get_tracing_count()) == before


def test_batches_are_an_epochs_examples_each_once_and_the_same_for_a_seed(digits):
    from labutils.train import stacked

    def epochs(seed, samples=100, batch=30):
        return np.reshape(list(itertools.islice(stacked.batches_of(seed, samples, batch), 6)), (2, 90))

    first, second = epochs(0)
    assert len(set(first)) == len(set(second)) == 90 and first.max() < 100
    assert not np.array_equal(first, second) and not np.array_equal(first, epochs(1)[0])
    np.testing.assert_array_equal(epochs(0)[1], second)


@pytest.mark.parametrize(("batch", "said"), [(101, "at most 100"), (0, "at least 1"), (2.5, "whole number")])
def test_a_batch_that_cannot_be_drawn_is_refused_instead_of_waited_for(batch, said):
    from labutils.train import stacked

    with pytest.raises(ValueError, match=said):
        next(stacked.batches_of(0, 100, batch))
