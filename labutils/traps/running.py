"""Running a trap's snippets: each in a process of its own, killed with its whole group at a deadline."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from labutils.traps.child import VALUES
from labutils.traps.registry import Hangs, Trap

#: Importing TensorFlow has its own deadline, so that a busy machine is never mistaken for a hang.
IMPORT_DEADLINE = 180.0
DEADLINE = 120.0
#: The exit code of a process that was killed at its deadline, as `subprocess` gives it.
KILLED = -9
_POLL = 0.02
# Not by -m: Python warns of a module that its own package has imported, on the stderr a learner is shown.
_CHILD = (sys.executable, "-c", "from labutils.traps.child import main; main()")


@dataclass(frozen=True)
class Run:
    """What became of one snippet. `ended` is "finished", "raised", "was killed" or "died"."""

    ended: str
    exit: int
    seconds: float
    error: str = ""
    message: str = ""
    values: Mapping = field(default_factory=dict)
    stdout: str = ""
    stderr: str = ""

    def __str__(self) -> str:
        lines = [f"{name} = {value}" for name, value in self.values.items()]
        if self.ended == "raised":
            lines.append(f"{self.error}: {self.message}")
        if self.ended in ("was killed", "died"):
            lines.append(f"The process {self.ended}.")
        return "\n".join(lines)


def run_repro(trap: Trap, timeout: float | None = None, host: Host | None = None) -> Run:
    """Run the trap's repro in a process of its own. A hang is killed at its deadline."""
    own = trap.outcome.seconds if isinstance(trap.outcome, Hangs) else DEADLINE
    return run_program(trap.program("repro"), timeout or own, host)


def run_remedy(trap: Trap, timeout: float = DEADLINE, host: Host | None = None) -> Run:
    """Run the trap's remedy in a process of its own."""
    return run_program(trap.program("remedy"), timeout, host)


def report(**values) -> None:
    """Print each value as `name = value`, and hand it to whoever runs this snippet."""
    plain = {name: _plain(value) for name, value in values.items()}
    for name, value in plain.items():
        print(f"{name} = {value}", flush=True)
    if VALUES in os.environ:
        with open(os.environ[VALUES], "a", encoding="utf-8") as file:
            file.write(json.dumps(plain) + "\n")


def _plain(value):
    """A value JSON can carry: arrays and tensors become lists and numbers."""
    if hasattr(value, "numpy"):
        value = value.numpy()
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value


def run_program(source: str, timeout: float = DEADLINE, host: Host | None = None) -> Run:
    """Run source text in a process of its own, on the CPU, with quiet logs.

    `timeout` seconds count from the moment TensorFlow is imported. At the end nothing of it is left running.
    """
    with tempfile.TemporaryDirectory(prefix="trap-") as name:
        folder = Path(name)
        (folder / "program.py").write_text(source, encoding="utf-8")
        (folder / "alarm").write_text(str(int(timeout) + 30))
        job = host.start(folder) if host else _start(folder)
        try:
            started = _wait_ready(job, folder)
            code = _wait(job, started + timeout)
        finally:
            job.kill()  # also after an interrupt, and also what the snippet itself may have started
        return _read(folder, code, time.monotonic() - started)


class _Process:
    """A snippet in a Python process of its own."""

    def __init__(self, command: list[str], **streams) -> None:
        self._process = subprocess.Popen(command, env=_environment(), start_new_session=True, **streams)

    def poll(self) -> int | None:
        return self._process.poll()

    def kill(self) -> None:
        _kill_group(self._process.pid, self._process.kill)
        self._process.wait()


def _start(folder: Path) -> _Process:
    with open(folder / "stdout", "wb") as out, open(folder / "stderr", "wb") as err:
        command = [*_CHILD, str(folder)]
        return _Process(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=folder)


def _environment() -> dict[str, str]:
    """This process' environment, without what would steer TensorFlow elsewhere, and with quiet logs."""
    steering = {"TF_CONFIG", "TF_USE_LEGACY_KERAS", "XLA_FLAGS", "TF_XLA_FLAGS", VALUES}
    kept = {name: value for name, value in os.environ.items() if name not in steering}
    return kept | {
        "CUDA_VISIBLE_DEVICES": "-1",
        "KERAS_BACKEND": "tensorflow",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "PYTHONIOENCODING": "utf-8",
    }


def _kill_group(pid: int, otherwise) -> None:
    """SIGKILL, because a process blocked inside TensorFlow survives anything gentler."""
    if not hasattr(os, "killpg"):  # Windows
        return otherwise()
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _wait_ready(job, folder: Path) -> float:
    deadline = time.monotonic() + IMPORT_DEADLINE
    while not (folder / "ready").exists() and job.poll() is None and time.monotonic() < deadline:
        time.sleep(_POLL)
    return time.monotonic()


def _wait(job, deadline: float) -> int | None:
    """The exit code, or None when the deadline came first."""
    while (code := job.poll()) is None and time.monotonic() < deadline:
        time.sleep(_POLL)
    return code


def _read(folder: Path, code: int | None, seconds: float) -> Run:
    error = json.loads(_text(folder / "error.json") or "{}")
    values = {}
    for line in _text(folder / "values.jsonl").splitlines():
        values |= json.loads(line)
    ended = _ended(code, bool(error))
    out, err = (_tail(_text(folder / name)) for name in ("stdout", "stderr"))
    return Run(
        ended,
        KILLED if code is None else code,
        seconds,
        error.get("error", ""),
        error.get("message", ""),
        values,
        out,
        err,
    )


def _ended(code: int | None, raised: bool) -> str:
    if code is None:
        return "was killed"
    if raised:
        return "raised"
    return "finished" if code == 0 else "died"


def _tail(text: str) -> str:
    return "\n".join(text.splitlines()[-20:])


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


class Host:
    """A process that has TensorFlow imported and forks a fresh one for every snippet: a second each, not five.

    Use it as a context manager. Where the platform cannot fork, `open_host` gives None and snippets
    start processes of their own.
    """

    def __init__(self) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 — closed with the host
        self._process = subprocess.Popen(
            [*_CHILD, "--host"],
            env=_environment(),
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,
        )
        if self._process.stdout.readline().strip() != b"ready":
            self._log.seek(0)
            raise RuntimeError(f"TensorFlow could not be imported: {self._log.read().decode()[-2000:]}")

    def start(self, folder: Path) -> _Fork:
        """Fork a process that runs the program in this folder."""
        self._process.stdin.write(f"{folder}\n".encode())
        return _Fork(int(self._process.stdout.readline()), self._process.stdout)

    def close(self) -> None:
        """End the host, and with it whatever it was running."""
        self._process.stdin.close()
        _kill_group(self._process.pid, self._process.kill)
        self._process.wait()
        self._process.stdout.close()
        self._log.close()


class _Fork:
    """A snippet in a process forked by a host, which answers with its exit code when it has ended.

    The answers come through an unbuffered pipe: a buffer could swallow a line that `select` then waits for.
    """

    def __init__(self, pid: int, answers) -> None:
        self.pid, self._answers, self._code = pid, answers, None

    def poll(self) -> int | None:
        import select

        if self._code is None and select.select([self._answers], [], [], 0)[0]:
            self._code = int(self._answers.readline())
        return self._code

    def kill(self) -> None:
        _kill_group(self.pid, None)
        if self._code is None:
            self._code = int(self._answers.readline())


@contextlib.contextmanager
def open_host() -> Iterator[Host | None]:
    """A `Host` for many snippets in a row, or None where processes cannot fork."""
    if not hasattr(os, "fork"):
        yield None
        return
    host = Host()
    try:
        yield host
    finally:
        host.close()
