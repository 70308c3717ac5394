"""Every trap still snaps just so, and every remedy works; each snippet in a process of its own.

A repro that no longer fails is good news: upstream has mended it, and the trap can be retired.
"""

import pytest

from labutils import traps
from labutils.train.lint import recognise

# From the message alone these two cannot be told from the other.
LOOK_ALIKES = {"compile-outside-scope": "optimizer-outside-scope", "float16-jit-mirrored": "jit-compile-mirrored"}


def assert_explained(name, run):
    """The linter knows the error by its real message, which comes as text from the snippet's process."""
    finding = recognise(type(run.error, (Exception,), {})(run.message))
    assert finding and finding.trap == LOOK_ALIKES.get(name, name), f"explain() does not know the error of {name}"


@pytest.mark.parametrize("name", traps.TRAPS)
class TestRepros:
    """A class of its own, as the next: under xdist each goes to a worker as a whole, and two halve the time."""

    def test_still_fails_just_so(self, name, host):
        trap = traps.TRAPS[name]
        run = traps.run_repro(trap, host=host)
        differs = trap.outcome.mismatch(run)
        assert not differs, f"upstream has mended {name}: retire this trap, or say what it gives now. {differs}"
        if run.ended == "raised":
            assert_explained(name, run)


@pytest.mark.parametrize("name", traps.TRAPS)
class TestRemedies:
    def test_works(self, name, host):
        trap = traps.TRAPS[name]
        differs = trap.mended.mismatch(traps.run_remedy(trap, host=host))
        assert not differs, f"the remedy of {name} does not work: {differs}"
