"""The process a snippet runs in. Only the standard library until TensorFlow itself is wanted.

`main()` with the argument FOLDER runs FOLDER/program.py and leaves the outcome in that folder: `ready` once
TensorFlow is imported (deadlines start there), `values.jsonl` from `report`, `error.json`. With `--host` it
imports TensorFlow once, then forks one such process per folder named on stdin. Importing starts no TensorFlow
runtime, so every fork is as fresh as a new process.
"""

import json
import os
import signal
import sys
import traceback
from pathlib import Path

VALUES = "LABUTILS_TRAP_VALUES"


def main() -> None:
    """Run one program, or serve as a host that forks a process for each."""
    if sys.argv[1] == "--host":
        _host()
    else:
        _import_tensorflow()
        _run(Path(sys.argv[1]))


def _import_tensorflow() -> None:
    import logging

    import keras  # noqa: F401
    import tensorflow as tf

    # The strategy chats through this logger; a tail of stderr should show what went wrong instead.
    tf.get_logger().setLevel(logging.ERROR)


def _run(folder: Path) -> None:
    _end_even_if_orphaned(folder)
    os.environ[VALUES] = str(folder / "values.jsonl")
    os.chdir(folder)  # what a snippet saves goes away with its folder
    (folder / "ready").touch()
    program = folder / "program.py"
    try:
        # autograph reads source files, so the program is compiled under its real path.
        exec(compile(program.read_text(encoding="utf-8"), str(program), "exec"), {"__name__": "__main__"})
        code = 0
    except BaseException as error:
        _write_error(folder, error)
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    # No orderly exit: tearing down TensorFlow's threads can stall for seconds and tells nothing.
    os._exit(code)


def _end_even_if_orphaned(folder: Path) -> None:
    """Whoever set the deadline may be killed first; the alarm's default action ends even a blocked process."""
    if hasattr(signal, "alarm"):
        signal.alarm(int((folder / "alarm").read_text()))


def _write_error(folder: Path, error: BaseException) -> None:
    traceback.print_exc()
    found = {"error": type(error).__name__, "message": str(error)}
    (folder / "error.json").write_text(json.dumps(found), encoding="utf-8")


def _host() -> None:
    _import_tensorflow()
    print("ready", flush=True)
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            _become_snippet(Path(line.strip()))
        print(pid, flush=True)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _become_snippet(folder: Path) -> None:
    os.setpgid(0, 0)
    for stream, name in ((1, "stdout"), (2, "stderr")):
        file = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, stream)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    _run(folder)
