"""`test` on a course in miniature: one summary, strict chapters, labs that only run, no leftovers."""

import re
import shutil
import time

import nbformat
import pytest

from .conftest import REPO

OUT = nbformat.v4.new_output


def stream(text, name="stdout"):
    return OUT("stream", name=name, text=text)


@pytest.fixture
def runnable(course):
    course.light_venv()
    (course.root / "notebooks").mkdir()
    shutil.copy(REPO / "notebooks" / "conftest.py", course.root / "notebooks")
    return course


def results(output):
    """{test's path and name: PASSED or FAILED...} from pytest -v."""
    found = re.findall(r"^(\S+?)::(?:ipynb::)?(Cell \d+) (?:\x1b\[\d+m)?(\w+)", output, re.MULTILINE)
    return {f"{file.removesuffix('.ipynb')} {cell}": result for file, cell, result in found}


def test_notebooks_are_validated(runnable):
    runnable.notebook("01_good.ipynb", ("print('x')", [stream("x\n")]), ("import sys; print(1, file=sys.stderr)", []))
    runnable.notebook("02_differs.ipynb", ("print('new')", [stream("old\n")]))
    runnable.notebook(
        "03_dies.ipynb", ("kept = 1", []), ("import os\nos._exit(7)", []), ("print('never')", [stream("never\n")])
    )
    runnable.notebook("04_killed.ipynb", ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", []))
    runnable.notebook("labs/01_lab.ipynb", ("print('mine')", [stream("somebody's\n")]), ("1 / 0", []))
    started = time.monotonic()
    code, output = runnable.run("labutils", "test", "--", "-n", "0", "-v", "-rN")
    assert time.monotonic() - started < 90  # far from a cell's whole time
    assert code == 1
    assert results(output) == {
        "notebooks/01_good Cell 0": "PASSED",
        "notebooks/01_good Cell 1": "PASSED",
        "notebooks/02_differs Cell 0": "FAILED",
        "notebooks/03_dies Cell 0": "PASSED",
        "notebooks/03_dies Cell 1": "FAILED",
        "notebooks/03_dies Cell 2": "SKIPPED",
        "notebooks/04_killed Cell 0": "FAILED",
        "notebooks/labs/01_lab Cell 0": "PASSED",
        "notebooks/labs/01_lab Cell 1": "FAILED",
    }
    assert "Cell 1: The kernel died (exit code 7)." in output
    assert "The kernel was killed (signal 9), as the system does when memory runs out." in output
    assert re.search(r"^=+ 4 failed, 4 passed, 1 skipped in .*=+$", output.strip().splitlines()[-1])
    assert runnable.nothing_runs()


LEAVES = """
import subprocess, sys
def test_leaves_a_process():
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
"""


def test_what_a_test_leaves_behind_is_killed_and_told(runnable):
    (runnable.root / "tests").mkdir()
    (runnable.root / "tests" / "test_leaves.py").write_text(LEAVES)
    code, output = runnable.run("labutils", "test", "leaves", "--", "-n", "0")
    assert "1 passed" in output
    assert code == 1
    assert "left processes behind, which were killed" in output and "import time" in output
    assert runnable.nothing_runs()


STUBBORN = """
import signal, time
def test_hangs():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)
"""


def test_the_whole_run_has_a_deadline(runnable):
    (runnable.root / "tests").mkdir()
    (runnable.root / "tests" / "test_hangs.py").write_text(STUBBORN)
    code, output = runnable.run("labutils", "test", "--", "-n", "0", LABUTILS_TEST_DEADLINE="12")
    assert code == 1
    assert "The tests did not end within 12 s and were stopped" in output
    assert runnable.nothing_runs()


def test_a_green_run_ends_with_its_summary_and_code_0(runnable):
    runnable.notebook("01_two.ipynb", ("kept = 1", []), ("print(kept)", [stream("1\n")]))  # its cells need each other
    (runnable.root / "tests").mkdir()
    (runnable.root / "tests" / "test_fine.py").write_text(
        "import os\n\ndef test_fine():\n"
        "    assert os.environ['TF_CPP_MIN_LOG_LEVEL'] == '3' and 'TF_CONFIG' not in os.environ\n"
    )
    code, output = runnable.run("labutils", "test", TF_CONFIG="{}")
    assert code == 0, output
    assert re.search(r"^=+ 3 passed in .*=+$", output.strip().splitlines()[-1])
