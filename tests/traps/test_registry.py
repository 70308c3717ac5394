"""The registry is complete, renders the same every time, and its deadlines hold."""

import ast
import dataclasses
import os
import re
import subprocess
import sys
import time
from html.parser import HTMLParser
from urllib.parse import urlparse

import psutil
import pytest

from labutils import traps
from labutils.traps.cards import changes

EVERY = pytest.mark.parametrize("trap", traps.TRAPS.values(), ids=traps.TRAPS)
REQUIRED = {
    "uneven-last-batch", "uneven-first-batch", "replica-count-changed", "new-iterator-every-epoch",
    "jit-compile-mirrored", "batchnorm-unsynchronised", "whose-batch-size", "train-step-sums-replicas",
    "mean-or-share-sum-or-mean", "scalar-custom-loss", "empty-replica-nan", "optimizer-outside-scope",
    "compile-outside-scope", "model-outside-scope", "optimizer-built-outside-scope", "devices-too-late",
    "devices-that-do-not-exist", "float16-jit-mirrored", "reset-states-gone", "get-scaled-loss-gone",
    "legacy-optimizers-gone", "save-without-extension", "input-ran-out",
    "clipping-before-all-reduce", "decay-after-warmup", "rate-scaled-twice",
    "python-in-map", "cache-after-augmentation", "cache-never-filled", "shuffle-after-decode",
    "prefetch-injected", "shuffle-buffer-too-small",
}  # fmt: skip


def test_the_traps_we_promise_are_there():
    assert set(traps.TRAPS) >= REQUIRED


def test_importing_the_registry_loads_no_tensorflow():
    code = "import sys, labutils.traps; print({'tensorflow', 'keras', 'numpy'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "set()"


@EVERY
def test_every_field_is_filled(trap):
    for field in dataclasses.fields(trap):
        assert getattr(trap, field.name), field.name
    assert trap.name == trap.name.lower() and " " not in trap.name and "_" not in trap.name
    assert all(len(number) == 2 and number.isdigit() for number in trap.chapters)


@EVERY
def test_references_are_urls(trap):
    for url in trap.references:
        parts = urlparse(url)
        assert parts.scheme == "https" and "." in parts.netloc and len(parts.path) > 1


@EVERY
def test_snippets_are_short_and_parse(trap):
    for source in (trap.repro, trap.remedy):
        ast.parse(source)
        assert len(source.splitlines()) <= 40 and max(map(len, source.splitlines())) <= 110
    assert trap.repro != trap.remedy


def test_names_are_unique():
    modules = [module for module in vars(traps).values() if hasattr(module, "TRAPS") and hasattr(module, "__file__")]
    entries = [trap for module in modules for trap in module.TRAPS]
    assert len(entries) == len(traps.TRAPS)


def test_chapters_find_their_traps():
    assert traps.TRAPS["uneven-last-batch"] in traps.for_chapter("01")
    assert all("02" in trap.chapters for trap in traps.for_chapter("02")) and len(traps.for_chapter("02")) > 15
    assert {"decay-after-warmup", "rate-scaled-twice"} <= {trap.name for trap in traps.for_chapter("03")}
    assert traps.for_chapter("99") == ()


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(KeyError, match=r"no-such.*uneven-last-batch"):
        traps.show("no-such")


class Card(HTMLParser):
    """What a card shows at once, what it holds folded by its summary, and its blocks of code in order."""

    def __init__(self, html):
        super().__init__()
        self.open, self.folded, self.code, self.tinted = "", {}, [], []
        self._summary = self._in = None
        self._tint = False
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        if tag == "details":
            self._summary = ""
        if tag in ("summary", "pre"):
            self._in = tag
        if tag == "pre" and not self._summary:
            self.code.append("")
        self._tint = tag == "span" and bool(attrs)

    def handle_endtag(self, tag):
        if tag == "details":
            self._summary = None
        if tag == self._in:
            self._in = None
        if tag == "span":
            self._tint = False

    def handle_data(self, data):
        if self._in == "summary":
            self._summary += data
        elif self._summary:
            self.folded[self._summary] = self.folded.get(self._summary, "") + data
        else:
            self.open += data
            if self._in == "pre":
                self.code[-1] += data
        if self._tint:
            self.tinted.append(data)


SETUP, WHOLE = "It starts with …", "The whole mended program …"


@EVERY
def test_a_card_shows_the_repro_and_the_change_and_folds_the_rest(trap):
    card = Card(trap._repr_html_())
    repro, change = card.code
    assert repro == trap.repro.rstrip("\n")
    assert card.folded == {SETUP: trap.setup.rstrip(), WHOLE: trap.program("remedy").rstrip()}
    for part in (trap.title, trap.symptom, str(trap.outcome), str(trap.mended), trap.why, trap.versions):
        assert part.replace("`", "") in card.open
    assert "+ " in change and len(change.splitlines()) <= 18
    assert all(f'href="{url}"' in trap._repr_html_() for url in trap.references)


@EVERY
def test_the_lines_shown_turn_the_repro_into_the_remedy(trap):
    """Whoever changes just what is marked, by hand, ends with the remedy."""
    marked = set(Card(trap._repr_html_()).tinted)
    kept = [line for line in trap.repro.splitlines() if line not in marked]
    added = [line for sign, line in changes(trap) if sign == "+"]
    assert added and sorted([*kept, *added]) == sorted(trap.remedy.splitlines())
    assert {f"+ {line}" for line in added if line} <= marked


@EVERY
def test_a_card_is_the_same_each_time(trap):
    card = traps.show(trap.name)
    assert card._repr_html_() == trap._repr_html_() == traps.show(trap.name)._repr_html_()
    assert card._repr_markdown_() == traps.show(trap.name)._repr_markdown_()
    assert trap.title in repr(card)


@EVERY
def test_markdown_holds_both_programs(trap):
    markdown = trap._repr_markdown_()
    blocks = re.findall(r"```(\w+)\n(.*?)```", markdown, re.DOTALL)
    assert [language for language, _ in blocks] == ["python", "diff", "python"]
    assert (blocks[0][1], blocks[2][1]) == (trap.repro, trap.program("remedy"))
    assert blocks[1][1].startswith(("+", "-", " ", "⋮")) and trap.title in markdown


def test_a_card_escapes_what_is_code():
    html = traps.TRAPS["train-step-sums-replicas"]._repr_html_()
    assert "{&quot;loss&quot;: loss}" in html
    assert "<lambda" not in html and "<module" not in html and "0x" not in html


def test_code_scrolls_in_the_font_of_code():
    for style in re.findall(r'<pre style="([^"]*)"', traps.TRAPS["uneven-last-batch"]._repr_html_()):
        assert "font-family:var(--jp-code-font-family, monospace)" in style
        assert "font-size:13px" in style and "overflow-x:auto" in style


def test_folded_cards_show_their_titles_alone():
    names = "uneven-last-batch", "devices-too-late"
    html = traps.show(*names, folded=True)._repr_html_()
    for name in names:
        title = traps.TRAPS[name].title.replace("'", "&#x27;")
        assert html.count(title) == 1 and f"<summary>{title}</summary>" in html
    assert html.count("<details") == html.count("</details>") == 3 * len(names)


def test_conditions_that_do_not_hold_are_told():
    run = traps.Run("finished", 0, 1.0, values={"ratio": 1.0})
    assert "does not hold" in traps.Gives("four", ("ratio > 3",)).mismatch(run)
    assert "nothing was reported" in traps.Gives("four", ("other > 3",)).mismatch(run)
    assert "expected TypeError" in traps.Raises("TypeError", "no").mismatch(run)
    assert "expected a hang" in traps.Hangs("hangs", ()).mismatch(run)


def gone(pid, within=10):
    """Whether a killed process ends within some seconds; a zombie has ended."""
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.02)
    return False


HANGING = """
import os, signal, subprocess, sys, time
from labutils.traps import report
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
report(own=os.getpid(), child=child.pid)
time.sleep(600)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
def test_a_deadline_ends_a_hang_and_all_it_started(host):
    started = time.monotonic()
    run = traps.run_program(HANGING, timeout=2, host=host)
    assert run.ended == "was killed" and time.monotonic() - started < 30
    again = traps.run_program("from labutils.traps import report; report(well=1)", host=host)
    assert again.values == {"well": 1}
    assert gone(run.values["own"]) and gone(run.values["child"])


def test_a_process_of_its_own_reports_errors_values_and_deadlines():
    source = "from labutils.traps import report\nreport(a=1)\nreport(b=[2.5])\nraise ValueError('why not')"
    run = traps.run_program(source)
    assert (run.ended, run.exit, run.error, run.message) == ("raised", 1, "ValueError", "why not")
    assert run.values == {"a": 1, "b": [2.5]} and "Traceback" in run.stderr and "a = 1" in run.stdout
    assert str(run) == "a = 1\nb = [2.5]\nValueError: why not"
    assert "RuntimeWarning" not in run.stderr


def test_a_crash_is_told_from_an_error(host):
    run = traps.run_program("import os\nos.abort()", host=host)
    assert run.ended == "died" and run.exit != 0
