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
# They tint backgrounds and signs only: words keep the theme's own ink, which is readable on its page.
_WRONG, _RIGHT = "#D55E00", "#009E73"
_CARD = f"border:1px solid #8884;border-left:4px solid {_WRONG};border-radius:4px;padding:2px 14px 8px;margin:8px 0"
_CODE = (
    "font-family:var(--jp-code-font-family, monospace);font-size:13px;line-height:1.35;"
    "background:#8881;padding:8px;border-radius:4px;margin:4px 0;overflow-x:auto"
)
_CONTEXT = 1  # unchanged lines shown on either side of a change
_GAP = "⋮"


@dataclass(frozen=True)
class Cards:
    """Some traps, to be shown one below the other; `folded` ones show their titles until they are clicked."""

    traps: tuple[Trap, ...]
    folded: bool = False

    def __repr__(self) -> str:
        return "\n\n".join(text_card(trap) for trap in self.traps)

    def _repr_html_(self) -> str:
        return "\n".join(_folded(trap) if self.folded else html_card(trap) for trap in self.traps)

    def _repr_markdown_(self) -> str:
        return "\n\n".join(markdown_card(trap) for trap in self.traps)


def html_card(trap: Trap) -> str:
    """One trap as HTML: the repro in full, of the remedy what changes, and the rest to be clicked open."""
    name = f"<small><code>{trap.name}</code></small>"
    return f'<div style="{_CARD}">\n{_paragraph(f"<b>{_inline(trap.title)}</b> {name}")}\n{_body(trap)}\n</div>'


def _folded(trap: Trap) -> str:
    summary = f"<summary>{_inline(trap.title)}</summary>"
    return f'<details style="margin:6px 0">{summary}<div style="{_CARD}">\n{_body(trap)}\n</div></details>'


def _body(trap: Trap) -> str:
    goes = _goes(trap)
    repro = [(line, _WRONG if number in goes else "") for number, line in enumerate(trap.repro.splitlines())]
    change = [(f"{sign} {line}".rstrip(), {"+": _RIGHT, "-": _WRONG}.get(sign, "")) for sign, line in changes(trap)]
    return "\n".join(
        [
            _paragraph(_inline(trap.symptom)),
            _details("It starts with", trap.setup),
            _code(repro),
            _paragraph(f"{_sign('✗', _WRONG)} <b>Gives</b> {_inline(str(trap.outcome))}"),
            _code(change),
            _details("The whole mended program", trap.program("remedy")),
            _paragraph(f"{_sign('✓', _RIGHT)} <b>Mended</b> {_inline(str(trap.mended))}"),
            _paragraph(f"<b>Why</b> {_inline(trap.why)}"),
            _paragraph(f"<small>Seen on {escape(trap.versions)} · {_links(trap)}</small>"),
        ]
    )


def markdown_card(trap: Trap) -> str:
    """One trap as Markdown, with the same parts."""
    change = "\n".join(f"{sign} {line}".rstrip() for sign, line in changes(trap))
    whole = f"```python\n{trap.program('remedy')}```"
    links = " · ".join(f"<{url}>" for url in trap.references)
    return "\n\n".join(
        [
            f"**{trap.title}** (`{trap.name}`)",
            trap.symptom,
            f"```python\n{trap.repro}```",
            f"**Gives** {trap.outcome}",
            f"```diff\n{change}\n```",
            f"<details><summary>The whole mended program</summary>\n\n{whole}\n\n</details>",
            f"**Mended** {trap.mended}",
            f"**Why** {trap.why}",
            f"Seen on {trap.versions} · {links}",
        ]
    )


def text_card(trap: Trap) -> str:
    """One trap as plain text: what it is, what it gives, why. The code is in `trap.repro` and `trap.remedy`."""
    return f"{trap.title} ({trap.name})\n{trap.symptom}\nGives: {trap.outcome}\nWhy: {trap.why}"


def changes(trap: Trap) -> list[tuple[str, str]]:
    """What the remedy changes, as (sign, line): "+" comes, "-" goes, " " stays beside a change, "⋮" is the rest.

    A line that goes is listed only where nothing comes in its place; the repro has it marked already.
    """
    old, new = trap.repro.splitlines(), trap.remedy.splitlines()
    shown, end = [], 0
    for group in _matcher(trap).get_grouped_opcodes(_CONTEXT):
        if group[0][3] > end:
            shown.append((_GAP, ""))
        for tag, i1, i2, j1, j2 in group:
            if tag == "delete":
                shown += [("-", line) for line in old[i1:i2]]
            lines = [line for line in new[j1:j2] if line or tag != "equal"]
            shown += [(" " if tag == "equal" else "+", line) for line in lines]
        end = group[-1][4]
    return shown if end == len(new) else [*shown, (_GAP, "")]


def _goes(trap: Trap) -> set[int]:
    """The numbers, from 0, of the repro's lines that the remedy takes out or replaces."""
    spans = [range(i1, i2) for tag, i1, i2, _, _ in _matcher(trap).get_opcodes() if tag != "equal"]
    return {number for span in spans for number in span}


def _matcher(trap: Trap) -> difflib.SequenceMatcher:
    return difflib.SequenceMatcher(None, trap.repro.splitlines(), trap.remedy.splitlines(), autojunk=False)


def _code(lines: list[tuple[str, str]]) -> str:
    spans = []
    for line, colour in lines:
        tint = f' style="background:{colour}33"' if colour and line.strip() else ""
        spans.append(f"<span{tint}>{escape(line)}</span>")
    return f'<pre style="{_CODE}">' + "\n".join(spans) + "</pre>"


def _details(summary: str, source: str) -> str:
    return (
        f'<details style="margin:6px 0"><summary><small>{summary} …</small></summary>'
        f'<pre style="{_CODE}">{escape(source.rstrip())}</pre></details>'
    )


def _paragraph(html: str) -> str:
    return f'<p style="margin:6px 0">{html}</p>'


def _sign(sign: str, colour: str) -> str:
    return f'<b style="color:{colour}">{sign}</b>'


def _inline(text: str) -> str:
    """Escaped text, with `code` between backticks set as code."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if number % 2 else part for number, part in enumerate(parts))


def _links(trap: Trap) -> str:
    return " · ".join(f'<a href="{escape(url)}">{escape(url.split("//")[1])}</a>' for url in trap.references)
