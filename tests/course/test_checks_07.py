"""Lab 07: when compiling pays, one kernel, buckets and padding, and decisions."""

import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("machine")


@pytest.fixture(scope="module")
def tf(machine):
    import tensorflow

    return tensorflow


@pytest.fixture(scope="module")
def ch07(machine):
    from labutils.course.checks import ch07

    return ch07


def says(verdict, state, words):
    assert verdict.state == state and words in verdict.sentence, verdict


def test_worth_the_wait(ch07):
    says(ch07.worth_the_wait(1500, 135, 2955), "right", "slower with XLA")
    says(ch07.worth_the_wait(..., ..., ...), "not yet", "Replace")


@pytest.mark.parametrize(
    "answers, words",
    [
        ((375, 135, 2955), "number of steps is not 375: it is the compilation over what a step saves"),
        ((1500, 90, 2955), "time of the test is not 90"),
        ((1500, 135, 3000), "less the compilation"),
        (("1500", 135, 2955), "a number, not '1500'"),
    ],
)
def test_wrong_times(ch07, answers, words):
    says(ch07.worth_the_wait(*answers), "wrong", words)


def swish(tf, x):
    x = 0.5 * x + 0.1
    return tf.clip_by_value(x * tf.sigmoid(x), -0.1, 0.4)


def test_one_kernel(ch07, tf):
    says(ch07.one_kernel(tf.function(lambda x: swish(tf, x), jit_compile=True)), "right", "One kernel")

    @tf.function(jit_compile=True)
    def otherwise(x):
        x = tf.multiply(x, 0.5) + 0.1
        return tf.minimum(tf.maximum(x / (1 + tf.exp(-x)), -0.1), 0.4)

    says(ch07.one_kernel(otherwise), "right", "One kernel")


def test_no_single_kernel(ch07, tf):
    def compiled(function):
        return tf.function(function, jit_compile=True)

    says(ch07.one_kernel(tf.function(lambda x: swish(tf, x))), "wrong", "with jit_compile=True")
    says(ch07.one_kernel(lambda x: swish(tf, x)), "wrong", "with jit_compile=True")
    says(ch07.one_kernel(compiled(lambda x: x)), "wrong", "The numbers differ by up to")
    says(ch07.one_kernel(compiled(lambda x: tf.reduce_sum(x))), "wrong", "Return a tensor of shape (64, 32)")
    in_python = compiled(lambda x: tf.ensure_shape(tf.numpy_function(lambda a: a, [swish(tf, x)], tf.float32), x.shape))
    says(ch07.one_kernel(in_python), "wrong", "PyFunc")
    with_product = compiled(lambda x: swish(tf, x) @ tf.eye(32))
    says(ch07.one_kernel(with_product), "wrong", "kernels of it")
    says(ch07.one_kernel(lambda x: None), "not yet", "Fill in")


@pytest.mark.parametrize("buckets", [[18, 34, 50, 66, 82, 100], (20, 40, 60, 80, 100), list(range(17, 103, 17))])
def test_buckets(ch07, buckets):
    says(ch07.few_and_tight(buckets), "right", "of the work is padding")


@pytest.mark.parametrize(
    "buckets, words",
    [
        ([100], "of the work is padding; at most 25%"),
        (list(range(1, 101)), "100 programs; at most 6"),
        ([20, 40, 60, 80], "No bucket holds a length of 100"),
        ([], "No bucket holds"),
        ([20.5, 100], "whole numbers"),
        (100, "whole numbers"),
    ],
)
def test_wrong_buckets(ch07, buckets, words):
    says(ch07.few_and_tight(buckets), "wrong", words)


def test_without_padding(ch07, tf):
    def masked(padded, lengths):
        places = tf.range(tf.shape(padded)[1])[tf.newaxis]
        return tf.reduce_sum(tf.where(places < lengths[:, tf.newaxis], padded, 0.0) ** 2, axis=1)

    says(ch07.without_padding(masked), "right", "does not count")


def test_with_padding(ch07, tf):
    says(ch07.without_padding(lambda padded, lengths: tf.reduce_sum(padded**2, axis=1)), "wrong", "counts the padding")
    says(ch07.without_padding(lambda padded, lengths: tf.reduce_sum(padded**2)), "wrong", "one sum for each row")
    says(ch07.without_padding(lambda padded, lengths: tf.reduce_sum(padded, axis=1)), "wrong", "The sums differ")

    def in_numpy(padded, lengths):
        def sums(rows, many):
            return np.array([np.sum(row[:count] ** 2) for row, count in zip(rows, many, strict=True)], np.float32)

        return tf.ensure_shape(tf.numpy_function(sums, [padded, lengths], tf.float32), (6,))

    says(ch07.without_padding(in_numpy), "wrong", "XLA cannot compile it")


def test_decisions(ch07):
    says(ch07.decisions("float32", "XLA, bfloat16", "float16"), "right", "fastest of those that are right")
    says(ch07.decisions("XLA", "XLA, bfloat16", "float16"), "wrong", "no setting is faster")
    says(ch07.decisions("float32", "bfloat16", "float16"), "wrong", "another is faster")
    says(ch07.decisions("float32", "XLA, bfloat16", "bfloat16"), "wrong", "ends at another loss")
    says(ch07.decisions("float32", "int8", "float16"), "wrong", "'int8' was not tried on the server")
    assert len(ch07.machines().rows) == 15
