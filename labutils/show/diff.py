"""Two versions of a function, side by side in one listing: what was taken out, what was put in."""

import ast
import difflib
import html
import inspect
import textwrap
from dataclasses import dataclass

TAKEN, PUT = "#D55E00", "#009E73"


@dataclass(frozen=True)
class Diff:
    """`lines` are (sign, text): " " kept, "-" taken out, "+" put in. Indentation alone is no change."""

    lines: tuple[tuple[str, str], ...]

    @property
    def changed(self):
        """How many lines of the new version are not in the old one."""
        return sum(sign == "+" for sign, _ in self.lines)

    def __repr__(self):
        return "\n".join(f"{sign} {text}".rstrip() for sign, text in self.lines)

    def _repr_html_(self):
        rows = "".join(_row(sign, text) for sign, text in self.lines)
        return f"<pre style='line-height:1.5; font-family:var(--jp-code-font-family, monospace)'>{rows}</pre>"


def diff(before, after):
    """A Diff of the bodies of two functions; their names and docstrings do not count."""
    old, new = _body(before), _body(after)
    lines = []
    matcher = difflib.SequenceMatcher(None, [line.strip() for line in old], [line.strip() for line in new], False)
    for tag, i, j, k, m in matcher.get_opcodes():
        if tag == "equal":
            lines += [(" ", line) for line in new[k:m]]
        else:
            lines += [("-", line) for line in old[i:j]] + [("+", line) for line in new[k:m]]
    return Diff(tuple(lines))


def _body(function):
    source = textwrap.dedent(inspect.getsource(function))
    lines, definition = source.splitlines(), ast.parse(source).body[0]
    start = next(n for n, line in enumerate(lines) if line.rstrip().endswith(":")) + 1
    if ast.get_docstring(definition) is not None:
        start = definition.body[0].end_lineno
    return textwrap.dedent("\n".join(lines[start:])).splitlines()


def _row(sign, text):
    color = {"-": TAKEN, "+": PUT}.get(sign)
    style = f" style='background:{color}33'" if color else ""
    return f"<span{style}>{sign} {html.escape(text)}</span>\n"
