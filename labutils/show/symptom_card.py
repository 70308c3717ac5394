"""The table of symptoms to look things up in: a card for one, and all of them as a page to print."""

import html
from dataclasses import dataclass
from pathlib import Path

from labutils.bench.table import Table
from labutils.profile.symptoms import BY_NAME, SYMPTOMS, Symptom
from labutils.show.controls import choose, explore

_NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
_COLORS = {
    "input-bound": "#B4B4B4",
    "host-bound": "#CC79A7",
    "communication-bound": "#D55E00",
    "compute-bound": "#0072B2",
    "cannot tell": "#E9E9E9",
}


@dataclass(frozen=True, repr=False)
class SymptomCard:
    """Shows one Symptom: what you see, how it is known, and what to try, with links to the chapters."""

    symptom: Symptom

    def __repr__(self):
        tries = [f"  {number}. {each.do}\n       {each.code}" for number, each in enumerate(self.symptom.remedies, 1)]
        head = f"{self.symptom.title} ({self.symptom.verdict})"
        return "\n".join([head, f"  You see: {self.symptom.see}", f"  Known by: {self.symptom.known}", *tries])

    def _repr_html_(self):
        each = self.symptom
        items = "".join(
            f"<li style='margin:4px 0'>{html.escape(remedy.do)}{_link(remedy.chapter)}<br>"
            f"<code>{html.escape(remedy.code)}</code></li>"
            for remedy in each.remedies
        )
        return (
            f"<div style='border-left:6px solid {_COLORS[each.verdict]};padding:2px 14px;font-size:15px'>"
            f"<div style='font-size:17px'><b>{html.escape(each.title)}</b> ({each.verdict})</div>"
            f"<div style='margin:6px 0'><b>You see:</b> {html.escape(each.see)}</div>"
            f"<div style='margin:6px 0'><b>Known by:</b> {html.escape(each.known)}</div>"
            f"<b>Try, in this order</b><ol style='margin:2px 0'>{items}</ol></div>"
        )


def look_up(name="input-bound"):
    """An Explorer over all symptoms, which shows the card of the one that is chosen."""
    return explore(draw_symptom, name=choose("Symptom", list(BY_NAME), name))


def draw_symptom(name):
    """The SymptomCard of that name; KeyError, with the names there are, for any other."""
    if name not in BY_NAME:
        raise KeyError(f"No symptom is called {name!r}. There are: {', '.join(BY_NAME)}.")
    return SymptomCard(BY_NAME[name])


def all_symptoms():
    """Every symptom with the first remedy to try, as a Table to print."""
    rows = [[each.verdict, each.title, each.known, each.remedies[0].do] for each in SYMPTOMS]
    return Table(["verdict", "symptom", "known by", "try first"], rows)


def _link(chapter):
    found = sorted(_NOTEBOOKS.glob(f"{chapter}_*.ipynb")) if chapter else []
    # In a widget JupyterLab would show it as plain text, and open it in place of this page.
    look = 'target="_blank" style="color: #0b57d0; text-decoration: underline"'
    return f' <a href="{found[0].name}" {look}>chapter {chapter}</a>' if found else ""
