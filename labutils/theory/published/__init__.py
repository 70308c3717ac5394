"""Figures that others have published, to hold predictions against: small tables, each with its source.

table = load("goyal2017_fig3")
table["batch"], table["error"], table.source
"""

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Table:
    """A published table: `source` to cite wherever it is shown, `notes` on how it was read, `columns` by name.

    A column is an array of floats where every cell is a number, and of words otherwise.
    """

    source: str
    notes: str
    columns: dict

    def __getitem__(self, name):
        if name not in self.columns:
            raise ValueError(f"this table has no column {name!r}: choose one of {', '.join(self.columns)}.")
        return self.columns[name]

    def __len__(self):
        return len(next(iter(self.columns.values())))

    def where(self, **wanted):
        """The rows in which each named column has the wanted value; ValueError where there is none."""
        keep = np.ones(len(self), bool)
        for name, value in wanted.items():
            keep &= self[name] == value
        if not keep.any():
            choices = "; ".join(f"{name} has {', '.join(map(str, dict.fromkeys(self[name])))}" for name in wanted)
            raise ValueError(f"no row has {wanted}: {choices}.")
        return Table(self.source, self.notes, {name: values[keep] for name, values in self.columns.items()})


def names():
    """The names of all tables there are."""
    return sorted(path.stem for path in _FOLDER.glob("*.csv"))


def load(name):
    """Read the table `name`; ValueError that lists the names for any other."""
    if name not in names():
        raise ValueError(f"there is no table {name!r}: choose one of {', '.join(names())}.")
    first, *lines = (_FOLDER / f"{name}.csv").read_text(encoding="utf-8").splitlines()
    source, _, notes = first.removeprefix("# source: ").partition("; notes: ")
    header, *rows = csv.reader(lines)
    columns = {title: _column(cells) for title, cells in zip(header, zip(*rows, strict=True), strict=True)}
    return Table(source, notes, columns)


def _column(cells):
    try:
        return np.array(cells, float)
    except ValueError:
        return np.array(cells)
