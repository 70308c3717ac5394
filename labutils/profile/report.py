"""A Diagnosis as a screen of text, as HTML and as JSON."""

import html as markup
import json
import math
import textwrap

from labutils.bench.units import format_si
from labutils.profile.symptoms import BY_NAME

WIDTH = 96
_NAMES = {
    "input": "waits for input",
    "gaps": "gaps between operators",
    "communication": "communication",
    "compute": "compute",
}
_COLORS = {"input": "#B4B4B4", "gaps": "#CC79A7", "communication": "#D55E00", "compute": "#0072B2"}
_MOST = {"evidence": 5, "remedies": 5}
_BAR = 40


def headline(diagnosis):
    """The verdict in a line: "INPUT-BOUND (confidence high): The step waits for its data"."""
    title = BY_NAME[diagnosis.cause].title if diagnosis.cause else ""
    said = f"{diagnosis.verdict.upper()} (confidence {diagnosis.confidence})"
    return f"{said}: {title}" if title else said


def text(diagnosis):
    """All of it, on one screen."""
    lines = [headline(diagnosis), "", *_segments(diagnosis)]
    lines += _block("Evidence", diagnosis.evidence[: _MOST["evidence"]])
    remedies = diagnosis.remedies[: _MOST["remedies"]]
    tries = [f"{remedy.do}{_see(remedy)}\n{remedy.code}" for remedy in remedies]
    lines += _block("Try, in this order", tries, numbered=True)
    lines += _block("To know", _to_know(diagnosis))
    return "\n".join(lines)


def html(diagnosis):
    """The same for a notebook, with the step as a bar in the course's colours."""
    parts = [f"<b style='font-size:16px'>{markup.escape(headline(diagnosis))}</b>", _bar(diagnosis)]
    parts += _list("Evidence", [markup.escape(each) for each in diagnosis.evidence[: _MOST["evidence"]]], "ul")
    tries = [
        f"{markup.escape(remedy.do)}{markup.escape(_see(remedy))}<br><code>{markup.escape(remedy.code)}</code>"
        for remedy in diagnosis.remedies[: _MOST["remedies"]]
    ]
    parts += _list("Try, in this order", tries, "ol")
    parts += _list("To know", [markup.escape(each) for each in _to_know(diagnosis)], "ul")
    return f"<div style='max-width:60em'>{''.join(parts)}</div>"


def as_json(diagnosis):
    """A JSON object; times in seconds, unknown ones null."""
    known = diagnosis.step_time if math.isfinite(diagnosis.step_time) else None
    return json.dumps(
        {
            "logdir": diagnosis.logdir,
            "run": diagnosis.run,
            "verdict": diagnosis.verdict,
            "cause": diagnosis.cause or None,
            "confidence": diagnosis.confidence,
            "step_time_seconds": known,
            "steps": diagnosis.steps,
            "segments_seconds": diagnosis.segments,
            "shares": diagnosis.shares,
            "evidence": list(diagnosis.evidence),
            "symptoms": list(diagnosis.found),
            "remedies": [
                {"do": remedy.do, "code": remedy.code, "chapter": remedy.chapter or None}
                for remedy in diagnosis.remedies
            ],
            "notes": list(diagnosis.notes),
            "official": diagnosis.official or None,
        },
        indent=2,
    )


def _segments(diagnosis):
    if not diagnosis.shares:
        return []
    steps = f"{diagnosis.steps} step{'s' if diagnosis.steps != 1 else ''}"
    lines = [f"The usual step takes {format_si(diagnosis.step_time, 's')} ({steps} judged):"]
    for name, share in diagnosis.shares.items():
        bar = "█" * round(share * _BAR)
        lines.append(f"  {_NAMES[name]:<23}{format_si(diagnosis.segments[name], 's'):>9} {share:>5.0%}  {bar}")
    return lines


def _see(remedy):
    return f" (chapter {remedy.chapter})" if remedy.chapter else ""


def _to_know(diagnosis):
    notes = list(diagnosis.notes)
    if diagnosis.official:
        notes.append(f'TensorBoard\'s overview page says: "{diagnosis.official}"')
    return notes


def _block(title, entries, numbered=False):
    if not entries:
        return []
    lines = ["", title]
    for number, entry in enumerate(entries, start=1):
        mark = f"{number}." if numbered else "-"
        first, *rest = entry.splitlines()
        lines += textwrap.wrap(first, WIDTH, initial_indent=f"  {mark} ", subsequent_indent="    ")
        lines += [f"       {line}" for line in rest]
    return lines


def _list(title, entries, kind):
    if not entries:
        return []
    items = "".join(f"<li>{entry}</li>" for entry in entries)
    return [f"<div style='margin-top:8px'><b>{title}</b></div><{kind} style='margin:2px 0'>{items}</{kind}>"]


def _bar(diagnosis):
    if not diagnosis.shares:
        return ""
    pieces, legend = "", ""
    for name, share in diagnosis.shares.items():
        shown = f"{share:.0%}" if share >= 0.08 else ""
        ink = "white" if name == "compute" else "black"
        pieces += (
            f"<div style='width:{100 * share:.2f}%;background:{_COLORS[name]};color:{ink};text-align:center;"
            f"overflow:hidden'>{shown}</div>"
        )
        time = format_si(diagnosis.segments[name], "s")
        legend += (
            f"<span style='margin-right:1.2em;white-space:nowrap'><span style='color:{_COLORS[name]}'>■</span> "
            f"{_NAMES[name]} {time}</span>"
        )
    steps = f"{diagnosis.steps} step{'s' if diagnosis.steps != 1 else ''}"
    usual = format_si(diagnosis.step_time, "s")
    return (
        f"<div style='margin:6px 0 2px'>The usual step takes {usual} ({steps} judged):</div>"
        f"<div style='display:flex;height:24px;line-height:24px;width:100%'>{pieces}</div><div>{legend}</div>"
    )
