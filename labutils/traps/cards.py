"""How traps look: a card in a notebook, and the same as Markdown and as plain text.

The same trap always renders to the same bytes: stored outputs are compared with new ones.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labutils.traps.registry import Trap

# Okabe and Ito's vermillion and bluish green: told apart by every kind of sight, in both Jupyter themes.
_WRONG, _RIGHT = "#D55E00", "#009E73"
_CARD = f"border:1px solid #8884;border-left:4px solid {_WRONG};border-radius:4px;padding:2px 14px 8px;margin:8px 0"
_CODE = "background:#8881;padding:8px;border-radius:4px;margin:4px 0;overflow-x:auto;line-height:1.35"


@dataclass(frozen=True)
class Cards:
    """Some traps, to be shown one below the other; `folded` ones show their titles until they are clicked."""

    traps: tuple[Trap, ...]
    folded: bool = False

    def __repr__(self) -> str:
        return "\n\n".join(text_card(trap) for trap in self.traps)

    def _repr_html_(self) -> str:
        cards = [html_card(trap) for trap in self.traps]
        if self.folded:
            cards = [_folded(trap, card) for trap, card in zip(self.traps, cards, strict=True)]
        return "\n".join(cards)

    def _repr_markdown_(self) -> str:
        return "\n\n".join(markdown_card(trap) for trap in self.traps)


def html_card(trap: Trap) -> str:
    """One trap as HTML. Lines that the remedy changes are marked in both snippets."""
    removed, added = changed_lines(trap.repro, trap.remedy)
    return "\n".join(
        [
            f'<div style="{_CARD}">',
            f'<p style="margin:6px 0"><b>{_inline(trap.title)}</b> <small><code>{trap.name}</code></small></p>',
            f'<p style="margin:6px 0">{_inline(trap.symptom)}</p>',
            _details("Both snippets start with", trap.setup),
            _code(trap.repro, removed, _WRONG),
            f'<p style="margin:6px 0"><b style="color:{_WRONG}">Gives</b> {_inline(str(trap.outcome))}</p>',
            _code(trap.remedy, added, _RIGHT),
            f'<p style="margin:6px 0"><b style="color:{_RIGHT}">Mended</b> {_inline(str(trap.mended))}</p>',
            f'<p style="margin:6px 0"><b>Why</b> {_inline(trap.why)}</p>',
            f'<p style="margin:6px 0"><small>Seen on {escape(trap.versions)} · {_links(trap)}</small></p>',
            "</div>",
        ]
    )


def _folded(trap: Trap, card: str) -> str:
    return f'<details style="margin:6px 0"><summary>{_inline(trap.title)}</summary>{card}</details>'


def markdown_card(trap: Trap) -> str:
    """One trap as Markdown."""
    links = " · ".join(f"<{url}>" for url in trap.references)
    return "\n\n".join(
        [
            f"**{trap.title}** (`{trap.name}`)",
            trap.symptom,
            f"```python\n{trap.repro}```",
            f"**Gives** {trap.outcome}",
            f"```python\n{trap.remedy}```",
            f"**Mended** {trap.mended}",
            f"**Why** {trap.why}",
            f"Seen on {trap.versions} · {links}",
        ]
    )


def text_card(trap: Trap) -> str:
    """One trap as plain text: what it is, what it gives, why. The code is in `trap.repro` and `trap.remedy`."""
    return f"{trap.title} ({trap.name})\n{trap.symptom}\nGives: {trap.outcome}\nWhy: {trap.why}"


def changed_lines(before: str, after: str) -> tuple[set[int], set[int]]:
    """The numbers, from 0, of the lines that go and of the lines that come."""
    old, new = before.splitlines(), after.splitlines()
    removed, added = set(), set()
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            removed.update(range(i1, i2))
            added.update(range(j1, j2))
    return removed, added


def _code(source: str, marked: set[int], colour: str) -> str:
    lines = []
    for number, line in enumerate(source.rstrip("\n").splitlines()):
        style = f' style="background:{colour}33"' if number in marked and line.strip() else ""
        lines.append(f"<span{style}>{escape(line)}</span>")
    return f'<pre style="{_CODE}">' + "\n".join(lines) + "</pre>"


def _details(summary: str, source: str) -> str:
    return (
        f"<details><summary><small>{summary} …</small></summary>"
        f'<pre style="{_CODE}">{escape(source.rstrip())}</pre></details>'
    )


def _inline(text: str) -> str:
    """Escaped text, with `code` between backticks set as code."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if number % 2 else part for number, part in enumerate(parts))


def _links(trap: Trap) -> str:
    return " · ".join(f'<a href="{escape(url)}">{escape(url.split("//")[1])}</a>' for url in trap.references)
