"""`python3 -m labutils test`: one pytest run over every test and every notebook, after which nothing is left running.

`resolve` runs in whatever Python called us, so it is written for old ones too; the rest runs in the environment's own.
"""

import contextlib
import ctypes
import os
import pathlib
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from labutils import environment, platforms, processes
from labutils.processes import Stopped, Trouble

MARK = "LABUTILS_RUN"  # every process of a run inherits it, and is known by it
PR_SET_CHILD_SUBREAPER = 36  # from <sys/prctl.h>
MOST_WORKERS = 4  # each may hold a TensorFlow of about 1 GB
GRACE = 3  # s that kernels and browsers get to end after their test


def resolve(patterns, root, cwd=None):
    """The paths, relative to the course's folder, that the patterns name. Trouble where one names nothing."""
    root, cwd = pathlib.Path(root), pathlib.Path(cwd or os.getcwd())
    paths = []
    for pattern in patterns:
        found = _resolve_one(pattern, root, cwd)
        if not found:
            raise Trouble(_nothing_matches(pattern, root))
        paths += [path for path in found if path not in paths]
    return paths


def _files(root):
    tests = sorted((root / "tests").rglob("test_*.py"))
    return tests + [file for file in sorted((root / "notebooks").rglob("*.ipynb")) if not _hidden(file, root)]


def _hidden(file, root):
    return any(part.startswith(".") for part in file.relative_to(root).parts)


def _folders(root):
    found = [folder for base in ("tests", "notebooks") for folder in sorted((root / base).glob("*")) if folder.is_dir()]
    return [folder for folder in found if folder.name[0] not in "._" and folder.name != "benchmarks"]


def _resolve_one(pattern, root, cwd):
    def relative(path):
        return path.relative_to(root).as_posix()

    if "/" not in pattern and os.sep not in pattern:
        folders = [folder for folder in _folders(root) if folder.name == pattern]
        chapter = re.match(r"\d\d(_|$)", pattern)
        names = [file for file in _files(root) if chapter and file.suffix == ".ipynb" and file.name.startswith(pattern)]
        if folders or names:
            return [relative(path) for path in folders + names]
    name, _, node = pattern.partition("::")
    for base in (cwd, root):
        path = pathlib.Path(os.path.abspath(str(base / name)))
        if path.exists() and (path == root or root in path.parents):
            return [relative(path) + ("::" + node if node else "")]
    return [relative(file) for file in _files(root) if pattern in file.stem]


def _nothing_matches(pattern, root):
    folders = [folder.name for folder in _folders(root)]
    chapters = sorted({file.name[:2] for file in _files(root) if re.match(r"\d\d_", file.name)})
    return "Nothing to test is called {!r}. There are the folders {}; the chapters {}; and every path below {}.".format(
        pattern, ", ".join(folders) or "(none)", ", ".join(chapters) or "(none yet)", root
    )


def settings(folder):
    """The environment variables of a run: the same on every machine, with all files of the run in `folder`."""
    temporary = os.path.join(folder, "tmp")  # a killed TensorFlow leaves files: here they go with the run
    os.mkdir(temporary)
    variables = environment.child_environment(
        TMPDIR=temporary,
        TEMP=temporary,
        TMP=temporary,
        PYTEST_DEBUG_TEMPROOT=tempfile.gettempdir(),  # pytest's own folders stay, for who looks into a failure
        TF_CPP_MIN_LOG_LEVEL="3",
        KERAS_BACKEND="tensorflow",
        JUPYTER_PLATFORM_DIRS="1",
        JUPYTER_CONFIG_DIR=os.path.join(folder, "config"),
        JUPYTER_RUNTIME_DIR=os.path.join(folder, "runtime"),
        IPYTHONDIR=os.path.join(folder, "ipython"),
        PYDEVD_DISABLE_FILE_VALIDATION="1",
    )
    for name in ("TF_CONFIG", "MPLBACKEND", "TF_XLA_FLAGS", "XLA_FLAGS"):  # left over in a shell, they change results
        variables.pop(name, None)
    return variables


def command(paths, extra):
    """The one pytest call. Files stay together on a worker, so a notebook's cells share their kernel."""
    workers = str(max(1, min(platforms.cores(), MOST_WORKERS)))
    call = [sys.executable, "-m", "pytest", "--nbval", "-n", workers, "--dist", "loadscope", "--no-loadscope-reorder"]
    plain = [] if sys.stdout.isatty() else ["--color=no"]  # nbval would colour a file, too
    return [*call, *plain, *paths, *extra]


def leftovers(mark):
    """Processes of this run that still live: by the mark they inherited, or because they are below us."""
    import psutil

    found = {process.pid: process for process in processes.descendants(os.getpid())}
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.environ().get(MARK) == mark and process.pid != os.getpid():
                found[process.pid] = process
    return [process for process in found.values() if processes.alive(process)]


def _describe(process):
    try:
        return "{} ({})".format(process.pid, " ".join(process.cmdline())[:200] or process.name())
    except Exception:
        return str(process.pid)


def sweep(mark):
    """Kill what a run left behind, and return its description."""
    deadline = time.monotonic() + GRACE
    left = leftovers(mark)
    while left and time.monotonic() < deadline:
        time.sleep(0.2)
        left = leftovers(mark)
    names = [_describe(process) for process in left]
    processes.kill(left)
    return names


def adopt_orphans():
    """Linux: what a dying test leaves behind becomes our child, so that we can find it."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


def run(arguments, root):
    """Run a pytest command line to its end, its deadline or Ctrl-C. Returns the exit code."""
    limit = processes.seconds_from("LABUTILS_TEST_DEADLINE", 50 * 60)
    mark, folder = secrets.token_hex(8), tempfile.mkdtemp(prefix="labutils-test-")
    adopt_orphans()
    variables = dict(settings(folder), **{MARK: mark})
    child = processes.launch(arguments, cwd=str(root), env=variables, stdin=subprocess.DEVNULL)
    try:
        code = processes.wait(child, limit)
        if code is None:
            processes.stop(child, grace=15, first=signal.SIGINT)  # as Ctrl-C: pytest still says what it has seen
            print(
                f"The tests did not end within {limit:.0f} s and were stopped (LABUTILS_TEST_DEADLINE changes the "
                "limit).",
                file=sys.stderr,
            )
            code = 1
    finally:
        if child.returncode is None:
            processes.stop(child, grace=15, first=signal.SIGINT)
        left = sweep(mark)
        shutil.rmtree(folder, ignore_errors=True)
    if left:
        print("The tests left processes behind, which were killed: {}.".format("; ".join(left)), file=sys.stderr)
    return code or (1 if left else 0)


def main(arguments=None):
    arguments = sys.argv[1:] if arguments is None else arguments
    at = arguments.index("--") if "--" in arguments else len(arguments)
    try:
        with processes.stopping_on_signals():
            return run(command(arguments[:at], arguments[at + 1 :]), environment.root_folder())
    except Trouble as trouble:
        print(trouble, file=sys.stderr)
        return 1
    except Stopped as stopped:
        return stopped.exit_code


if __name__ == "__main__":
    sys.exit(main())
