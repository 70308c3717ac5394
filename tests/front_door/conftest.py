"""A course in miniature: the front door's own modules, one tiny requirement, and no network."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import venv
import zipfile
from pathlib import Path

import nbformat
import psutil
import pytest

from labutils import environment

REPO = Path(__file__).resolve().parents[2]


def make_wheel(folder, name, version, code=""):
    """A wheel is a zip file with three text files about itself."""
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": code,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{file},,\n" for file in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for file, text in files.items():
            wheel.writestr(file, text)


def _as_from_a_terminal():
    """Ctrl-C is heard, also where the tests themselves were started in the background, which ignores it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Course:
    """A clone of the course in a temporary folder."""

    def __init__(self, folder):
        self.root, self.wheels = folder / "course", folder / "wheels"
        self.venv = self.root / ".venv"
        self.wheels.mkdir()
        (self.root / "labutils").mkdir(parents=True)
        for file in (REPO / "labutils").glob("*.py"):
            shutil.copy(file, self.root / "labutils")
        shutil.copy(REPO / "pyproject.toml", self.root)
        self.require("tiny==1.0")
        for version in ("1.0", "2.0"):
            make_wheel(self.wheels, "tiny", version)

    def require(self, *lines):
        (self.root / "requirements.txt").write_text("\n".join(lines) + "\n")

    def notebook(self, name, *cells):
        """Write a notebook; each cell is (source, outputs)."""
        path = self.root / "notebooks" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        book = nbformat.v4.new_notebook()
        for source, outputs in cells:
            book.cells.append(nbformat.v4.new_code_cell(source, outputs=outputs, execution_count=1))
        nbformat.write(book, path)

    def variables(self, **more):
        """The environment of a learner's shell without a network, and without the pytest that runs around us."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "PYTEST_", "LABUTILS_", "JUPYTER"))}
        offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.wheels), "PIP_CONFIG_FILE": os.devnull}
        return kept | offline | {"PYTHONDONTWRITEBYTECODE": "1"} | more

    def popen(self, *arguments, **more):
        return subprocess.Popen(
            [sys.executable, "-m", *arguments],
            cwd=self.root,
            env=self.variables(**more),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=_as_from_a_terminal if hasattr(os, "fork") else None,
        )

    def run(self, *arguments, **more):
        """Run `python -m ...` to its end; (exit code, output)."""
        child = self.popen(*arguments, **more)
        try:
            output = child.communicate(timeout=120)[0]
        finally:
            child.kill()
        assert not re.search(r"^Traceback \(most", output, re.MULTILINE), output
        return child.returncode, output

    def light_venv(self, stamped=True):
        """An environment made in 0.1 s: it sees the packages of the Python that runs the tests."""
        venv.create(self.venv, symlinks=True, with_pip=False)
        site = next(self.venv.glob("lib/python3*/site-packages"))
        (site / "outer.pth").write_text("\n".join(p for p in sys.path if p.endswith("site-packages")))
        (self.venv / environment.MARKER).write_text(json.dumps({"folder": str(self.venv.resolve())}))
        if stamped:
            (site / "tiny-1.0.dist-info").mkdir()
            self.stamp()
        return site

    def stamp(self):
        version = "{}.{}".format(*sys.version_info[:2])
        (self.venv / environment.STAMP).write_text(json.dumps(environment.fingerprint(self.root, version)))

    def state(self):
        return environment.judge(self.root).state

    def processes(self):
        """Whatever still runs in this course's folder or names it on its command line."""
        found = []
        for process in psutil.process_iter():
            try:
                text = " ".join([process.cwd(), *process.cmdline()])
                if str(self.root) in text and process.status() != psutil.STATUS_ZOMBIE and process.pid != os.getpid():
                    found.append(process)
            except (psutil.Error, OSError):
                continue
        return found

    def nothing_runs(self, seconds=10):
        return wait_for(lambda: not self.processes(), seconds)


def wait_for(condition, seconds=20):
    """Whether the condition came true in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.1)
    return bool(condition())


@pytest.fixture
def course(tmp_path):
    made = Course(tmp_path)
    yield made
    for process in made.processes():
        process.send_signal(signal.SIGKILL)


@pytest.fixture
def offline(course, monkeypatch):
    """The same shell for what runs inside this process."""
    for name in [name for name in os.environ if name.startswith(("PIP_", "LABUTILS_"))]:
        monkeypatch.delenv(name)
    for name, value in course.variables().items():
        monkeypatch.setenv(name, value)
    return course
