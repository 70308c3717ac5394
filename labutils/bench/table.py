"""A table that reads well in a notebook and in a terminal."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, repr=False)
class Table:
    """`rows` of texts under `header`. `dim` holds the numbers of rows to show in grey.

    A notebook shows it as HTML, `print` and `str` as aligned text. Columns in `right` are set flush right.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Sequence[int] = ()
    dim: Sequence[int] = ()

    def __repr__(self) -> str:
        lines = [list(self.header), *map(list, self.rows)]
        widths = [max(len(line[column]) for line in lines) for column in range(len(self.header))]
        lines.insert(1, ["-" * width for width in widths])
        return "\n".join(self._line(line, widths) for line in lines)

    def _line(self, texts: Sequence[str], widths: Sequence[int]) -> str:
        cells = [
            text.rjust(width) if column in self.right else text.ljust(width)
            for column, (text, width) in enumerate(zip(texts, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()

    def _repr_html_(self) -> str:
        head = "".join(self._cell("th", column, text) for column, text in enumerate(self.header))
        body = "".join(
            f'<tr style="color:{"#777777" if number in self.dim else "inherit"}">'
            + "".join(self._cell("td", column, text) for column, text in enumerate(row))
            + "</tr>"
            for number, row in enumerate(self.rows)
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def _cell(self, tag: str, column: int, text: str) -> str:
        side = "right" if column in self.right else "left"
        return f'<{tag} style="text-align:{side}">{html.escape(text)}</{tag}>'
