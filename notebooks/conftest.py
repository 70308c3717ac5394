"""How notebooks are validated: chapters and solutions strictly, labs only run; a dead kernel fails at once, by name."""

import contextlib
import time
from pathlib import Path
from queue import Empty

import pytest
from nbval import plugin
from nbval.kernel import RunningKernel

HERE = Path(__file__).parent
SANITIZERS = HERE / "sanitize.cfg"
OUTPUT_TIMEOUT = 30  # s that outputs may lag behind a cell's end; nbval's own 5 s are too few on a busy machine
POLL = 0.5  # s between two looks at whether the kernel still lives


class KernelDied(Exception):
    """The kernel ended while a cell ran."""


class WatchedKernel(RunningKernel):
    """nbval's kernel, which notices its own death instead of waiting until the cell's whole time is over."""

    def get_message(self, stream, timeout=None):
        deadline = time.monotonic() + (float("inf") if timeout is None else timeout)
        while True:
            living = self.is_alive()  # asked first: the last words of a dead kernel are still read
            try:
                return super().get_message(stream, timeout=max(0, min(POLL, deadline - time.monotonic())))
            except Empty:
                if not living:
                    raise KernelDied(self.epitaph()) from None
                if time.monotonic() >= deadline:
                    raise

    def epitaph(self):
        with contextlib.suppress(AttributeError):
            code = self.km.provisioner.process.returncode
            if code == -9:
                return "The kernel was killed (signal 9), as the system does when memory runs out."
            return f"The kernel died (exit code {code})."
        return "The kernel died."


plugin.RunningKernel = WatchedKernel


def pytest_collectstart(collector):
    """TensorFlow's chatter on stderr differs from machine to machine; labs are unsolved, so they have no outputs."""
    if isinstance(collector, plugin.IPyNbFile):
        collector.skip_compare += ("stderr",)
        collector.compare_outputs = collector.path.parent != HERE / "labs"
        if SANITIZERS.is_file():
            collector.config.option.nbval_sanitize_with = str(SANITIZERS)


def pytest_itemcollected(item):
    if isinstance(item, plugin.IPyNbCell):
        item.output_timeout = OUTPUT_TIMEOUT


def pytest_runtest_setup(item):
    """After a kernel's death the cells below have not failed: they were never run."""
    died_in = getattr(item.parent, "died_in", None)
    if died_in:
        pytest.skip(f"the kernel died in {died_in}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Say of a dead kernel in which cell it died."""
    try:
        if not isinstance(item, plugin.IPyNbCell):
            return (yield)
        if not item.parent.timed_out and not item.parent.kernel.is_alive():
            raise KernelDied(item.parent.kernel.epitaph() + " It was dead before this cell began.")
        return (yield)
    except KernelDied as death:
        item.parent.died_in = item.name
        raise plugin.NbCellError(item.cell_num, str(death), item.cell.source) from None
