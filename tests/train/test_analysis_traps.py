"""Each trap of tf.data is recognised where it snaps, and not where it is mended."""

import ast
import time

import numpy as np
import pytest
import tensorflow as tf

from labutils import traps
from labutils.train.pipelines.analysis import analyse

numbers = tf.data.Dataset.range


def functions_of(trap):
    """The functions that the repro of a trap defines, so that what is recognised is what the registry shows."""
    tree = ast.parse(traps.TRAPS[trap].repro)
    tree.body = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    found = {"tf": tf, "np": np}
    exec(compile(tree, trap, "exec"), found)  # our own text, from the registry
    return found


IN_MAP = functions_of("python-in-map")
in_python = IN_MAP["in_python"]
in_tensorflow = tf.autograph.experimental.do_not_convert(IN_MAP["in_tensorflow"])


def augment(x):
    return tf.cast(x, tf.float32) + tf.random.uniform(())


def augment_in_python(x):
    return tf.numpy_function(lambda v: np.float32(v + np.random.random()), [x], tf.float32)


def load(i):
    return tf.numpy_function(lambda i: i, [i], tf.int64)


def decode(i):
    time.sleep(0.002)
    return np.zeros((8, 8), np.float32)


def decoded(i):
    return tf.ensure_shape(tf.numpy_function(decode, [i], tf.float32), (8, 8))


def many(n=20_000):
    return tf.data.Dataset.from_tensors(np.int64(n)).repeat(1000)


def without_injection(dataset):
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    return dataset.with_options(options)


LABELS = np.repeat([0, 1], 3000)
PICTURES = np.zeros((6000, 2), np.float32)

CASES = {  # trap: (where it snaps, where it is mended)
    "python-in-map": (
        lambda: many().map(in_python, num_parallel_calls=4),
        lambda: many().map(in_tensorflow, num_parallel_calls=4),
    ),
    "cache-after-augmentation": (lambda: numbers(100).map(augment).cache(), lambda: numbers(100).cache().map(augment)),
    "cache-never-filled": (
        lambda: numbers(20).map(load).cache().take(10),
        lambda: numbers(20).map(load).take(10).cache(),
    ),
    "shuffle-after-decode": (
        lambda: numbers(2000).map(decoded, num_parallel_calls=8).shuffle(200).batch(8),
        lambda: numbers(2000).shuffle(200).map(decoded, num_parallel_calls=8).batch(8),
    ),
    "prefetch-injected": (lambda: many().map(augment), lambda: without_injection(many().map(augment)).prefetch(2)),
    "shuffle-buffer-too-small": (
        lambda: tf.data.Dataset.from_tensor_slices(LABELS).shuffle(100),
        lambda: tf.data.Dataset.from_tensor_slices(LABELS).shuffle(len(LABELS)),
    ),
}


def recognised(dataset, **how):
    return {finding.trap or finding.name: finding for finding in analyse(dataset, **{"seconds": 0.4, **how}).findings}


@pytest.mark.parametrize("trap", CASES)
class TestTraps:
    def test_is_recognised(self, trap):
        finding = recognised(CASES[trap][0]())[trap]
        assert finding.trap in traps.TRAPS and finding.sentence and finding.remedy

    def test_is_not_recognised_once_mended(self, trap):
        assert trap not in recognised(CASES[trap][1]())


def test_the_lock_is_named():
    assert "Python's lock (GIL)" in recognised(many().map(in_python, num_parallel_calls=4))["python-in-map"].sentence
    assert "GIL" in recognised(many().map(in_python))["python-in-map"].sentence  # parallel or not


def test_a_little_python_beside_much_work_is_left_alone():
    much = many(10_000_000).map(in_tensorflow).map(in_tensorflow).map(in_tensorflow)
    assert "python-in-map" not in recognised(much.map(load))


def test_a_cache_behind_random_python_is_seen_by_comparing_two_passes():
    finding = recognised(numbers(50).map(augment_in_python).cache())["cache-after-augmentation"]
    assert "Two passes over what feeds it differ" in finding.sentence
    assert "cache-after-augmentation" not in recognised(numbers(50).map(load).cache())


@pytest.mark.parametrize(
    "chain, filled",
    [
        (lambda data: data.cache().batch(3), True),
        (lambda data: data.cache().batch(3, drop_remainder=True), True),
        (lambda data: data.cache().shuffle(20).repeat().take(100), True),  # it is read to its end by the way
        (lambda data: data.cache().take(20), True),
        (lambda data: data.cache().repeat(), True),
        (lambda data: data.repeat().cache(), False),
        (lambda data: data.cache().batch(4).take(3), False),
        (lambda data: data.cache().take(10).repeat(), False),
    ],
)
def test_a_cache_that_is_read_to_its_end_is_left_alone(chain, filled):
    found = recognised(chain(numbers(20).map(lambda x: x + 1)), seconds=0.2)
    assert ("cache-never-filled" not in found) == filled


def test_a_peek_is_harmless():
    dataset = numbers(20).cache()
    next(iter(dataset))
    assert "cache-never-filled" not in recognised(dataset, seconds=0.2)


def test_steps_are_held_against_what_there_is():
    finding = recognised(numbers(40).batch(10), steps=6, seconds=0.2)["input-ran-out"]
    assert "delivers 4" in finding.sentence and "6 are asked" in finding.sentence and "repeat()" in finding.remedy
    for enough in (numbers(60).batch(10), numbers(40).batch(10).repeat()):
        assert "input-ran-out" not in recognised(enough, steps=6, seconds=0.2)
    unknown = numbers(40).filter(lambda x: x > 0).batch(10)
    assert "delivers 4" in recognised(unknown, steps=6, seconds=0.2)["input-ran-out"].sentence
    assert "cache-never-filled" in recognised(numbers(40).cache(), steps=6, seconds=0.2)


def test_random_numbers_that_start_over_with_every_epoch_are_told():
    tf.random.set_seed(0)
    dataset = numbers(9).map(augment)
    assert [float(x) for x in dataset] == [float(x) for x in dataset]
    assert "augmentation-repeats" in recognised(dataset, seconds=0.2)
    again = dataset.repeat(2)
    first, second = np.split(np.array([float(x) for x in again]), 2)
    assert not np.array_equal(first, second)
    assert "augmentation-repeats" not in recognised(again, seconds=0.2)


def test_random_numbers_without_a_seed_are_left_alone():
    keep = tf.random.Generator.from_seed(1)
    assert "augmentation-repeats" not in recognised(numbers(9).map(lambda x: keep.uniform(())), seconds=0.2)


def test_a_frozen_order_is_told():
    assert "cache-after-shuffle" in recognised(numbers(9).shuffle(9).cache(), seconds=0.2)


def test_labels_beside_pictures_are_looked_at():
    sorted_by_class = tf.data.Dataset.from_tensor_slices((PICTURES, LABELS))
    finding = recognised(sorted_by_class.shuffle(100).batch(10))["shuffle-buffer-too-small"]
    assert "3,000 or more" in finding.sentence and "label 0" in finding.sentence
    mixed = tf.data.Dataset.from_tensor_slices((PICTURES, LABELS[np.random.default_rng(0).permutation(6000)]))
    assert "shuffle-buffer-too-small" not in recognised(mixed.shuffle(100))


@pytest.mark.parametrize(
    "dataset",
    [
        lambda: numbers(500).shuffle(10),  # indexes, no labels
        lambda: tf.data.Dataset.from_tensor_slices(np.zeros(500, np.int64)).shuffle(10),  # nothing to be mixed
        lambda: tf.data.Dataset.from_tensor_slices((LABELS, PICTURES)).shuffle(10),  # pictures last
    ],
    ids=["indexes", "one class", "no label last"],
)
def test_what_are_no_sorted_labels_is_left_alone(dataset):
    assert "shuffle-buffer-too-small" not in recognised(dataset(), seconds=0.3)


def test_a_shuffle_of_cheap_elements_is_left_alone():
    assert "shuffle-after-decode" not in recognised(numbers(10**6).map(lambda x: x + 1).shuffle(50).batch(8))
