"""Looking at a dataset changes nothing: its next epochs are those of a dataset that nobody has looked at."""

import os
import random

import numpy as np
import pytest
import tensorflow as tf

from labutils.train.pipelines.analysis import analyse, copies
from labutils.train.pipelines.analysis.chain import chain

numbers = tf.data.Dataset.range


def half(x):
    return tf.cast(x, tf.float32) / 2


def drawn(x):
    return half(x) + tf.random.uniform(())


def drawn_with_seed(x):
    return half(x) + tf.random.uniform((), seed=4)


def with_generator():
    generator = tf.random.Generator.from_seed(1)
    return numbers(8).map(lambda x: half(x) + generator.uniform(()))


def permuted():
    return iter(np.random.permutation(8))


def drawn_in_python():
    return iter([random.random() for _ in range(8)])


def generated(function, dtype):
    return tf.data.Dataset.from_generator(function, output_signature=tf.TensorSpec((), dtype))


UNTOUCHED = {
    "shuffle": lambda: numbers(20).shuffle(20, seed=1),
    "shuffle without a seed": lambda: numbers(20).shuffle(20),
    "shuffle, always the same": lambda: numbers(20).shuffle(20, seed=1, reshuffle_each_iteration=False),
    "shuffle in the middle": lambda: (
        numbers(20).shuffle(9, seed=1).map(half, num_parallel_calls=2).batch(3).prefetch(2)
    ),
    "two shuffles": lambda: numbers(20).shuffle(20, seed=1).map(half).repeat(2).shuffle(5, seed=2),
    "cache": lambda: numbers(20).map(half).cache().shuffle(20, seed=1).batch(4),
    "cached shuffle": lambda: numbers(20).shuffle(20, seed=1).cache(),
    "seeded map": lambda: numbers(8).map(drawn_with_seed),
    "map under a global seed": lambda: numbers(8).shuffle(8).map(drawn).batch(2),
    "cached random map": lambda: numbers(8).map(drawn_with_seed).cache(),
    "generator of TensorFlow": with_generator,
    "NumPy's global state": lambda: generated(permuted, tf.int64),
    "Python's global state": lambda: generated(drawn_in_python, tf.float64),
    "random dataset": lambda: tf.data.Dataset.random(seed=4, rerandomize_each_iteration=True).take(6),
    "zip": lambda: tf.data.Dataset.zip((numbers(8).shuffle(8, seed=1), numbers(8).shuffle(8, seed=2))),
    "interleave": lambda: numbers(4).shuffle(4, seed=1).interleave(lambda i: numbers(i + 1).shuffle(4, seed=2)),
    "choice": lambda: tf.data.Dataset.sample_from_datasets([numbers(9), numbers(9).shuffle(9, seed=1)], seed=2),
    "options": lambda: numbers(20).shuffle(20, seed=1).with_options(tf.data.Options()).map(half),
}


def epochs(dataset, count=3):
    return [[tf.nest.map_structure(lambda t: t.numpy().tolist(), each) for each in dataset] for _ in range(count)]


def seeded(build):
    tf.random.set_seed(7)
    np.random.seed(3)
    random.seed(5)
    return build()


@pytest.mark.parametrize("build", UNTOUCHED.values(), ids=UNTOUCHED)
def test_the_next_epochs_are_those_of_a_dataset_nobody_looked_at(build):
    expected = epochs(seeded(build))
    dataset = seeded(build)
    analyse(dataset, seconds=0.1)
    assert epochs(dataset) == expected


def test_between_two_epochs_it_changes_nothing_either():
    def build():
        return numbers(20).shuffle(20, seed=1).batch(4)

    expected, dataset = epochs(build()), build()
    seen = epochs(dataset, 1)
    analyse(dataset, seconds=0.1)
    assert seen + epochs(dataset, 2) == expected


COPIED = {
    "concatenate": lambda: numbers(3).shuffle(3, seed=1).concatenate(numbers(2)),
    "parallel interleave": lambda: (
        numbers(3).shuffle(3, seed=1).interleave(lambda i: numbers(i), cycle_length=2, num_parallel_calls=2)
    ),
    "flat_map": lambda: numbers(3).shuffle(3, seed=1).flat_map(lambda i: numbers(2)),
    "choosing": lambda: numbers(9).shuffle(3, seed=1).filter(lambda i: i > 2).take(5).skip(1).shard(2, 0),
    "padded batch": lambda: numbers(4).shuffle(4, seed=1).map(lambda i: tf.ones(i)).padded_batch(2),
    "unbatch": lambda: numbers(4).shuffle(4, seed=1).batch(2).unbatch(),
    "rebatch": lambda: numbers(4).shuffle(4, seed=1).batch(4).rebatch(2),
    "window": lambda: numbers(4).shuffle(4, seed=1).window(2).flat_map(lambda window: window.batch(2)),
    "scan": lambda: numbers(4).shuffle(4, seed=1).scan(tf.constant(0, tf.int64), lambda s, x: (s + x, s + x)),
    "take_while": lambda: numbers(4).shuffle(4, seed=1).take_while(lambda x: x < 3),
    "groups": lambda: (
        numbers(6).shuffle(4, seed=1).group_by_window(lambda x: x % 2, lambda k, some: some.batch(2), window_size=2)
    ),
    "unique": lambda: numbers(4).shuffle(4, seed=1).unique(),
    "errors ignored": lambda: numbers(4).shuffle(4, seed=1).ignore_errors(),
    "parallel batch": lambda: numbers(9).shuffle(4, seed=1).batch(2, num_parallel_calls=2),
    "structure": lambda: numbers(5).shuffle(5, seed=1).map(lambda i: {"a": i, "b": (i, half(i))}).batch(2),
    "enumerate": lambda: numbers(5).shuffle(5, seed=1).enumerate(),
}


@pytest.mark.parametrize("build", [*COPIED.values(), *UNTOUCHED.values()], ids=[*COPIED, *UNTOUCHED])
def test_a_copy_gives_what_the_original_would_have_given(build):
    dataset = seeded(build)
    copy = copies.fresh(chain(dataset)[-1])
    state = random.getstate(), np.random.get_state()
    if "random" not in str(build.__code__.co_names) and build is not with_generator:
        first = epochs(copy, 2)
        random.setstate(state[0])
        np.random.set_state(state[1])
        assert first == epochs(dataset, 2)


def test_a_cache_in_memory_is_neither_filled_nor_spoilt():
    calls = []

    def load(i):
        calls.append(i)
        return i

    dataset = numbers(6).map(lambda i: tf.numpy_function(load, [i], tf.int64)).cache()
    analyse(dataset, seconds=0.1)
    calls.clear()
    epochs(dataset, 1)
    assert len(calls) == 6  # the look has not filled it
    epochs(dataset, 2)
    assert len(calls) == 6  # and it is filled since


def test_no_file_of_a_cache_is_written(tmp_path):
    dataset = numbers(500).map(half).cache(str(tmp_path / "cache")).shuffle(9).repeat()
    analyse(dataset, seconds=0.3)
    assert os.listdir(tmp_path) == []


def test_a_cache_that_lies_on_the_disk_is_read_and_left(tmp_path):
    def build():
        return numbers(50).map(half).cache(str(tmp_path / "cache")).batch(5)

    expected = epochs(build(), 1)
    files = {name: (tmp_path / name).stat().st_mtime_ns for name in os.listdir(tmp_path)}
    dataset = build()
    analysis = analyse(dataset, seconds=0.3)
    assert {name: (tmp_path / name).stat().st_mtime_ns for name in os.listdir(tmp_path)} == files
    assert epochs(dataset, 1) == expected
    assert "first epoch only" in next(each.notes for each in analysis.stages if each.name == "map(half)")


def test_a_snapshot_is_not_written(tmp_path):
    analyse(numbers(50).snapshot(str(tmp_path / "snapshot")).map(half), seconds=0.1)
    assert os.listdir(tmp_path) == []


def test_what_python_code_changes_by_itself_is_told():
    analysis = analyse(generated(permuted, tf.int64), seconds=0.1)
    assert any("from_generator(permuted) was run" in note for note in analysis.notes)
    assert not any("was run" in note for note in analyse(numbers(9), seconds=0.1).notes)


def test_a_dataset_that_a_function_has_captured_is_told():
    outside = numbers(5).shuffle(5, seed=1)
    analysis = analyse(numbers(3).flat_map(lambda i: outside), seconds=0.1)
    assert any("a dataset made outside" in note for note in analysis.notes)


def test_a_stage_of_an_unknown_kind_is_told():
    from tensorflow.python.data.experimental.ops import testing

    analysis = analyse(numbers(50).shuffle(5, seed=1).apply(testing.sleep(10)), seconds=0.1)
    assert any("cannot be copied: the dataset itself was read" in note for note in analysis.notes)
    assert analysis.rate > 0
