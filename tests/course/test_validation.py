"""How notebooks are validated, on tiny ones: what may differ, what may not, and what a dead kernel does."""

import shutil
import sys
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from labutils import processes

ROOT = Path(__file__).resolve().parents[2]
DEADLINE = 150  # s for one pytest over all of them, about 20 s on a quiet machine
CELL_DEADLINE = 8  # s here, so that the endless cell ends soon


def printed(text, name="stdout"):
    return new_output("stream", name=name, text=text)


def notebook(*cells):
    """A notebook of (source, stored outputs), as if it had run once from the top."""
    made = [new_code_cell(source, outputs=list(outputs)) for source, *outputs in cells]
    for count, cell in enumerate(made, start=1):
        cell.execution_count = count
    return new_notebook(cells=made)


AFTER = ("print('later')", printed("later\n"))
HELD = "import threading\ngo = threading.Event()\nlate = threading.Thread(target=lambda: (go.wait(20), print('late')))"
TINY = {
    "chatter": notebook(
        ("import sys\nprint('x')\nprint('pid 2', file=sys.stderr)", printed("x\n"), printed("pid 1\n", "stderr")),
        ("print('new chatter', file=sys.stderr)",),
    ),
    "fails": notebook(
        ("print('2 replicas')", printed("4 replicas\n")),
        ("print('12.3 ms/step')", printed("11.9 ms/step\n")),
        ("assert 1 == 2, 'not equal'",),
        AFTER,
    ),
    "endless": notebook(("import time\ntime.sleep(600)",)),
    "exits": notebook(("x = 1",), ("import os\nos._exit(1)",), AFTER, AFTER),
    "killed": notebook(("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",), AFTER),
    "thread": notebook((HELD + "\nlate.start()",), ("go.set()\nlate.join()\nprint('second')", printed("second\n"))),
    "labs/unsolved": new_notebook(cells=[new_code_cell("answer = ..."), new_code_cell("print(answer)")]),
}


def settings():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The course's own validation, run over the tiny notebooks: (outcome, seconds, message) by notebook and cell."""
    folder = tmp_path_factory.mktemp("notebooks")
    (folder / "labs").mkdir()
    shutil.copy(ROOT / "notebooks/conftest.py", folder)
    (folder / "pytest.ini").write_text(f"[pytest]\naddopts = {' '.join(settings()['addopts'].split())}\n")
    for name, content in TINY.items():
        nbformat.write(content, folder / f"{name}.ipynb")
    limit = f"--nbval-cell-timeout={CELL_DEADLINE}"
    command = [sys.executable, "-m", "pytest", "--nbval", limit, "-p", "no:cacheprovider", "--junitxml=results.xml"]
    code, said = processes.ask([*command, "."], DEADLINE, cwd=folder)
    assert code == 1, f"pytest ended with {code}\n{said}"
    found = {}
    for case in ET.parse(folder / "results.xml").iter("testcase"):
        outcome = next((part for part in case if part.tag in ("failure", "error", "skipped")), None)
        message = "" if outcome is None else f"{outcome.get('message')}\n{outcome.text}"
        name = case.get("classname").removesuffix(".ipynb").replace(".", "/")
        kind = "passed" if outcome is None else outcome.tag
        found.setdefault(name, []).append((kind, float(case.get("time")), message))
    return found


def outcomes(results, name):
    return [kind for kind, _, _ in results[name]]


def test_all_were_run(results):
    assert {name: len(cells) for name, cells in results.items()} == {name: len(n.cells) for name, n in TINY.items()}


@pytest.mark.parametrize("name", ["chatter", "labs/unsolved"])
def test_passes(results, name):
    assert set(outcomes(results, name)) == {"passed"}, results[name]


@pytest.mark.parametrize("cell, saw", [(0, "2 replicas"), (1, "12.3 ms/step"), (2, "not equal")])
def test_what_differs_or_raises_fails_its_cell_alone(results, cell, saw):
    kind, _, message = results["fails"][cell]
    assert kind == "failure" and saw in message
    assert results["fails"][3][0] == "passed"


@pytest.mark.parametrize("name, cell, why", [("exits", 1, "exit code 1"), ("killed", 0, "memory runs out")])
def test_a_dead_kernel_is_known_soon_and_by_name(results, name, cell, why):
    kind, seconds, message = results[name][cell]
    assert kind == "failure" and seconds < CELL_DEADLINE
    assert why in message and f"Cell {cell}" in message
    below = results[name][cell + 1 :]
    assert below and all(kind == "skipped" and f"Cell {cell}" in said for kind, _, said in below), below


def test_what_a_thread_prints_is_a_mismatch_under_the_next_cell(results):
    assert outcomes(results, "thread") == ["passed", "failure"]
    assert "late" in results["thread"][1][2]


def test_a_cell_that_does_not_end_fails_at_its_deadline(results):
    [(kind, seconds, message)] = results["endless"]
    assert kind == "failure" and seconds < 60
    assert f"Timeout of {CELL_DEADLINE} seconds" in message


def test_a_cell_of_the_course_has_a_deadline():
    limits = dict(word.split("=") for word in settings()["addopts"].split() if "timeout=" in word)
    assert 0 < float(limits["--nbval-cell-timeout"]) <= 300
