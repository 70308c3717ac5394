"""Lab 04: each check accepts every right answer, and says of a wrong one what is wrong."""

from functools import partial

import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("machine")


@pytest.fixture(scope="module")
def tf(machine):
    import tensorflow

    return tensorflow


@pytest.fixture(scope="module")
def ch04(machine):
    from labutils.course.checks import ch04

    return ch04


def says(verdict, state, words):
    assert verdict.state == state and words in verdict.sentence, verdict


@pytest.mark.parametrize("answers", [(4000, 36, 20), (4000.0, np.float64(36.2), 20.1)])
def test_the_numbers_of_a_job(ch04, answers):
    says(ch04.numbers_of_a_job(*answers), "right", "The longer one is the step")


@pytest.mark.parametrize(
    "answers, words",
    [
        ((500, 36, 20), "limit in samples/s is not 500: it is 8 cores over 2 ms of one core a sample"),
        ((4000, 20, 20), "without prefetch in ms is not 20: it is the sum"),
        ((4000, 36, 16), "with prefetch in ms is not 16: it is the longer"),
        (("4000", 36, 20), "a number, not '4000'"),
    ],
)
def test_wrong_numbers_of_a_job(ch04, answers, words):
    says(ch04.numbers_of_a_job(*answers), "wrong", words)


def test_no_numbers_yet(ch04):
    says(ch04.numbers_of_a_job(..., ..., ...), "not yet", "Replace")


def test_standardised_in_tensorflow(ch04, tf):
    says(ch04.in_tensorflow(lambda x: (x - tf.reduce_mean(x)) / tf.math.reduce_std(x)), "right", "same values")

    def by_moments(x):
        mean, variance = tf.nn.moments(x, axes=[0, 1, 2])
        return (x - mean) * tf.math.rsqrt(variance)

    says(ch04.in_tensorflow(by_moments), "right", "same values")


def test_not_quite_standardised(ch04, tf):
    python = lambda x: tf.ensure_shape(tf.numpy_function(ch04.standardise_in_numpy, [x], tf.float32), x.shape)  # noqa: E731
    says(ch04.in_tensorflow(python), "wrong", "still calls Python")
    says(ch04.in_tensorflow(lambda x: x - tf.reduce_mean(x)), "wrong", "The values differ")
    # tf.image's own bounds the deviation from below, but not here; per channel is another thing
    per_channel = lambda x: (x - tf.reduce_mean(x, [0, 1])) / tf.math.reduce_std(x, [0, 1])  # noqa: E731
    says(ch04.in_tensorflow(per_channel), "wrong", "Each channel was standardised by itself")
    says(ch04.in_tensorflow(ch04.standardise_in_numpy), "wrong", "AttributeError: 'SymbolicTensor' object has no")
    says(ch04.in_tensorflow(lambda x: tf.reduce_mean(x)), "wrong", "Return one float32 tensor of shape (24, 24, 3)")
    says(ch04.in_tensorflow(lambda x: ...), "not yet", "returns nothing")


def cached(numbers, load, augment, order):
    steps = {"take": lambda d: d.take(10), "load": lambda d: d.map(load), "cache": lambda d: d.cache()}
    steps["augment"] = lambda d: d.map(augment)
    for step in order.split():
        numbers = steps[step](numbers)
    return numbers


@pytest.mark.parametrize("order", ["take load cache augment"])
def test_a_cache_in_its_place(ch04, order):
    says(ch04.cached(partial(cached, order=order)), "right", "Loaded once")


def test_a_fixed_seed_does_not_mislead_the_check(ch04, tf):
    tf.random.set_seed(1)
    says(ch04.cached(partial(cached, order="take load cache augment")), "right", "Loaded once")
    says(ch04.cached(partial(cached, order="take load augment cache")), "wrong", "the cache came too late")


@pytest.mark.parametrize(
    "order, words",
    [
        ("load cache take augment", "Three epochs loaded 30 elements"),
        ("take load augment cache", "the cache came too late"),
        ("take load augment", "Nothing keeps what was loaded"),
        ("load cache augment", "An epoch has 32 elements"),
        ("take load cache augment augment", "each augmented once"),
        ("take load cache augment augment augment", "each augmented once"),
    ],
)
def test_a_cache_elsewhere(ch04, order, words):
    says(ch04.cached(partial(cached, order=order)), "wrong", words)


def test_no_cache_at_all(ch04):
    says(ch04.cached(lambda numbers, load, augment: 3), "wrong", "Return a tf.data.Dataset, not int")
    batched = lambda numbers, load, augment: numbers.take(10).map(load).batch(5)  # noqa: E731
    says(ch04.cached(batched), "wrong", "do not batch")
    says(ch04.cached(...), "not yet", "Replace")


def pipeline(paths, labels, *, ch04, tf, calls=-1, python=False, cache="end", mix=192, used=192, scale=1.0, batch=32):
    """The mended pipeline; the named arguments are the ways to get it wrong."""

    def prepared(path, label):
        image, label = ch04.load_photo(path, label)
        if python:
            image = tf.ensure_shape(tf.numpy_function(ch04.standardise_in_numpy, [image], tf.float32), (128, 128, 3))
        else:
            image = (image - tf.reduce_mean(image)) / tf.math.reduce_std(image)
        return image * scale, label

    data = tf.data.Dataset.from_tensor_slices((paths, labels)).take(used).map(prepared, num_parallel_calls=calls)
    if cache == "end":
        data = data.cache()
    if mix:
        data = data.shuffle(mix)
    if cache == "shuffled":
        data = data.cache()
    return data.batch(batch)


def test_a_pipeline_is_mended(ch04, tf):
    says(ch04.mended(partial(pipeline, ch04=ch04, tf=tf)), "right", "times as fast")
    says(ch04.mended(partial(pipeline, ch04=ch04, tf=tf, batch=16)), "right", "times as fast")


@pytest.mark.parametrize(
    "how, words",
    [
        ({"cache": None, "python": True, "calls": 1}, "It still calls Python"),
        ({"cache": None, "calls": 1}, "Every epoch decodes all files again"),
        ({"mix": 0}, "one class only"),
        ({"cache": "shuffled"}, "Two epochs come in the same order"),
        ({"used": 200}, "An epoch has 200 images; the given one has 192"),
        ({"scale": 2.0}, "not"),
        ({"python": True}, "It still calls Python"),
        ({"calls": None}, "makes one call at a time"),
    ],
    ids=["python", "no cache", "sorted", "frozen order", "more", "scaled", "python behind speed", "sequential"],
)
def test_a_pipeline_is_still_faulty(ch04, tf, how, words):
    says(ch04.mended(partial(pipeline, ch04=ch04, tf=tf, **how)), "wrong", words)


def test_the_given_pipeline_is_faulty(ch04):
    says(ch04.mended(ch04.faulty), "wrong", "one class only")


def test_another_kind_of_answer(ch04, tf):
    says(ch04.mended(lambda paths, labels: [1]), "wrong", "Return a tf.data.Dataset, not list")
    says(ch04.mended(lambda paths, labels: pipeline(paths, labels, ch04=ch04, tf=tf).repeat()), "wrong", "never ends")
    says(ch04.mended(lambda paths, labels: pipeline(paths, labels, ch04=ch04, tf=tf).unbatch()), "wrong", "is a batch")
    says(ch04.mended(lambda paths, labels: pipeline(paths[64:], labels[64:], ch04=ch04, tf=tf)), "wrong", "labels")
    says(ch04.mended(...), "not yet", "Replace")
