"""Capturing a profile: a few steps under TensorFlow's profiler, each marked, or nothing at all."""

import contextlib
import os
import shutil
import tempfile
import time
import weakref
from dataclasses import dataclass
from pathlib import Path

FEWEST_STEPS = 5  # below this an odd step cannot be told from a usual one
SHORTEST = 0.02  # s of a capture
MARKER = "train"  # the name that xprof and TensorBoard look for, together with the step's number
_RUNS = Path("plugins") / "profile"  # below a log directory, as TensorBoard wants it
_session = None  # TensorFlow has one profiler per process, so have we


@dataclass(frozen=True)
class Capture:
    """A profile on disk: the `folder` of its run, the `steps` in it, the `seconds` they took, `warnings` about it."""

    logdir: Path
    folder: Path
    steps: int
    seconds: float
    warnings: tuple[str, ...] = ()

    def __repr__(self):
        steps = f"{self.steps} step{'s' if self.steps != 1 else ''}"
        lines = [f"{steps} in {self.seconds:.3g} s, captured as run {self.folder.name} of {self.logdir}"]
        return "\n".join([*lines, *(f"  careful: {warning}" for warning in self.warnings)])


class Session:
    """TensorFlow's profiler, running into a hidden folder that becomes a run of `logdir` only if all goes well.

    `run` and `host` name the run's folder and the file in it; several workers of one job share a run and have a host
    each. `opened_by` says in errors who uses the profiler.
    """

    def __init__(self, logdir, opened_by, run=None, host=None):
        _check_names(logdir, run, host)
        self.logdir, self.opened_by, self.run, self.host = Path(logdir).expanduser(), opened_by, run, host
        self.steps, self.seconds, self._marker, self._began = 0, 0.0, None, 0.0

    def start(self):
        """Begin. RuntimeError where another profiler is running, OSError where the folder cannot be written."""
        global _session
        _close_stale()
        self._parts = _hidden_folder(self.logdir)
        try:
            _start(str(self._parts))
        except BaseException:
            shutil.rmtree(self._parts, ignore_errors=True)
            raise
        running = _profiler()
        _session, self._own = self, weakref.ref(running) if running is not None else lambda: None
        del running  # which would keep it running

    def begin_step(self):
        import tensorflow as tf

        if not self.steps:
            self._began = time.perf_counter()
        self._marker = tf.profiler.experimental.Trace(MARKER, step_num=self.steps, _r=1)
        self._marker.__enter__()

    def end_step(self):
        if self._marker is not None:
            self._marker.__exit__(None, None, None)
            self._marker = None
            self.steps += 1
            self.seconds = time.perf_counter() - self._began

    def stop(self, keep=True):
        """End; a Capture, or None where there is nothing to keep. Whatever is not kept is deleted."""
        global _session
        import tensorflow as tf

        self._marker = None
        _session = None if _session is self else _session
        try:
            # Somebody may have stopped ours, and begun one of their own.
            if self._own() is _profiler():
                with contextlib.suppress(tf.errors.UnavailableError):
                    tf.profiler.experimental.stop(save=keep)
            found = sorted((self._parts / _RUNS).glob("*")) if keep else []
            return self._keep(found[-1]) if found and self.steps else None
        finally:
            shutil.rmtree(self._parts, ignore_errors=True)

    def _keep(self, made):
        folder = self.logdir / _RUNS / (self.run or _free_name(self.logdir, made.name))
        folder.mkdir(parents=True, exist_ok=True)
        for file in made.iterdir():
            kind = file.name.partition(".")[2]
            name = f"{self.host}.{kind}" if self.host else file.name
            os.replace(file, folder / name)
        return Capture(self.logdir, folder, self.steps, self.seconds, _warnings(self.steps, self.seconds))


def capture(fn, logdir, steps=10, warm_up=3, *, run=None, host=None):
    """Call `fn()` under the profiler, `steps` times, each call marked as a step: a Capture.

    `fn` is one whole training step, fetching its batch included, and returns something of its result, which is waited
    for. It is called `warm_up` times before, unseen, so that tracing and compiling are over. For Keras' `fit` there is
    `StepMarkers`. An exception of `fn`, or an interrupt, stops the profiler and leaves no capture. TypeError or
    ValueError for arguments that make no sense; RuntimeError where another profiler is running; OSError where the
    folder cannot be written.
    """
    if not callable(fn):
        raise TypeError(
            f"capture calls a function for every step; it got {fn!r}. Pass the function itself, not its result."
        )
    _check_count("steps", steps, 1)
    _check_count("warm_up", warm_up, 0)
    for _ in range(warm_up):
        _wait(fn())
    session, done = Session(logdir, "profile.capture", run, host), False
    session.start()
    try:
        for _ in range(steps):
            session.begin_step()
            _wait(fn())
            session.end_step()
        done = True
    finally:
        captured = session.stop(keep=done)
    return captured


def _check_count(name, value, least):
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} is a whole number, such as 10; it was {value!r}.")
    if value < least:
        raise ValueError(f"{name} is {least} or more; it was {value}.")


def _wait(result):
    """Until the numbers are there: on a GPU, a step returns before it has been done."""
    import tensorflow as tf

    for leaf in tf.nest.flatten(result):
        for each in getattr(leaf, "values", (leaf,)) if not callable(getattr(leaf, "values", None)) else (leaf,):
            if hasattr(each, "numpy"):
                each.numpy()


def _profiler():
    """TensorFlow's running profiler, or None. Nobody may hold on to it: that would keep it running."""
    from tensorflow.python.profiler import profiler_v2  # it has no public name

    return getattr(profiler_v2, "_profiler", None)


def _close_stale():
    """An interrupted cell may have left our own profiler running; what it saw is nobody's wish any more."""
    if _session is not None:
        _session.stop(keep=False)


def _check_names(logdir, run, host):
    if "://" in str(logdir):
        raise ValueError(
            f"A capture is written to a folder of this machine, not to {logdir}. Copy it there afterwards."
        )
    for what, name in (("run", run), ("host", host)):
        if name is not None and (not str(name) or name != os.path.basename(str(name)) or str(name).startswith(".")):
            raise ValueError(f"{what} is a plain name, without folders; it was {name!r}.")


def _start(folder):
    import tensorflow as tf

    try:
        tf.profiler.experimental.start(folder)
    except tf.errors.AlreadyExistsError:
        raise RuntimeError(
            "Another profiler is running in this process already: a TensorBoard callback with profile_batch, or "
            "tf.profiler.experimental.start in some cell. There can be one at a time. Let it end, or call "
            "tf.profiler.experimental.stop() once, and run this again."
        ) from None


def _hidden_folder(logdir):
    try:
        logdir.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=".capture-", dir=logdir))
    except OSError as error:
        raise type(error)(
            error.errno, f"A capture cannot be written to {logdir}: {error.strerror}. Name a folder of your own"
        ) from None


def _free_name(logdir, name):
    """`name`, the second of the capture, or with a number behind it where two fell into one second."""
    names = [name, *(f"{name}_{number}" for number in range(2, 1000))]
    return next(each for each in names if not (logdir / _RUNS / each).exists())


def _warnings(steps, seconds):
    found = []
    if steps < FEWEST_STEPS:
        found.append(
            f"{steps} step{'s are' if steps != 1 else ' is'} too few to tell the usual step from an odd one; take "
            f"{FEWEST_STEPS} or more"
        )
    if seconds < SHORTEST:
        found.append(f"all steps together took {1e3 * seconds:.1f} ms, which is little to judge by; take more of them")
    return tuple(found)
