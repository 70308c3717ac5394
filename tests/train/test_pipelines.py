"""The pipelines' workloads, their clock and the machine's limit."""

import time
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from labutils.theory.pipeline import limit
from labutils.train import pipelines
from labutils.train.pipelines import classic, photos


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    return photos.write(tmp_path_factory.mktemp("photos"), count=32)


def sleepy(seconds, elements=12):
    """Elements that take `seconds` each to come: waiting, so that a busy machine adds little."""
    return tf.data.Dataset.range(elements).map(lambda i: tf.numpy_function(_wait(seconds), [i], tf.int64))


def _wait(seconds):
    def wait(i):
        time.sleep(seconds)
        return i

    return wait


def test_the_photographs_are_of_all_sizes_and_sorted_by_class(few):
    assert len(few.files) == 32 and list(few.labels) == [0] * 16 + [1] * 16
    shapes = {tuple(photos.decode(tf.io.read_file(file)).shape) for file in few.files}
    assert len(shapes) > 20
    assert all(photos.SMALLEST <= side <= photos.LARGEST for high, wide, _ in shapes for side in (high, wide))
    assert all(depth == 3 for _, _, depth in shapes)


def test_the_shards_hold_the_same_photographs_mixed(few):
    assert len(few.shards) == photos.SHARDS
    records = [photos.parse(record) for record in tf.data.TFRecordDataset(list(few.shards))]
    from_files = {tf.io.read_file(file).numpy(): label for file, label in zip(few.files, few.labels, strict=True)}
    assert {jpeg.numpy(): int(label) for jpeg, label in records} == from_files
    assert [int(label) for _, label in records] != sorted(few.labels)


def test_written_once_and_the_same_everywhere(few, tmp_path):
    photos.write.cache_clear()
    before = {file: Path(file).read_bytes() for file in few.files}
    again = photos.write(few.folder.parent, count=32)
    assert again.files == few.files and {file: Path(file).read_bytes() for file in again.files} == before
    elsewhere = photos.write(tmp_path, count=32)
    assert [Path(file).read_bytes() for file in elsewhere.files] == list(before.values())


def test_a_killed_writer_leaves_nothing_that_is_taken_for_done(tmp_path, monkeypatch):
    photos.write.cache_clear()
    monkeypatch.setattr(photos, "_write_shards", lambda *_: (_ for _ in ()).throw(OSError("No space left on device")))
    with pytest.raises(OSError, match=r"cannot be written to .*No space left.*Free some space"):
        photos.write(tmp_path, count=32)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.undo()
    assert len(photos.write(tmp_path, count=32).shards) == photos.SHARDS


def test_the_photographs_appear_all_at_once(tmp_path, monkeypatch):
    photos.write.cache_clear()
    rename, seen = photos.os.rename, []

    def watched(made, home):
        seen.append((home.exists(), len(list(Path(made).rglob("*.jpg"))), len(list(Path(made).glob("*.tfrecord")))))
        rename(made, home)

    monkeypatch.setattr(photos.os, "rename", watched)
    photos.write(tmp_path, count=32)
    assert seen == [(False, 32, photos.SHARDS)]


@pytest.mark.parametrize("count", [31, 6, 0])
def test_a_count_that_cannot_be_is_refused(tmp_path, count):
    with pytest.raises(ValueError, match="count must be even"):
        photos.write(tmp_path, count=count)


def test_an_augmented_photograph_is_another_one_in_range(few):
    image = photos.resize(photos.decode(tf.io.read_file(few.files[0])))
    assert image.shape == (128, 128, 3) and image.dtype == tf.float32
    assert float(tf.reduce_min(image)) >= 0 and float(tf.reduce_max(image)) <= 1
    changed = [photos.augment(image).numpy() for _ in range(4)]
    assert not any(np.array_equal(changed[0], other) for other in changed[1:])
    assert all(np.abs(other - image).min() <= 0.1 + 1e-6 for other in changed)


def test_the_classic_workload_resizes_one_image_or_a_batch_alike():
    some = classic.images()[:3]
    assert classic.images().shape == (classic.COUNT, 32, 32, 3) and not classic.images().flags.writeable
    together = classic.resize(some).numpy()
    assert together.shape == (3, 64, 64, 3) and together[0].nbytes == classic.BYTES_OUT
    for image, resized in zip(some, together, strict=True):
        np.testing.assert_allclose(classic.resize(image), resized, atol=1e-6)
    assert int(classic.source().cardinality()) == classic.BATCH * classic.BATCHES


def test_as_written_nothing_is_added():
    written = pipelines.as_written(tf.data.Dataset.range(4)).options()
    assert written.experimental_optimization.apply_default_optimizations is False
    assert written.experimental_optimization.inject_prefetch is False
    assert written.autotune.enabled is False
    options = tf.data.Options()
    options.autotune.enabled = True
    options.threading.private_threadpool_size = 3
    kept = pipelines.as_written(tf.data.Dataset.range(4).with_options(options)).options()
    assert kept.autotune.enabled is True and kept.threading.private_threadpool_size == 3


def test_the_dataset_itself_stays_as_it_was():
    plain = tf.data.Dataset.range(4)
    pipelines.as_written(plain), pipelines.one_core(plain)
    assert plain.options().autotune.enabled is None
    assert list(plain.as_numpy_iterator()) == [0, 1, 2, 3]


def test_without_prefetch_a_step_waits_for_its_input_and_with_it_not():
    slow = pipelines.as_written(sleepy(0.02))
    prefetched = pipelines.as_written(sleepy(0.02).prefetch(2))
    waits = {}
    for name, data in (("without", slow), ("with", prefetched)):
        found = pipelines.spans(data, step_time=0.04, steps=5)
        assert [phase for phase, *_ in found] == ["input", "compute"] * 5
        assert all(start <= end for _, start, end in found) and found[0][1] == 0
        assert all(end - start >= 0.039 for phase, start, end in found if phase == "compute")
        waits[name] = min(end - start for phase, start, end in found if phase == "input")
    assert waits["with"] < 0.5 * waits["without"]
    with pytest.raises(ValueError, match="fewer than the 7 elements"):
        pipelines.spans(tf.data.Dataset.range(5), step_time=0, steps=5)


def test_one_pass_tells_the_first_element_from_the_later_ones():
    behind = tf.data.Dataset.range(20).map(lambda i: tf.numpy_function(_wait(0.005), [i], tf.int64)).shuffle(20)
    reading = pipelines.read_once(pipelines.as_written(behind))
    assert reading.elements == 20 and reading.first >= 20 * 0.005
    assert reading.first < reading.total and reading.rate > 1 / 0.005  # the buffer is full by then
    assert np.isnan(pipelines.read_once(tf.data.Dataset.range(1)).rate)


def test_memory_is_what_the_pipeline_holds():
    megabytes = tf.data.Dataset.range(60).map(lambda i: tf.fill((250_000,), tf.cast(i, tf.float32)))
    held = pipelines.read_once(pipelines.as_written(megabytes.shuffle(60))).memory
    passed_on = pipelines.read_once(pipelines.as_written(megabytes)).memory
    assert held > 40e6 > passed_on


def test_a_stage_costs_what_was_planted():
    numbers = tf.data.Dataset.range(24)
    chain = {"first": sleepy(0.004, 24), "second": sleepy(0.004, 24).map(lambda i: _again(i, 0.002))}
    chain["batch"] = chain["second"].batch(8)
    first, second, batch = pipelines.stage_costs(chain, samples=24, rounds=3)
    assert [first.name, second.name, batch.name] == list(chain)
    assert 0.004 <= first.cost < 0.006 and 0.0015 < second.cost < 0.004 and batch.cost < 0.001
    assert limit([first, second], 2) < 2 / 0.006
    assert pipelines.stage_costs({"numbers": numbers}, samples=24)[0].cost < 0.001
    with pytest.raises(ValueError, match="at least one stage"):
        pipelines.stage_costs({}, samples=24)


def _again(i, seconds):
    return tf.numpy_function(_wait(seconds), [i], tf.int64)


def test_two_at_a_time_stand_at_twice_one_core():
    work = sleepy(0.005)
    parallel = tf.data.Dataset.range(12).map(lambda i: _again(i, 0.005), num_parallel_calls=4)
    found = pipelines.standing(work, {"one by one": work, "two at a time": parallel}, samples=12, rounds=4, cores=2)
    assert found.cores == 2 and found.reason.startswith("2 cores / ")
    assert found.limit == pytest.approx(2 / found.seconds)
    assert found.efficiency("one by one") == pytest.approx(0.5, rel=0.2)
    assert found.efficiency("two at a time") > 0.75
    assert all(low <= rate <= high for rate, low, high in found.rates.values())
    with pytest.raises(ValueError, match="An epoch has 1 elements"):
        pipelines.standing(work.batch(12), {"a": work}, samples=12)
    with pytest.raises(ValueError, match="three rounds"):
        pipelines.standing(work, {"a": work}, samples=12, rounds=2)


def test_memory_bandwidth_is_bytes_per_second_of_all_cores():
    assert 1e8 < pipelines.memory_bandwidth(cores=1, rounds=2) < 1e13
