"""Jobs easily taken for others: compiled by XLA, Python in the model, a few steps that cost most of the time."""

import pytest

from labutils.profile import BadCapture, diagnose


def judged(job, folder):
    job.write(folder)
    return diagnose(folder, with_official=False)


@pytest.mark.parametrize("event", ["CpuExecutable::ExecuteAsyncOnStream", "ThunkExecutor::Execute"])
def test_a_program_of_xla_is_compute(made, tmp_path, event):
    found = judged(made().steps(9, 10, rest=[(made.COMPUTE, event, 1, 8.5, {})]), tmp_path)
    assert (found.verdict, found.cause, found.confidence) == ("compute-bound", "busy-device", "high")
    assert "XLA program" in " ".join(found.evidence)


@pytest.mark.parametrize("event", ["CpuCompiler::RunBackend", "GpuCompiler::RunHloPasses", "JitCompiler::Compile"])
def test_compiling_in_every_step_is_recompilation(made, tmp_path, event):
    rest = [(made.COMPUTE, event, 1, 80, {}), (made.COMPUTE, "ThunkExecutor::Execute", 95, 4, {})]
    found = judged(made().steps(9, 100, rest=rest), tmp_path)
    assert (found.verdict, found.cause) == ("host-bound", "recompilation") and "80.0 ms" in found.evidence[0]


def test_python_in_the_model_is_no_compute(made, tmp_path):
    rest = [(made.COMPUTE, "model/layer/PyFunc:PyFunc", 1, 7, {}), (made.COMPUTE, "model/MatMul:MatMul", 8, 1, {})]
    found = judged(made().steps(9, 10, rest=rest), tmp_path)
    assert (found.verdict, found.cause, found.confidence) == ("host-bound", "python-in-model", "high")
    assert found.segments["compute"] == pytest.approx(1e-3) and "7.00 ms" in found.evidence[0]


def test_python_beside_compute_costs_nothing(made, tmp_path):
    other = ("/host:CPU", "tf_Compute/2")
    rest = [(other, "metric/PyFunc:PyFunc", 1, 7, {}), (made.COMPUTE, "model/MatMul:MatMul", 0.5, 9, {})]
    found = judged(made().steps(9, 10, rest=rest), tmp_path)
    assert found.verdict == "compute-bound" and "python-in-model" not in found.found


def every_fourth(made, length, work):
    """Quick steps that compute; each fourth takes `length` ms, with `work` in it."""
    job, at = made(), 0
    for number in range(16):
        long = number % 4 == 2
        rest = [(made.COMPUTE, "model/MatMul:MatMul", 1, 8, {}), *(work if long else [])]
        job.steps(1, length if long else 10, first=at, rest=rest)
        at += length if long else 10
    return job


def test_a_checkpoint_now_and_then_is_not_hidden_by_the_usual_step(made, tmp_path):
    found = judged(every_fourth(made, 100, []), tmp_path)
    assert (found.verdict, found.cause, found.confidence) == ("host-bound", "uneven-steps", "medium")
    assert "4 of 14 steps take 100 ms, the usual one 10.0 ms" in found.evidence[0]
    assert found.step_time == pytest.approx((4 * 100 + 10 * 10) / 14 / 1e3)


def test_input_that_comes_in_bursts_is_waited_for(made, tmp_path):
    wait = (made.PYTHON, "IteratorGetNextOp::DoCompute", 9, 90, {})
    found = judged(every_fourth(made, 100, [wait]), tmp_path)
    assert (found.verdict, found.cause, found.confidence) == ("input-bound", "input-bound", "medium")
    assert "uneven-steps" in found.found


def test_steps_that_differ_little_are_judged_by_the_usual_one(made, tmp_path):
    found = judged(every_fourth(made, 12, []), tmp_path)
    assert found.verdict == "compute-bound" and found.confidence == "high" and "uneven-steps" not in found.found


def test_more_threads_than_any_machine_has(made, tmp_path, monkeypatch):
    job = made()
    for number in range(20):
        job.event(("/host:CPU", f"thread {number}"), "a:MatMul", number, 1)
    monkeypatch.setattr("labutils.profile.xplane.MOST_LINES", 10)
    with pytest.raises(BadCapture, match="more devices or threads than any machine has"):
        judged(job, tmp_path)


def test_a_span_that_is_no_number(usual, tmp_path):
    path = usual().write(tmp_path)
    from labutils.profile import xplane

    space = xplane.messages().XSpace()
    space.ParseFromString(path.read_bytes())
    plane = space.planes.add(name="/host:metadata")
    for number, name in enumerate(("profile_start_time", "profile_stop_time"), start=1):
        plane.stat_metadata[number].id, plane.stat_metadata[number].name = number, name
        plane.stats.add(metadata_id=number, str_value="oops")
    path.write_bytes(space.SerializeToString())
    with pytest.raises(BadCapture, match="no times"):
        diagnose(tmp_path)
