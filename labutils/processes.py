"""Child processes that never outlive us, and the two ways a command ends early.

Standard library only, in syntax that an old Python can read: `labutils.__main__` runs before there is an environment.
"""

import contextlib
import ctypes
import errno
import os
import signal
import subprocess
import sys
import time

WINDOWS = os.name == "nt"
PR_SET_PDEATHSIG = 1  # from <sys/prctl.h>


class Trouble(Exception):
    """A problem we foresaw, told in one sentence: what is wrong, what was seen, what to do."""


class Unexplained(Trouble):
    """A problem whose cause we cannot name; a fresh environment may mend it."""


class Stopped(Exception):
    """Somebody asked us to end: Ctrl-C, a closed terminal, or `kill`."""

    def __init__(self, signum):
        super().__init__(signum)
        self.exit_code = 128 + signum


@contextlib.contextmanager
def stopping_on_signals():
    """Turn the signals that end a program into `Stopped`, so that every `finally` runs, once."""
    signals = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {}

    def stop(signum, frame):
        for each in before:  # a second Ctrl-C must not break the cleaning up, which has its own deadline
            signal.signal(each, signal.SIG_IGN)
        raise Stopped(signum)

    for each in signals:
        if signal.getsignal(each) is not signal.SIG_IGN:  # `nohup` asked for that: respect it
            before[each] = signal.signal(each, stop)
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _end_with_parent():
    """Linux: have the kernel send SIGTERM when our parent dies, even by kill -9."""
    if _LIBC is not None:
        _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


_LIBC = ctypes.CDLL(None) if sys.platform.startswith("linux") else None


def launch(command, **options):
    """Start a child as the head of its own process group, so that it can be ended with all its children."""
    if WINDOWS:
        options["creationflags"] = subprocess.CREATE_NEW_PROCESS_GROUP
    else:
        options["start_new_session"] = True
        options["preexec_fn"] = _end_with_parent
    return subprocess.Popen(command, **options)


def descendants(pid):
    """Every process below `pid`, also those that made sessions of their own. Empty without psutil."""
    try:
        import psutil
    except ImportError:  # before the environment exists there is nothing but pip to end
        return []
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.Error:
        return []


def _signal_group(child, signum):
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if WINDOWS:
            child.terminate()
        else:
            os.killpg(child.pid, signum)


def wait(child, seconds):
    """The exit code, or None when the child still runs after `seconds`."""
    try:
        return child.wait(timeout=max(seconds, 0))
    except subprocess.TimeoutExpired:
        return None


def stop(child, grace=10.0, first=signal.SIGTERM):
    """End a child and all below it: ask, wait `grace` seconds, then kill -9 whatever is left."""
    family = descendants(child.pid)
    if child.poll() is None:
        _signal_group(child, first)
        wait(child, grace)
    if not WINDOWS:
        _signal_group(child, signal.SIGKILL)
    kill(family)
    wait(child, 5)


def kill(processes):
    """kill -9 psutil processes and wait until they are gone."""
    for process in processes:
        with contextlib.suppress(Exception):  # gone already, or not ours to kill
            process.kill()
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline and any(alive(process) for process in processes):
        time.sleep(0.05)


def alive(process):
    """Whether a psutil process still runs; a zombie has ended and only waits to be counted."""
    try:
        return process.is_running() and process.status() != "zombie"
    except Exception:
        return False


def ask(command, deadline, **options):
    """Run a short command to its end; (exit code, its output). The code is None where the deadline passed."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL}
    child = launch(command, **dict(pipes, **options))
    try:
        output = child.communicate(timeout=deadline)[0]
        return child.returncode, output.decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        return None, ""
    finally:
        if child.returncode is None:
            stop(child, grace=1)


def seconds_from(name, default):
    """A deadline in seconds, which the environment variable `name` may change."""
    text = os.environ.get(name, "")
    try:
        return float(text) if text else float(default)
    except ValueError:
        raise Trouble(f"{name} must be a number of seconds, not {text!r}.") from None


def _try_lock(handle):
    """Whether the exclusive lock is ours now. The system frees it when its last holder dies: it is never stale."""
    try:
        if WINDOWS:
            import msvcrt

            os.lseek(handle, 1 << 30, os.SEEK_SET)  # beyond the text: reading the file stays allowed
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as problem:
        # Some network folders know no locks: then a second start at the same moment is the lesser evil.
        return problem.errno not in (errno.EACCES, errno.EAGAIN, errno.EDEADLK)
    return True


@contextlib.contextmanager
def locked(root, say):
    """Only one at a time may change the environment. Yields the lock's file descriptor: a child that holds it keeps
    the lock, so an installer whose parent was killed still keeps others out until it ends."""
    name = os.path.join(str(root), "requirements.txt") if WINDOWS else str(root)
    handle = os.open(name, os.O_RDWR if WINDOWS else os.O_RDONLY)
    limit = seconds_from("LABUTILS_LOCK_DEADLINE", 1800)
    started, told = time.monotonic(), False
    try:
        while not _try_lock(handle):
            if not told:
                say("Another command is preparing .venv at this moment: waiting for it.")
                told = True
            if time.monotonic() - started > limit:
                raise Trouble(
                    f"Another command has been preparing .venv for over {limit / 60:.0f} minutes: end it (look for "
                    "`labutils` or `pip` among the processes), then run this one again."
                )
            time.sleep(0.2)
        yield handle
    finally:
        os.close(handle)
