"""The figures without a verdict are those of the usual step, and say nothing of what the matter is."""

import pytest

from labutils.profile import BadCapture, clues
from labutils.profile.symptoms import SYMPTOMS


def figures(table):
    return {row[0]: row[1:] for row in table.rows}


def test_the_figures_of_a_step_that_was_made(usual, tmp_path):
    usual().write(tmp_path)
    found = {name: values[0] for name, values in figures(clues(tmp_path)).items()}
    assert found["step time"] == "10.0 ms" and found["steps judged"] == "6"
    assert found["waiting for input"] == "20%" and found["gaps between operators"] == "20%"
    assert found["communication"] == "10%" and found["compute"] == "50%"
    assert found["operators"] == "3" and found["half of them shorter than"] == "2.00 ms"
    assert found["longest gap in which nothing of TensorFlow's runs"] == "1.00 ms"
    assert found["steps that build a graph"] == "0 of 6"


def test_replicas_are_held_side_by_side(made, tmp_path):
    rest = [
        (("/host:CPU", f"tf_Compute/{replica}"), f"replica_{replica}/a/MatMul:MatMul", 1, took, {})
        for replica, took in enumerate([2, 3, 8])
    ]
    made().steps(8, 10, rest=rest).write(tmp_path)
    assert figures(clues(tmp_path))["compute of each replica"] == ["2.00 ms to 8.00 ms"]


def test_each_host_has_a_column(usual, made, tmp_path):
    usual().write(tmp_path, host="worker0")
    made().steps(8, 10, rest=[(made.COMPUTE, "a:MatMul", 5, 5, {})]).write(tmp_path, host="worker1")
    table = clues(tmp_path)
    assert table.header[1:] == ["worker0", "worker1"]
    assert figures(table)["compute"] == ["50%", "50%"] and figures(table)["waiting for input"] == ["20%", "0%"]


def test_jobs_stand_side_by_side(usual, tmp_path):
    for name in ("one", "two"):
        usual().write(tmp_path / name)
    table = clues({"A": tmp_path / "one", "B": tmp_path / "two"})
    assert list(table.header) == ["figure", "A", "B"] and figures(table)["step time"] == ["10.0 ms", "10.0 ms"]


def test_no_symptom_is_named(usual, tmp_path):
    usual().write(tmp_path)
    said = str(clues(tmp_path))
    assert not any(symptom.name in said or symptom.title in said for symptom in SYMPTOMS)


def test_a_capture_without_steps_has_figures_and_one_without_events_has_none(made, tmp_path):
    made().steps(8, 10).write(tmp_path)
    assert figures(clues(tmp_path))["operators"] == ["0"]
    with pytest.raises(BadCapture):
        clues(tmp_path / "nowhere")
