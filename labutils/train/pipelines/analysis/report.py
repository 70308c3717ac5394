"""An Analysis as text and as HTML."""

import html as markup
import math

from labutils.bench.table import Table
from labutils.bench.units import format_si
from labutils.train.lint.finding import listed
from labutils.train.pipelines.analysis.chain import ENDLESS, UNKNOWN

_NO_FAULT = {"prefetch-injected"}  # worth knowing, and nothing to mend
_LIMIT = "At the machine's limit: do less work per sample, or move it (cache, offline, more cores)."


def text(analysis):
    """All of it, for a terminal."""
    lines = [headline(analysis), *_bounds(analysis)]
    if analysis.stages:
        lines += ["", repr(table(analysis))]
    for title, entries in _lists(analysis):
        lines += ["", title]
        for number, (head, code, rest) in enumerate(entries, 1):
            lines.append(f"  {number}. {head}")
            lines += [f"     {each}" for each in (code, rest) if each]
    return "\n".join(lines)


def html(analysis):
    """All of it, for a notebook."""
    head = f"<b>{markup.escape(headline(analysis))}</b>"
    parts = [head, *(f"<div>{markup.escape(line)}</div>" for line in _bounds(analysis))]
    if analysis.stages:
        parts.append(table(analysis)._repr_html_())
    for title, entries in _lists(analysis):
        items = "".join(_item(*entry) for entry in entries)
        parts.append(f"<b>{markup.escape(title)}</b><ol>{items}</ol>")
    return f"<div>{''.join(parts)}</div>"


def headline(analysis):
    """The rate and the first element, in a line."""
    if not analysis.rate > 0:
        return f"No rate could be measured ({_count(analysis.cardinality)})."
    text = f"{rate(analysis, analysis.rate)}; the first element came after {format_si(analysis.first_latency, 's')}"
    if analysis.first_epoch_rate > 0:
        text += f"; {rate(analysis, analysis.first_epoch_rate)} in the first epoch, which fills the cache"
    return f"{text} ({_count(analysis.cardinality)})."


def rate(analysis, elements):
    """A rate in elements/s and, where they are batches, in samples/s."""
    shown = format_si(float(elements), "elements/s")
    return f"{shown} = {format_si(elements * analysis.samples, 'samples/s')}" if analysis.samples > 1 else shown


def table(analysis):
    """The stages, from the source to the output."""
    header = ("stage", "time per element", "share", "threads", "notes")
    rows = [
        (
            each.name,
            "-" if math.isnan(each.seconds) else format_si(each.seconds, "s"),
            "-" if math.isnan(each.share) else f"{each.share:.0%}",
            "" if each.threads is None else str(each.threads),
            ", ".join(each.notes),
        )
        for each in analysis.stages
    ]
    return Table(header, rows, right=(1, 2, 3), dim=[n for n, each in enumerate(analysis.stages) if each.stored])


def _bounds(analysis):
    bound = analysis.bound
    if not bound.stages or not math.isfinite(bound.rate):
        return []
    by = {
        "all cores": f"all {analysis.cores} cores are at work, most of all on {listed(bound.stages)}",
        "one thread": f"one thread, which runs {listed(bound.stages)}",
        "its threads": f"the threads of {listed(bound.stages)}",
    }.get(bound.why, f"{bound.why}, which one thread at a time has: {listed(bound.stages)}")
    lines = [f"Bound by {by}."]
    if math.isfinite(analysis.limit):
        lines.append(
            f"The machine's limit for this work, with all {analysis.cores} cores at it: "
            f"{rate(analysis, analysis.limit)}."
        )
    else:
        lines.append("The machine sets no limit: this work only waits.")
    return [*lines, _LIMIT] if analysis.at_the_limit else lines


def _lists(analysis):
    remedies = [
        (f"{each.change} Expect {rate(analysis, each.rate)}.", each.code, each.why) for each in analysis.remedies
    ]
    found = [(each, (f"{each.name}: {each.sentence}", "", each.remedy)) for each in analysis.findings]
    findings = [entry for each, entry in found if each.name not in _NO_FAULT]
    notes = [entry for each, entry in found if each.name in _NO_FAULT] + [(each, "", "") for each in analysis.notes]
    lists = (("What to try", remedies), ("What was recognised", findings), ("To know", notes))
    return [(title, entries) for title, entries in lists if entries]


def _item(head, code, rest):
    parts = [markup.escape(head)]
    if code:
        parts.append(f"<code>{markup.escape(code)}</code>")
    if rest:
        parts.append(f'<span style="color:#555555">{markup.escape(rest)}</span>')
    return f"<li>{'<br>'.join(parts)}</li>"


def _count(cardinality):
    return {ENDLESS: "endless", UNKNOWN: "length unknown"}.get(cardinality, f"{cardinality:,} elements")
