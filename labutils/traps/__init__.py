"""The registry of known traps: what goes wrong, the smallest code that shows it, and the code that mends it.

>>> from labutils import traps
>>> traps.show("uneven-last-batch")        # a card, in a notebook
>>> traps.run_repro(traps.TRAPS["uneven-last-batch"]).values

Snippets run in processes of their own. Importing this loads no TensorFlow.
"""

from types import MappingProxyType

from labutils.traps import batches, compiling, keras3, losses, pipelines, precision, profiler, schedules, scope
from labutils.traps.cards import Cards
from labutils.traps.registry import Gives, Hangs, Raises, Trap
from labutils.traps.running import Host, Run, open_host, report, run_program, run_remedy, run_repro

__all__ = [
    "TRAPS",
    "Cards",
    "Gives",
    "Hangs",
    "Host",
    "Raises",
    "Run",
    "Trap",
    "for_chapter",
    "open_host",
    "report",
    "run_program",
    "run_remedy",
    "run_repro",
    "show",
]

#: Every trap by its name.
TRAPS = MappingProxyType(
    {
        trap.name: trap
        for module in (batches, losses, scope, keras3, schedules, pipelines, profiler, precision, compiling)
        for trap in module.TRAPS
    }
)


def for_chapter(number: str) -> tuple[Trap, ...]:
    """The traps that chapter "02", say, shows, in the registry's order."""
    return tuple(trap for trap in TRAPS.values() if number in trap.chapters)


def show(*names: str, folded: bool = False) -> Cards:
    """The cards of these traps, for the last line of a cell; `folded` leaves just titles, to be clicked open.

    Raises KeyError, with the names there are.
    """
    unknown = [name for name in names if name not in TRAPS]
    if unknown:
        raise KeyError(f"No trap is called {unknown[0]!r}. There are: {', '.join(TRAPS)}.")
    return Cards(tuple(TRAPS[name] for name in names), folded)
