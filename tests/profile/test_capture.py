"""Captures: marked steps in one run, nothing half-made, and a sentence for what cannot be captured."""

import time

import numpy as np
import pytest
import tensorflow as tf

from labutils import profile
from labutils.profile import capturing


def runs(logdir):
    return sorted((logdir / "plugins" / "profile").glob("*/*.xplane.pb"))


def markers(path):
    """The numbers of the steps that the profiler has recorded."""
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    space = xplane_pb2.XSpace()
    space.ParseFromString(path.read_bytes())
    found = []
    for plane in space.planes:
        for line in plane.lines:
            for event in line.events:
                stats = {plane.stat_metadata[stat.metadata_id].name: stat.int64_value for stat in event.stats}
                if plane.event_metadata[event.metadata_id].name == capturing.MARKER and "step_num" in stats:
                    found.append(stats["step_num"])
    return sorted(found)


def step():
    return tf.reduce_sum(tf.ones((300, 300)) @ tf.ones((300, 300)))


def test_every_step_is_marked_and_none_of_the_warm_up(tmp_path):
    calls = []
    captured = profile.capture(lambda: calls.append(1) or step(), tmp_path, steps=6, warm_up=2)
    assert len(calls) == 8 and captured.steps == 6 and captured.seconds > 0
    assert runs(tmp_path) == list(captured.folder.glob("*.xplane.pb"))
    assert markers(runs(tmp_path)[0]) == list(range(6))
    assert captured.folder.name in repr(captured)


def test_two_captures_in_one_second_are_two_runs(tmp_path):
    first, second = (profile.capture(step, tmp_path, steps=1, warm_up=0) for _ in range(2))
    assert first.folder != second.folder and len(runs(tmp_path)) == 2
    assert "1 step is too few" in repr(second)


def test_workers_share_a_run_and_have_a_file_each(tmp_path):
    for host in ("worker0", "worker1"):
        profile.capture(step, tmp_path, steps=1, warm_up=0, run="both", host=host)
    assert [path.name for path in runs(tmp_path)] == ["worker0.xplane.pb", "worker1.xplane.pb"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_step_that_raises_leaves_nothing_and_stops_the_profiler(tmp_path, error):
    def broken():
        raise error

    with pytest.raises(error):
        profile.capture(broken, tmp_path, warm_up=0)
    assert list(tmp_path.iterdir()) == []
    assert profile.capture(step, tmp_path, steps=1).steps == 1


def test_another_profiler_is_told(tmp_path):
    tf.profiler.experimental.start(str(tmp_path / "theirs"))
    try:
        with pytest.raises(RuntimeError, match="Another profiler is running in this process already"):
            profile.capture(step, tmp_path / "ours")
    finally:
        tf.profiler.experimental.stop()
    assert runs(tmp_path / "ours") == [] and len(runs(tmp_path / "theirs")) == 1


def test_a_session_that_a_cell_left_open_is_closed(tmp_path):
    left = capturing.Session(tmp_path / "left", "a cell")
    left.start()
    assert profile.capture(step, tmp_path / "new", steps=2).steps == 2
    assert list((tmp_path / "left").iterdir()) == []


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="A capture cannot be written to"):
        profile.capture(step, tmp_path / "file" / "logs")


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"fn": 3.0}, TypeError, "Pass the function itself"),
        ({"steps": 0}, ValueError, "steps is 1 or more; it was 0"),
        ({"steps": 2.5}, TypeError, "steps is a whole number"),
        ({"warm_up": -1}, ValueError, "warm_up is 0 or more"),
    ],
)
def test_what_makes_no_sense_is_said(tmp_path, arguments, error, words):
    with pytest.raises(error, match=words):
        profile.capture(**{"fn": step, "logdir": tmp_path} | arguments)


@pytest.fixture
def fit():
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")

    def run(marks, steps):
        data = tf.data.Dataset.from_tensors((np.ones((8, 4), "f"), np.ones((8, 1), "f"))).repeat()
        model.fit(data, steps_per_epoch=steps, verbose=0, callbacks=[marks])
        return marks.captured

    return run


def test_fit_is_marked_batch_by_batch(tmp_path, fit):
    captured = fit(profile.StepMarkers(tmp_path, first=3, steps=5), 12)
    assert captured.steps == 5 and markers(runs(tmp_path)[0]) == list(range(5))


def test_a_fit_that_ends_early_keeps_what_there_is(tmp_path, fit):
    captured = fit(profile.StepMarkers(tmp_path, first=3, steps=50), 6)
    assert captured.steps == 3 and "3 steps are too few" in repr(captured)


def test_the_marker_of_fit_holds_the_fetching_of_data(tmp_path):
    """A batch that takes long to come makes the step long: at least two of the four were not fetched beforehand."""
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")

    def slowly():
        while True:
            time.sleep(0.05)
            yield np.ones((8, 4), "f"), np.ones((8, 1), "f")

    specs = (tf.TensorSpec((8, 4)), tf.TensorSpec((8, 1)))
    data = tf.data.Dataset.from_generator(slowly, output_signature=specs)
    marks = profile.StepMarkers(tmp_path, first=2, steps=4)
    model.fit(data, steps_per_epoch=8, verbose=0, callbacks=[marks])
    assert marks.captured.seconds > 2 * 0.05


def test_a_profiler_of_somebody_else_is_left_alone(tmp_path):
    """Our session was stopped behind our back, and another begun: that one is not ours to stop."""
    from labutils.profile.capturing import Session

    left = Session(tmp_path / "left", "a test")
    left.start()
    tf.profiler.experimental.stop()
    tf.profiler.experimental.start(str(tmp_path / "other"))
    try:
        with pytest.raises(RuntimeError, match="Another profiler is running"):
            profile.capture(lambda: tf.reduce_sum(tf.ones(3)), tmp_path / "ours")
    finally:
        tf.profiler.experimental.stop()
    assert list((tmp_path / "other").rglob("*.xplane.pb"))


def test_fit_that_ends_before_the_first_step_is_told(tmp_path):
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    marks = profile.StepMarkers(tmp_path, first=10)
    with pytest.warns(UserWarning, match="captured nothing: fit made 2 batches"):
        model.fit(tf.ones((8, 4)), tf.ones((8, 1)), batch_size=4, verbose=0, callbacks=[marks])
    assert marks.captured is None
