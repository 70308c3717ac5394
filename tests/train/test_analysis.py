"""The analysis of a pipeline: a planted slow stage is named, and what it proposes keeps its promise."""

import _thread
import threading
import time

import numpy as np
import pytest
import tensorflow as tf

from labutils.train.devices import usable_cores
from labutils.train.pipelines.analysis import analyse
from labutils.train.pipelines.analysis.chain import chain
from labutils.train.pipelines.analysis.looking import Looker
from labutils.train.pipelines.analysis.reading import Reader

SECONDS = 0.35  # of each look
TRIES = 4  # where a rate is held against another, the machine being busy now and then


def slow(x):
    """About a millisecond of one core; it draws at random, so that tf.data does not run it in parallel by itself."""
    matrix = tf.fill((100, 100), tf.reduce_max(tf.cast(x, tf.float32)) + tf.random.uniform(()))
    for _ in range(12):
        matrix = tf.tanh(matrix @ matrix)
    return x + tf.cast(tf.reduce_max(matrix), x.dtype)


def same_slow(x):
    """As slow as that, and the same in every epoch."""
    matrix = tf.fill((100, 100), tf.cast(x, tf.float32))
    for _ in range(12):
        matrix = tf.tanh(matrix @ matrix)
    return x + tf.cast(tf.reduce_max(matrix), x.dtype)


def quick(x):
    return x + 1


def positive(x):
    return slow(tf.cast(x, tf.float32)) > -9.0


def sleep(x):
    time.sleep(0.004)
    return x


def asleep(x):
    return tf.ensure_shape(tf.numpy_function(sleep, [x], tf.int64), ())


def count_up(x):
    total = 0
    for k in range(30_000):
        total += k
    return np.int64(x)


def in_python(x):
    return tf.ensure_shape(tf.numpy_function(count_up, [x], tf.int64), ())


def squares():
    for k in range(1_000_000):
        yield count_up(k)


def endless():
    return tf.data.Dataset.range(1_000_000).repeat()


def look(dataset, **how):
    return analyse(dataset, **{"seconds": SECONDS, "deadline": 20.0, **how})


def names(entries):
    return [entry.name for entry in entries]


def the(entries, name):
    return next(entry for entry in entries if entry.name == name)


def stage(analysis, name):
    return the(analysis.stages, name)


# --- the bound ---


@pytest.mark.parametrize(
    "dataset, slowest",
    [
        (lambda: endless().map(slow).map(quick).batch(4), "map(slow)"),
        (lambda: endless().map(quick).map(quick).map(slow).batch(4), "map(slow)"),
        (lambda: endless().map(quick).batch(4).map(slow).prefetch(1), "map(slow)"),
        (lambda: endless().shuffle(8).filter(positive).map(quick).batch(4), "filter(positive)"),
        (lambda: endless().interleave(lambda i: tf.data.Dataset.range(9).map(slow)).batch(2), "interleave(lambda)"),
        (lambda: endless().flat_map(lambda i: tf.data.Dataset.range(9).map(slow)), "flat_map(lambda)"),
        (lambda: tf.data.Dataset.zip((endless(), endless().map(slow))).map(lambda a, b: a), "map(slow)"),
        (
            lambda: tf.data.Dataset.from_generator(squares, output_signature=tf.TensorSpec((), tf.int64)).batch(2),
            "from_generator(squares)",
        ),
    ],
    ids=["first", "later", "behind the batch", "filter", "interleave", "flat_map", "zip", "generator"],
)
def test_the_planted_stage_is_the_bound(dataset, slowest):
    analysis = look(dataset())
    assert slowest in analysis.bound.stages
    assert stage(analysis, slowest).share > 0.6
    assert sum(each.share for each in analysis.stages) == pytest.approx(1)


def test_a_pipeline_that_uses_all_cores_is_at_the_limit():
    analysis = look(endless().map(same_slow, num_parallel_calls=tf.data.AUTOTUNE).batch(2).prefetch(1))
    assert analysis.bound.why == "all cores" and analysis.at_the_limit
    assert "At the machine's limit: do less work per sample, or move it" in repr(analysis)
    assert "parallel" not in names(analysis.remedies)


def test_what_tf_data_runs_in_parallel_by_itself_is_not_proposed():
    analysis = look(endless().map(same_slow).batch(2))
    if usable_cores() > 1:
        assert "parallel by tf.data" in stage(analysis, "map(same_slow)").notes
    assert "parallel" not in names(analysis.remedies)


def test_a_stage_that_waits_is_told_from_one_that_works():
    for _ in range(TRIES):  # where every core is busy, a thread that waits gets its turn late, as one that works
        analysis = look(endless().map(quick).map(asleep).map(slow), seconds=3 * SECONDS)
        waiting = [each.name for each in analysis.stages if "waits" in each.notes]
        if waiting == ["map(asleep)"]:
            break
    assert waiting == ["map(asleep)"]
    assert analysis.limit > 1.5 * analysis.bound.rate  # waiting takes no core
    assert "python-in-map" not in names(analysis.findings)  # waiting calls let go of the lock


def test_the_rate_is_that_of_a_plain_loop():
    dataset = endless().map(asleep).batch(2)
    reading = iter(dataset)
    next(reading)
    start = time.perf_counter()
    for _ in range(20):
        next(reading)
    rate = 20 / (time.perf_counter() - start)
    del reading
    assert look(dataset).rate == pytest.approx(rate, rel=0.35)


def test_the_first_element_is_told_apart_from_the_rate():
    analysis = look(endless().map(asleep).shuffle(50))
    assert analysis.first_latency > 50 * 0.004
    assert analysis.rate > 3 / analysis.first_latency


def test_samples_are_counted_where_there_are_batches():
    analysis = look(endless().map(quick).batch(32).batch(2))
    assert analysis.samples == 64 and analysis.samples_rate == pytest.approx(64 * analysis.rate)
    assert look(endless().batch(8).unbatch()).samples == 1


def test_fast_elements_are_not_bound_by_python_asking_for_them():
    assert look(tf.data.Dataset.range(10**9), seconds=0.6).rate > 100_000


def test_a_cache_serves_the_later_epochs():
    dataset = tf.data.Dataset.range(400).map(same_slow).cache().map(quick).batch(4)
    analysis = look(dataset, seconds=1.0)
    assert analysis.rate > 4 * analysis.first_epoch_rate
    assert "first epoch only" in stage(analysis, "map(same_slow)").notes
    assert "map(same_slow)" not in analysis.bound.stages


# --- the remedies ---


@pytest.mark.parametrize(
    "dataset, name, code",
    [
        (lambda: endless().map(slow).batch(2), "parallel", ".map(slow, num_parallel_calls=tf.data.AUTOTUNE)"),
        (lambda: endless().map(in_python).batch(2), "rewrite-python", ".map(in_python, num_parallel_calls="),
        (lambda: endless().map(asleep), "overlap-waiting", "use_unbounded_threadpool=True"),
        (lambda: endless().map(asleep, num_parallel_calls=8), "overlap-waiting", "use_unbounded_threadpool=True"),
        (lambda: endless().map(quick).batch(64), "batch-first", ".batch(64).map(quick"),
        (lambda: tf.data.Dataset.range(50).map(same_slow).shuffle(9), "cache", ".map(same_slow).cache()"),
        (
            lambda: endless().interleave(lambda i: tf.data.Dataset.range(9).map(slow), cycle_length=2),
            "parallel-interleave",
            ".interleave(lambda, cycle_length=",
        ),
    ],
    ids=["parallel", "python", "waiting", "waiting in a pool", "small calls", "cache", "interleave"],
)
def test_the_first_remedy_fits_the_fault(dataset, name, code):
    analysis = look(dataset())
    if usable_cores() == 1 and name in {"parallel", "rewrite-python", "parallel-interleave"}:
        pytest.skip("one core shares nothing")
    first = analysis.remedies[0]
    assert first.name == name and code in first.code
    assert first.rate > analysis.rate and first.why
    rates = [each.rate for each in analysis.remedies]
    assert rates == sorted(rates, reverse=True)


@pytest.mark.skipif(usable_cores() < 2, reason="one core shares nothing")
def test_parallel_calls_are_expected_to_give_what_all_cores_can():
    # Whether the cores keep that promise is for `bench`: here other tests run on them.
    analysis = look(endless().map(slow).batch(4))
    all_cores = usable_cores() / sum(each.seconds for each in analysis.stages)
    # Costs and rate are measured one after the other, so what others take from the cores parts them a little.
    assert 0.5 * all_cores < analysis.remedies[0].rate < 1.2 * all_cores


def test_the_rate_expected_of_overlapped_waiting_comes_true():
    def after():
        return endless().map(asleep, num_parallel_calls=16, use_unbounded_threadpool=True)

    def comes_true():  # who waits needs no core, yet gets its turn late where every core is busy
        expected, found = look(endless().map(asleep)).remedies[0].rate, look(after()).rate
        return 0.6 < expected / found < 1.7

    assert any(comes_true() for _ in range(TRIES))


def test_a_cache_that_memory_cannot_hold_is_not_proposed(monkeypatch):
    class Little:
        available = 1000

    monkeypatch.setattr("labutils.train.pipelines.analysis.caching.psutil.virtual_memory", Little)
    analysis = look(tf.data.Dataset.range(500).map(same_slow))
    assert "cache" not in names(analysis.remedies)
    assert any("4.00 kB of memory, of which 1.00 kB are free" in note for note in analysis.notes)


def test_a_cache_of_unknown_size_is_only_spoken_of():
    analysis = look(tf.data.Dataset.range(100).flat_map(lambda i: tf.data.Dataset.range(9).map(same_slow)))
    assert "cache" not in names(analysis.remedies)
    assert any("count them once" in note for note in analysis.notes)


def test_what_python_does_is_not_to_be_cached_unseen():
    """It may draw at random, and a cache behind it would then keep the first epoch's."""
    analysis = look(tf.data.Dataset.range(200).map(in_python).batch(2))
    assert "cache" not in names(analysis.remedies)
    assert any("map(in_python) calls Python" in note and "Compare two epochs" in note for note in analysis.notes)


def test_random_work_is_not_to_be_cached():
    analysis = look(tf.data.Dataset.range(500).map(slow))
    assert "cache" not in names(analysis.remedies) and not any("cache()" in note for note in analysis.notes)


def test_any_order_comes_last_and_promises_nothing():
    analysis = look(endless().map(asleep, num_parallel_calls=2).map(slow))
    assert analysis.remedies[-1].name == "any-order" and "deterministic=False" in analysis.remedies[-1].code
    assert analysis.remedies[-1].rate == pytest.approx(min(each.rate for each in analysis.remedies))


# --- datasets that end, or do not ---


def test_an_endless_dataset_is_said_to_be_endless():
    assert "endless" in repr(look(endless(), seconds=0.2))


def test_an_empty_dataset_is_a_finding():
    analysis = look(tf.data.Dataset.range(3).map(quick).batch(4, drop_remainder=True))
    finding = the(analysis.findings, "empty")
    assert "batch gives none" in finding.sentence and "drop_remainder" in finding.remedy
    assert np.isnan(analysis.rate) and not analysis.remedies and "No rate" in repr(analysis)


def below_five(x):
    with tf.control_dependencies([tf.debugging.assert_less(x, tf.constant(5, tf.int64), message="number too large")]):
        return x * 1


def test_a_dataset_that_raises_is_told_with_element_and_stage():
    analysis = look(tf.data.Dataset.range(100).map(quick).map(below_five).map(quick))
    sentence = the(analysis.findings, "raises").sentence
    assert sentence.startswith("Element 5 raised InvalidArgumentError in map(below_five): ")
    assert "number too large" in sentence and "{{" not in sentence and "Iterator::" not in sentence


def test_a_dataset_that_raises_at_once_is_told_too():
    analysis = look(tf.data.Dataset.range(3).map(lambda i: tf.io.read_file("no-such-file")))
    assert "Element 1 raised NotFoundError in map(lambda): no-such-file" in the(analysis.findings, "raises").sentence


def stuck():
    yield 1
    threading.Event().wait()


def test_an_element_that_never_comes_gives_a_sentence_and_not_a_hang():
    dataset = tf.data.Dataset.from_generator(stuck, output_signature=tf.TensorSpec((), tf.int32)).shuffle(10)
    start = time.perf_counter()
    analysis = look(dataset, deadline=0.5)
    assert time.perf_counter() - start < 10
    assert "No element came for 500 ms" in the(analysis.findings, "blocked").sentence


def test_the_keyboard_interrupts_a_look():
    dataset = tf.data.Dataset.from_generator(stuck, output_signature=tf.TensorSpec((), tf.int32))
    threading.Timer(0.5, _thread.interrupt_main).start()
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        look(dataset, deadline=60.0)
    assert time.perf_counter() - start < 30


@pytest.mark.parametrize("ended", [False, True])
def test_a_pull_never_asks_for_more_than_a_short_pass_has(ended):
    """A look that ends a few elements before the pass does not yet know how short the pass is."""
    dataset = tf.data.Dataset.range(50)
    looker = Looker(chain(dataset), dataset.options(), SECONDS, 20.0, 2)
    reader = Reader(dataset)
    reader.elements, reader.ended = (50 if ended else 47), ended
    assert 1 < looker._each(0.4e-3, reader) <= 12


def test_one_element_is_enough_for_a_rate():
    assert look(tf.data.Dataset.from_tensors(1), seconds=0.2).rate > 0


# --- arguments and text ---


@pytest.mark.parametrize(
    "wrong, advice",
    [([1, 2], "from_tensor_slices"), (iter(tf.data.Dataset.range(2)), "not its iterator")],
    ids=["list", "iterator"],
)
def test_what_is_no_dataset_is_refused(wrong, advice):
    with pytest.raises(TypeError, match=advice):
        analyse(wrong)


def test_a_distributed_dataset_is_refused():
    strategy = tf.distribute.OneDeviceStrategy("CPU:0")
    distributed = strategy.experimental_distribute_dataset(tf.data.Dataset.range(2))
    if isinstance(distributed, tf.data.Dataset):
        pytest.skip("one device is not distributed over")

    with pytest.raises(TypeError, match="before experimental_distribute_dataset"):
        analyse(distributed)


@pytest.mark.parametrize("wrong", [{"seconds": 0}, {"deadline": -1}, {"steps": 0.5}])
def test_numbers_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        analyse(tf.data.Dataset.range(2), **wrong)


def test_it_reads_well():
    analysis = look(endless().map(slow).batch(4))
    text, page = repr(analysis), analysis._repr_html_()
    for part in ("samples/s", "map(slow)", "random", "Bound by", "What to try"):
        assert part in text and part in page
    assert "<script" not in page and page.count("<div>") == page.count("</div>")
