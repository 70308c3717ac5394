"""The four segments of a step and what is seen in it, on captures whose every picosecond is known."""

import pytest

from labutils.profile import diagnose


def found(made, tmp_path, **how):
    made.write(tmp_path)
    return diagnose(tmp_path, with_official=False, **how)


def test_every_moment_of_a_step_belongs_to_one_segment(usual, tmp_path):
    seen = found(usual(), tmp_path)
    expected = {"input": 2e-3, "gaps": 2e-3, "communication": 1e-3, "compute": 5e-3}
    assert seen.segments == pytest.approx(expected) and seen.step_time == pytest.approx(10e-3)
    assert sum(seen.shares.values()) == pytest.approx(1)
    assert (seen.verdict, seen.cause, seen.steps) == ("compute-bound", "busy-device", 6)


@pytest.mark.parametrize("place", ["python", "tf_data_iterator_get_next/7"])
def test_waiting_for_the_next_batch_is_input_whichever_thread_waits(made, tmp_path, place):
    thread = ("/host:CPU", place)
    rest = [(thread, "IteratorGetNextOp::DoCompute", 0, 8, {}), (made.COMPUTE, "a:MatMul", 8, 2, {})]
    seen = found(made().steps(8, 10, rest=rest), tmp_path)
    assert seen.shares["input"] == pytest.approx(0.8) and seen.verdict == "input-bound"
    assert "8.00 ms (80%)" in seen.evidence[0] and seen.confidence == "high"


def test_waiting_that_is_hidden_behind_compute_costs_nothing(made, tmp_path):
    rest = [(made.PYTHON, "IteratorGetNextOp::DoCompute", 0, 8, {}), (made.COMPUTE, "a:MatMul", 0, 10, {})]
    seen = found(made().steps(8, 10, rest=rest), tmp_path)
    assert seen.shares["input"] == 0 and seen.verdict == "compute-bound"


def test_what_lies_between_two_steps_is_part_of_the_step(made, tmp_path):
    """A callback behind the marker: 6 of 10 ms in which nothing runs."""
    rest = [(made.COMPUTE, "a:MatMul", 0, 4, {})]
    seen = found(made().steps(8, 10, marked=4, rest=rest), tmp_path)
    assert seen.step_time == pytest.approx(10e-3) and seen.segments["gaps"] == pytest.approx(6e-3)
    assert (seen.verdict, seen.cause) == ("host-bound", "host-work")
    assert "6.00 ms" in seen.evidence[0] and "behind the last operator" in seen.evidence[0]


def test_fetching_outside_the_marker_is_seen(made, tmp_path):
    rest = [(made.COMPUTE, "a:MatMul", 0, 2, {}), (made.PYTHON, "IteratorGetNextOp::DoCompute", 2, 8, {})]
    seen = found(made().steps(8, 10, marked=2, rest=rest), tmp_path)
    assert (seen.verdict, seen.cause) == ("input-bound", "markers-miss-input")
    assert seen.segments["input"] == pytest.approx(8e-3)


def test_python_in_the_input_is_named(made, tmp_path):
    rest = [
        (made.PYTHON, "IteratorGetNextOp::DoCompute", 0, 8, {}),
        (made.COMPUTE, "a:MatMul", 8, 2, {}),
        (made.INPUT, "PyFunc:PyFunc", 0, 7, {}),
    ]
    seen = found(made().steps(8, 10, rest=rest), tmp_path)
    assert seen.cause == "python-in-input" and "7.00 ms" in seen.evidence[0]


def test_python_in_the_input_that_nobody_waits_for_is_left_alone(made, tmp_path):
    rest = [(made.COMPUTE, "a:MatMul", 0, 10, {}), (made.INPUT, "PyFunc:PyFunc", 0, 7, {})]
    assert "python-in-input" not in found(made().steps(8, 10, rest=rest), tmp_path).found


def traced(made, often):
    job = made().steps(8, 10, rest=[(made.COMPUTE, "a:MatMul", 8, 1, {})])
    for step in range(8):
        kind = "traced-nonXla" if step in often else "notTraced-nonXla"
        job.event(made.PYTHON, "step", 10 * step, 9, tf_function_call=kind)
        if step in often:
            job.event(made.PYTHON, "tf.function-graph_building", 10 * step, 6)
    return job


def test_a_graph_that_is_built_in_every_step_is_named(made, tmp_path):
    seen = found(traced(made, range(8)), tmp_path)
    assert (seen.verdict, seen.cause) == ("host-bound", "retracing") and "(step)" in seen.evidence[0]


def test_a_graph_that_is_built_once_is_no_habit(made, tmp_path):
    assert "retracing" not in found(traced(made, [3]), tmp_path).found


def test_operators_one_by_one_from_python_are_named(made, tmp_path):
    job = made().steps(8, 10)
    for step in range(8):
        for number in range(200):
            begin = 10 * step + number * 0.05
            job.event(made.PYTHON, "EagerExecute", begin, 0.04, eager_op="Tanh", is_func="0")
            job.event(made.PYTHON, "EagerKernelExecute", begin + 0.03, 0.01)
    seen = found(job, tmp_path)
    assert (seen.verdict, seen.cause) == ("host-bound", "tiny-operators")
    assert "200 operators a step" in seen.evidence[0] and seen.segments["compute"] == pytest.approx(2e-3)


def replicas(made, times):
    rest = []
    for replica, took in enumerate(times):
        name = f"replica_{replica}/dense/MatMul:MatMul" if replica else "dense/MatMul:MatMul"
        rest.append((("/host:CPU", f"tf_Compute/{replica}"), name, 0, took, {}))
    return made().steps(8, 10, rest=rest)


def test_a_replica_that_holds_up_the_others_is_named(made, tmp_path):
    seen = found(replicas(made, [3, 3, 9, 3]), tmp_path)
    assert seen.cause == "straggling-replica" and "replica 2 computes 9.00 ms" in seen.evidence[0]


def test_replicas_alike_are_left_alone(made, tmp_path):
    assert "straggling-replica" not in found(replicas(made, [8, 9, 9, 8]), tmp_path).found


def test_a_host_that_holds_up_the_others_is_named(made, tmp_path):
    for host, compute in (("worker0", 2), ("worker1", 2), ("worker2", 9)):
        rest = [
            (made.COMPUTE, "a:MatMul", 0, compute, {}),
            (made.COMPUTE, "b:CollectiveReduceV2", compute, 10 - compute, {}),
        ]
        made().steps(8, 10, rest=rest).write(tmp_path, host=host)
    seen = diagnose(tmp_path, with_official=False)
    assert (seen.verdict, seen.cause) == ("communication-bound", "straggling-host")
    assert "worker2 works 9.00 ms" in seen.evidence[0]


GPU = ("/device:GPU:0", "Stream #13(Compute,MemcpyD2D)")


def test_a_gpu_is_judged_by_its_streams(made, tmp_path):
    rest = [
        (GPU, "void sgemm_128x64_nn", 0, 3, {}),
        (GPU, "ncclDevKernel_AllReduce_Sum_f32_RING", 3, 4, {}),
        (("/device:GPU:0", "TensorFlow Ops"), "dense/MatMul:MatMul", 0, 10, {}),  # another view of the same kernels
        (("/device:GPU:0", "Stream #14(MemcpyH2D)"), "MemcpyH2D", 8, 2, {}),
        (made.COMPUTE, "on_the_host:MatMul", 0, 10, {}),
    ]
    job = made().steps(8, 10, rest=rest)
    job.lines["/device:GPU:1", "Stream #1(Compute)"] = []
    seen = found(job, tmp_path)
    assert seen.verdict == "communication-bound" and seen.segments["communication"] == pytest.approx(4e-3)
    assert "a collective (ncclDevKernel_AllReduce" in seen.evidence[0]
    assert {"host-to-device-copies", "idle-devices"} <= set(seen.found)
    assert any("GPU:1" in sentence for sentence in seen.evidence)


def test_steps_are_taken_from_the_calls_where_none_is_marked(made, tmp_path):
    job = made()
    for step in range(8):
        job.event(made.PYTHON, "train_function", 10 * step + 7, 3, tf_function_call="notTraced-nonXla")
        job.event(made.PYTHON, "IteratorGetNextOp::DoCompute", 10 * step, 7)
        job.event(made.COMPUTE, "a:MatMul", 10 * step + 7, 3)
    seen = found(job, tmp_path)
    assert seen.verdict == "input-bound" and seen.confidence == "low" and "no-step-markers" in seen.found
    assert any("the calls of train_function" in sentence for sentence in seen.evidence)


def test_without_any_steps_the_capture_is_one(made, tmp_path):
    job = made().event(made.COMPUTE, "a:MatMul", 5, 2).event(made.COMPUTE, "b:MatMul", 13, 2)
    seen = found(job, tmp_path)
    assert seen.step_time == pytest.approx(10e-3) and seen.shares["compute"] == pytest.approx(0.4)
    assert seen.confidence == "low" and {"no-step-markers", "too-short"} <= set(seen.found)


def test_the_first_step_is_not_the_job(made, tmp_path):
    job = made().event(made.PYTHON, "train", 0, 500, step_num=0)
    job.steps(7, 10, first=500, rest=[(made.COMPUTE, "a:MatMul", 0, 9, {})])
    seen = found(job, tmp_path)
    assert seen.step_time == pytest.approx(10e-3) and seen.verdict == "compute-bound"


def test_without_operators_it_cannot_tell(made, tmp_path):
    seen = found(made().steps(8, 10), tmp_path)
    assert (seen.verdict, seen.cause, seen.confidence) == ("cannot tell", "", "low")
    assert "No operator of any device" in seen.evidence[0]


def test_unsteady_steps_leave_no_high_confidence(made, tmp_path):
    job, begin = made(), 0
    for step in range(12):
        length = 10 if step % 2 else 60
        job.event(made.PYTHON, "train", begin, length, step_num=step)
        job.event(made.PYTHON, "IteratorGetNextOp::DoCompute", begin, 0.9 * length)
        job.event(made.COMPUTE, "a:MatMul", begin + 0.9 * length, 0.1 * length)
        begin += length
    seen = found(job, tmp_path)
    assert seen.verdict == "input-bound" and seen.confidence == "medium"
