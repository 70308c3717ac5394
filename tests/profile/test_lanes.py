"""The bars of a step: as long as what they stand for, in the lane of whoever did it."""

import pytest

from labutils.profile import BadCapture, lanes


def bars(found, lane, phase):
    return [
        (pytest.approx(start, abs=1e-9), pytest.approx(end, abs=1e-9))
        for where, what, start, end in found
        if (where, what) == (lane, phase)
    ]


def test_the_bars_are_the_moments_of_a_step(usual, tmp_path):
    usual().write(tmp_path)
    found = lanes(tmp_path)
    assert bars(found, "CPU", "input") == [(0, 2e-3)]
    assert bars(found, "CPU", "compute") == [(3e-3, 8e-3)]
    assert bars(found, "CPU", "all-reduce") == [(8e-3, 9e-3)]


def test_each_replica_has_a_lane(made, tmp_path):
    rest = [
        (
            ("/host:CPU", f"tf_Compute/{replica}"),
            f"replica_{replica}/a/MatMul:MatMul" if replica else "a/MatMul:MatMul",
            1,
            took,
            {},
        )
        for replica, took in enumerate([2, 3, 9])
    ]
    made().steps(8, 10, rest=rest).write(tmp_path)
    found = lanes(tmp_path)
    assert bars(found, "replica 0", "compute") == [(1e-3, 3e-3)] and bars(found, "replica 2", "compute") == [
        (1e-3, 10e-3)
    ]


def test_the_update_is_told_from_compute(made, tmp_path):
    compute, update = [(made.COMPUTE, "a:MatMul", 1, 6, {}), (made.COMPUTE, "sgd/a:AssignSubVariableOp", 7, 2, {})]
    made().steps(8, 10, rest=[compute, update]).write(tmp_path)
    found = lanes(tmp_path)
    assert bars(found, "CPU", "compute") == [(1e-3, 7e-3)] and bars(found, "CPU", "update") == [(7e-3, 9e-3)]


def test_each_host_has_lanes_of_its_own(usual, made, tmp_path):
    usual().write(tmp_path, host="worker0")
    made().steps(8, 10, rest=[(made.COMPUTE, "a:MatMul", 5, 5, {})]).write(tmp_path, host="worker1")
    found = lanes(tmp_path)
    assert bars(found, "worker1 CPU", "compute") == [(5e-3, 10e-3)] and bars(found, "worker0 CPU", "input")


def test_what_nobody_could_see_apart_is_one_bar(made, tmp_path):
    rest = [(made.COMPUTE, "a:MatMul", 2 + n * 0.01, 0.009, {}) for n in range(300)]
    made().steps(8, 10, rest=rest).write(tmp_path)
    assert bars(lanes(tmp_path), "CPU", "compute") == [(2e-3, 4.999e-3)]


def test_the_step_of_usual_length_is_shown(made, tmp_path):
    job = made().steps(4, 10, rest=[(made.COMPUTE, "a:MatMul", 0, 4, {})])
    job.steps(1, 90, first=40, rest=[(made.COMPUTE, "a:MatMul", 0, 80, {})])
    job.steps(4, 10, first=130, rest=[(made.COMPUTE, "a:MatMul", 0, 4, {})])
    job.write(tmp_path)
    assert bars(lanes(tmp_path), "CPU", "compute") == [(0, 4e-3)]


def test_nothing_to_draw_is_said(made, tmp_path):
    made().steps(8, 10).write(tmp_path)
    with pytest.raises(BadCapture, match="nothing to draw"):
        lanes(tmp_path)


def test_the_timeline_of_the_course_draws_the_whole_step(usual, tmp_path):
    from labutils.show.timeline import draw_step

    usual().write(tmp_path)
    assert lanes(tmp_path).step_time == pytest.approx(10e-3)  # its bars end 1 ms before
    assert draw_step(tmp_path).axes[0].get_xlim()[1] == pytest.approx(10, rel=0.05)
