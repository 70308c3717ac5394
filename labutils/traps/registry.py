"""What a trap is, and what its snippets must give for it to count as confirmed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

#: Names a condition may use besides the reported values: enough for arithmetic, nothing that acts.
_ARITHMETIC = {"__builtins__": {}, "abs": abs, "max": max, "min": min, "len": len, "sum": sum}


@dataclass(frozen=True)
class Raises:
    """The snippet stops with this error, and `says` stands in its message.

    `also` are other pairs of error and words: replicas run in threads, and which of them fails first may vary.
    """

    error: str
    says: str
    also: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return f"{self.error}: … {self.says} …"

    def mismatch(self, run) -> str | None:
        """What differs between this outcome and a `Run`, or None when they agree."""
        if run.ended != "raised":
            return f"expected {self.error}, but the snippet {run.ended} ({run.values})"
        pairs = ((self.error, self.says), *self.also)
        if not any(run.error == error and says in run.message for error, says in pairs):
            return f"expected {self}, got {run.error}: {run.message}"
        return None


@dataclass(frozen=True)
class Gives:
    """The snippet ends by itself, and every condition holds for the values it reported."""

    sentence: str
    conditions: tuple[str, ...]

    def __str__(self) -> str:
        return self.sentence

    def mismatch(self, run) -> str | None:
        """What differs between this outcome and a `Run`, or None when they agree."""
        if run.ended != "finished":
            return f"expected values, but the snippet {run.ended}: {run.error} {run.message}\n{run.stderr}"
        return _broken(self.conditions, run.values)


@dataclass(frozen=True)
class Hangs:
    """The snippet reports what `conditions` ask for, then never ends: it is killed after `seconds`."""

    sentence: str
    conditions: tuple[str, ...]
    seconds: float = 8.0

    def __str__(self) -> str:
        return self.sentence

    def mismatch(self, run) -> str | None:
        """What differs between this outcome and a `Run`, or None when they agree."""
        if run.ended != "was killed":
            return f"expected a hang, but the snippet {run.ended}: {run.error or run.values} {run.message}"
        return _broken(self.conditions, run.values)


def _broken(conditions: tuple[str, ...], values: Mapping) -> str | None:
    for condition in conditions:
        try:
            # Our own text from the registry, never a learner's; the values are parsed JSON.
            holds = eval(condition, _ARITHMETIC | dict(values))
        except NameError:
            return f"nothing was reported for {condition!r}; reported: {dict(values)}"
        if not holds:
            return f"{condition!r} does not hold for {dict(values)}"
    return None


@dataclass(frozen=True, repr=False)
class Trap:
    """One known trap: what you see, the smallest code that shows it, and the code that mends it.

    `repro` and `remedy` start after `setup`; both run as they stand. `outcome` and `mended` say what each gives.
    """

    name: str
    title: str
    symptom: str
    repro: str
    outcome: Raises | Gives | Hangs
    remedy: str
    mended: Gives
    why: str
    versions: str
    references: tuple[str, ...]
    chapters: tuple[str, ...]
    setup: str

    def __post_init__(self) -> None:
        for field in ("setup", "repro", "remedy"):
            object.__setattr__(self, field, getattr(self, field).strip("\n") + "\n")

    def program(self, which: str = "repro") -> str:
        """The whole script of the `repro` or the `remedy`, set-up included."""
        return f"{self.setup}\n{getattr(self, which)}"

    def __repr__(self) -> str:
        return f"Trap({self.name!r}: {self.title})"

    def _repr_html_(self) -> str:
        from labutils.traps.cards import html_card

        return html_card(self)

    def _repr_markdown_(self) -> str:
        from labutils.traps.cards import markdown_card

        return markdown_card(self)
