"""Lab 03: each check accepts every right answer, and says of a wrong one what is wrong."""

from functools import partial

import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("machine")


@pytest.fixture(scope="module")
def ch03(machine):
    from labutils.course.checks import ch03

    return ch03


def says(verdict, state, words):
    assert verdict.state == state and words in verdict.sentence, verdict


# -- batch and rate


@pytest.mark.parametrize(
    "answer",
    [(128, 0.25), (128, 0.25, 20), (128, 0.5), (192, 0.375, 0), (256, 0.5, 10), (np.int64(128), np.float64(0.25))],
    ids=str,
)
def test_a_choice_that_gets_there(ch03, answer):
    says(ch03.choice(*answer), "right", "within both budgets")


@pytest.mark.parametrize(
    "answer, words",
    [
        ((128, 1 / 16), "steps, which are 2"),
        ((128, 1 / 8), "more than 100 steps. Each step is too short"),
        ((256, 0.25), "more than 12 epochs"),
        ((512, 0.5), "more than 12 epochs"),
        ((128, 0.02), "falls too slowly. Take longer steps"),
        ((128, 0.002), "Take longer steps"),
        ((128, 4.0), "diverged"),
        ((132, 0.25), "8 devices cannot share a batch of 132 equally"),
        ((32, 0.5), "leaves 4 examples to a device; it needs 16"),
        ((0, 0.5), "leaves 0 examples"),
        ((2048, 0.5), "more than there are examples: 1280"),
        ((128.5, 0.5), "whole number"),
        (("128", 0.5), "whole number"),
        ((128, 0), "A learning rate is a number above 0"),
        ((128, float("nan")), "A learning rate is a number above 0"),
        ((float("nan"), 0.1), "whole number"),
        ((128, 0.25, -1), "ValueError: warmup must be"),
    ],
    ids=str,
)
def test_a_choice_that_does_not(ch03, answer, words):
    says(ch03.choice(*answer), "wrong", words)


def test_no_choice_yet(ch03):
    says(ch03.choice(..., ..., ...), "not yet", "Replace")


# -- the critical batch


@pytest.fixture(scope="module")
def swept(ch03):
    """A sweep as if measured: three seeds each, on a curve with a critical batch of 40."""
    batches, factors = (8, 32, 128, 512), np.array([0.9, 1.0, 1.1])
    steps = np.array([[30 * (1 + 40 / batch) * factors] for batch in batches])
    return ch03.sweep.Sweep(batches, np.full((4, 1), 0.5), steps, {})


@pytest.mark.parametrize("answer", [40, 40.0, np.float64(36.5), 33, 48])
def test_a_critical_batch(ch03, swept, answer):
    says(ch03.critical(swept, answer), "right", "The runs put it at 40")


@pytest.mark.parametrize(
    "answer, words",
    [
        (10, "40% fewer steps. That is nearly half: the critical batch is larger"),
        (200, "8% fewer steps. At the critical batch it would be 25%: it is smaller"),
        (0, "above 0"),
        (-3, "above 0"),
        ("40", "above 0"),
        (float("inf"), "above 0"),
    ],
)
def test_another_critical_batch(ch03, swept, answer, words):
    says(ch03.critical(swept, answer), "wrong", words)


def test_runs_that_do_not_settle_it(ch03, swept):
    says(ch03.critical([1, 2], 40), "wrong", "what sweep() returns, not list")
    says(ch03.critical(swept, ...), "not yet", "Replace")
    flat = ch03.sweep.Sweep(swept.batches, swept.rates, swept.steps[:1] / np.array(swept.batches)[:, None, None], {})
    says(ch03.critical(flat, 40), "wrong", "Your runs do not settle it.")
    two = ch03.sweep.Sweep((8, 32), swept.rates[:2], swept.steps[:2], {})
    says(ch03.critical(two, 40), "wrong", "at least 3")


def test_noisy_labels_are_harder_and_the_same_each_time(ch03):
    clean, noisy = ch03.data.digits(), ch03.noisy_digits()
    assert 0.2 < np.mean(clean.y_train != noisy.y_train) < 0.3
    assert np.array_equal(noisy.y_train, ch03.noisy_digits().y_train)
    assert np.array_equal(clean.y_test, noisy.y_test)


# -- the script


def script(replicas, *, rate=lambda replicas: replicas / 16, batch=None, epochs=6, on=None, warmup=0, model=False):
    """The script as a learner mends it; the named arguments are the ways to mend it, and to get it wrong."""
    import keras
    import tensorflow as tf

    from labutils.train import data, devices, models

    x, y = data.digits().x_train, data.digits().y_train
    batch, rate = batch or 32 * replicas, rate(replicas)
    with devices.mirrored(on or replicas).scope():
        mlp = models.mlp(seed=0)
        if warmup:
            rate = keras.optimizers.schedules.PolynomialDecay(1 / 16, warmup, rate)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        mlp.compile(keras.optimizers.SGD(rate), loss, jit_compile=False)
    batches = tf.data.Dataset.from_tensor_slices((x, y)).batch(batch).repeat()
    history = mlp.fit(batches, epochs=epochs, steps_per_epoch=len(x) // batch, shuffle=False, verbose=0)
    return mlp if model else history


@pytest.mark.parametrize("how", [{}, {"warmup": 20}], ids=["linear", "warm-up"])
def test_a_script_is_mended(ch03, how):
    says(ch03.mended(partial(script, **how)), "right", "on 1 replica and")


@pytest.mark.parametrize(
    "how, words",
    [
        ({"rate": lambda replicas: 1 / 16}, "On 4 replica(s) the test loss is"),
        ({"rate": lambda replicas: replicas / 16 * replicas}, "which rate does your code arrive at?"),
        ({"rate": lambda replicas: 1 / 4}, "On one replica the job must stay what it was"),
        ({"batch": 64}, "On 4 replica(s) it took 120 steps; 6 epochs at a global batch of 128 are 60"),
        ({"epochs": 1}, "it took 10 steps"),
        ({"on": 1, "epochs": 1}, "lives on 1 replica(s), not 4"),
        ({"model": True, "epochs": 1}, "Return what fit returns, not Sequential"),
    ],
    ids=["forgot", "twice", "constant", "small batch", "epochs", "one device", "model"],
)
def test_a_script_is_still_wrong(ch03, how, words):
    says(ch03.mended(partial(script, **how)), "wrong", words)


def test_a_script_of_another_kind(ch03):
    says(ch03.mended(...), "not yet", "Replace")
    says(ch03.mended(lambda replicas: ...), "not yet", "returns nothing")
    says(ch03.mended(lambda: 3), "wrong", "TypeError")


# -- the schedule


def cosine(total, warmup, highest, *, start=0.0, steps=None, warm=None, alpha=0.0):
    import keras

    return keras.optimizers.schedules.CosineDecay(
        start * highest,
        total - warmup if steps is None else steps(total, warmup),
        alpha=alpha,
        warmup_target=highest,
        warmup_steps=warm(warmup) if warm else warmup,
    )


def by_hand(total, warmup, highest):
    def rate(step):
        if step < warmup:
            return highest * step / warmup
        return highest / 2 * (1 + np.cos(np.pi * min(1, (step - warmup) / (total - 1 - warmup))))

    return rate


def line(total, warmup, highest):
    return lambda step: highest * min(step / warmup, max(0, (total - step) / (total - warmup)) ** 2)


@pytest.mark.parametrize("answer", [cosine, partial(cosine, start=0.1), by_hand], ids=["keras", "start", "by hand"])
def test_a_schedule(ch03, answer):
    says(ch03.schedule(answer), "right", "every step of the run is used")


@pytest.mark.parametrize(
    "answer, words",
    [
        (partial(cosine, steps=lambda total, warmup: total), "is left at the last step"),
        (partial(cosine, steps=lambda total, warmup: total // 2 - warmup // 2), "the steps after it train nothing"),
        (partial(cosine, alpha=0.1), "is left at the last step"),
        (partial(cosine, warm=lambda warmup: 2 * warmup), "There warm-up should end"),
        (partial(cosine, start=1.0), "does not grow in a line"),
        (line, "a cosine has 0.5"),
        (lambda total, warmup, highest: highest, "yours is float"),
        (lambda total, warmup, highest: lambda step: float("nan"), "not a number"),
        (lambda total: 3, "TypeError"),
    ],
    ids=["total", "early", "alpha", "late", "cold", "line", "number", "nan", "arguments"],
)
def test_a_schedule_of_another_shape(ch03, answer, words):
    says(ch03.schedule(answer), "wrong", words)


def test_no_schedule_yet(ch03):
    says(ch03.schedule(lambda total, warmup, highest: ...), "not yet", "returns nothing")
