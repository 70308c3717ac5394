"""What the linter says."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One thing to mend: `sentence` says what, `remedy` how, `trap` is its name in the registry, if it has one."""

    name: str
    sentence: str
    remedy: str
    trap: str | None

    def __str__(self):
        return f"{self.sentence} {self.remedy}"


def listed(names):
    """The names or numbers with commas between them."""
    return ", ".join(str(name) for name in names)
