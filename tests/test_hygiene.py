"""What holds for the whole repository: style, layers, light imports, nothing generated or private in git."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
IMPORT_LIMIT = 0.3  # s of processor time beyond the interpreter's own start
CLUTTER = re.compile(
    r"(^|/)(__pycache__|\.ipynb_checkpoints|\.venv|[^/]*\.egg-info|\.pytest_cache|\.ruff_cache)(/|$)|\.(pyc|log|tmp|bak|orig)$"
)
# A path into somebody's own folders. Written in pieces, so that this file does not find itself.
PRIVATE = re.compile(rb"(?<![\w.])(/" + rb"home/\w|/" + rb"Users/\w|/" + rb"root/|/" + rb"work/|[A-Z]:\\Users\\)")


def run(*command, timeout=120):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=timeout)


def tracked():
    listed = run("git", "ls-files", "-z")
    if listed.returncode != 0:
        pytest.skip("not a git clone")
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


@pytest.mark.parametrize("command", [["check"], ["format", "--check", "--extend-exclude", "*.ipynb"]], ids=" ".join)
def test_ruff(command):
    checked = run(sys.executable, "-m", "ruff", *command, "--no-cache", "--output-format=concise", ".")
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_layers():
    """import-linter's contracts: imports go one way, and the light packages stay light."""
    code = "import sys; from importlinter.cli import lint_imports_command; lint_imports_command(['--no-cache'])"
    checked = run(sys.executable, "-c", code)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def processor_time(statement):
    """Processor seconds that a statement costs a fresh interpreter; the least of several, free of others' noise."""
    code = f"import time; t = time.process_time(); {statement}; print(time.process_time() - t)"
    return min(float(run(sys.executable, "-c", code).stdout) for _ in range(3))


@pytest.mark.parametrize("module", ["labutils", "labutils.theory", "labutils.bench"])
def test_light_imports(module):
    # Where the machine has paged out its libraries, NumPy alone takes longer: ours may not add much to that.
    assert processor_time(f"import {module}") < max(IMPORT_LIMIT, 1.5 * processor_time("import numpy"))
    heavy = "{'tensorflow', 'keras', 'matplotlib', 'ipywidgets', 'sklearn'}"
    loaded = run(sys.executable, "-c", f"import sys, {module}; print(sorted({heavy} & set(sys.modules)))")
    assert loaded.stdout.strip() == "[]", loaded.stdout + loaded.stderr


def test_every_requirement_is_pinned():
    lines = [line.split("#")[0].strip() for line in (ROOT / "requirements.txt").read_text().splitlines()]
    loose = [line for line in lines if line and "==" not in line and line != "-e ."]
    assert not loose
    assert [line for line in lines if line][-1] == "-e ."


def test_no_generated_clutter_in_git():
    found = [path.relative_to(ROOT).as_posix() for path in tracked()]
    assert not [path for path in found if CLUTTER.search(path)]


def test_no_paths_of_one_machine_in_git():
    found = [path.relative_to(ROOT).as_posix() for path in tracked() if PRIVATE.search(path.read_bytes())]
    assert not found


def test_modules_stay_short():
    """A module of 300 lines is already long: split it where it has two subjects."""
    long = {
        path.relative_to(ROOT).as_posix(): length
        for path in (ROOT / "labutils").rglob("*.py")
        if (length := len(path.read_text(encoding="utf-8").splitlines())) > 300
    }
    assert not long
