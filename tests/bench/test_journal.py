import math

import matplotlib.colors
import pytest

from labutils.bench import Journal
from labutils.bench.plot import BLUE, FONT, GREEN

MS = 1e-3


@pytest.fixture
def start(machine, noises):
    """A journal on a planted machine, and the means to make work for it."""
    m = machine(noises.quiet, base=10 * MS)
    baseline = m.work()
    return Journal(baseline, budget=0.8, clock=m.clock, seed=1), m.work


def broken():
    raise ValueError("XLA cannot compile StringSplit\nand a long story about it")


def test_what_is_faster_is_kept_and_the_next_trial_starts_from_it(start):
    journal, work = start
    half, third, slow = work(0.5), work(1 / 3), work(0.7)
    assert journal.trial("half", half).verdict == "faster" and journal.best is half
    found = journal.trial("slow", slow)
    assert found.verdict == "slower" and journal.best is half  # though faster than the baseline
    assert found.ratio == pytest.approx(0.5 / 0.7, rel=0.03)
    assert journal.trial("third", third).ratio == pytest.approx(1.5, rel=0.03)
    assert journal.best is third
    assert [t.kept for t in journal.trials] == [True, False, True]
    assert [t.outcome for t in journal.trials] == ["kept", "rolled back", "kept"]


def test_no_difference_is_rolled_back(start):
    journal, work = start
    assert journal.trial("the same", work()).verdict == "no difference"
    assert journal.best is journal.baseline and journal.speedup == 1.0


def test_what_is_faster_but_wrong_is_rolled_back_with_its_reason(start):
    journal, work = start
    found = journal.trial("cache everything", work(0.1), reject="every epoch is the same")
    assert found.verdict == "faster" and journal.best is journal.baseline and journal.speedup == 1.0
    assert journal.trials[0].outcome == "rolled back: every epoch is the same"
    assert "every epoch is the same" in repr(journal)
    assert any("but every epoch is the same" in text.get_text() for text in journal.plot().axes[0].texts)
    assert journal.trial("half", work(0.5)).ratio == pytest.approx(2, rel=0.03)


def test_a_journal_times_as_many_pairs_as_it_is_told(machine, noises):
    m = machine(noises.quiet, base=1.0)
    journal = Journal(m.work(), budget=2.0, pairs=12, clock=m.clock, seed=1)
    assert journal.trial("slower", m.work(2.0)).baseline.n == 12


def test_what_is_timed_has_its_own_name(machine, noises):
    m = machine(noises.quiet)
    journal = Journal(m.work(), budget=0.1, clock=m.clock, seed=1, timed="time of an epoch")
    journal.trial("half", m.work(0.5))
    assert "time of an epoch" in repr(journal) and "step time" not in repr(journal)
    assert journal.plot().axes[0].get_xlabel() == "time of an epoch (ms)"


def test_the_speed_up_is_the_product_of_what_was_kept(start):
    journal, work = start
    for name, scale in (("a", 0.5), ("b", 0.9), ("c", 0.25), ("d", 0.2)):
        journal.trial(name, work(scale))
    kept = [t.comparison.ratio for t in journal.trials if t.kept]
    assert len(kept) == 3
    assert journal.speedup == pytest.approx(math.prod(kept))
    assert journal.speedup == pytest.approx(5.0, rel=0.05)


def test_a_variant_that_raises_is_recorded_and_rolled_back(start):
    journal, work = start
    found = journal.trial("XLA", broken)
    assert found.error == "ValueError: XLA cannot compile StringSplit"
    assert found.verdict == "no difference" and math.isnan(found.ratio) and found.variant.n == 0
    assert repr(found) == "failed: ValueError: XLA cannot compile StringSplit"
    assert journal.best is journal.baseline
    assert journal.trial("half", work(0.5)).verdict == "faster"
    assert "failed, rolled back: ValueError" in repr(journal)


def test_so_is_one_whose_result_cannot_be_synchronised(machine):
    m = machine()
    work = m.work()
    journal = Journal(lambda: 1 + work(), sync=lambda r: 1 / r, budget=0.05, clock=m.clock)
    assert journal.trial("zero", lambda: 0 * work()).error == "ZeroDivisionError: division by zero"


def test_an_error_of_the_best_itself_is_not_blamed_on_the_variant(machine):
    m = machine()
    journal = Journal(broken, budget=0.05, clock=m.clock)
    with pytest.raises(ValueError, match="StringSplit"):
        journal.trial("innocent", m.work())
    assert journal.trials == ()


def test_an_interrupt_passes_and_leaves_the_journal_as_it_was(start):
    journal, _ = start

    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        journal.trial("interrupted", interrupted)
    assert journal.trials == () and journal.best is journal.baseline
    assert journal.trial("interrupted", journal.baseline).verdict == "no difference"  # the name is free still


def test_names_are_said_once_and_bad_arguments_explained(start):
    journal, work = start
    journal.trial("half", work(0.5))
    with pytest.raises(ValueError, match="named 'half' already"):
        journal.trial("half", work(0.5))
    with pytest.raises(ValueError, match="says what the change is"):
        journal.trial("  ", work(0.5))
    with pytest.raises(TypeError, match="named by a string"):
        journal.trial(work(0.5), "half")
    with pytest.raises(TypeError, match="without calling it"):
        journal.trial("result", 3)
    assert len(journal.trials) == 1
    with pytest.raises(TypeError, match="without calling it"):
        Journal(3)
    with pytest.raises(ValueError, match="positive number"):
        Journal(broken, budget=-1)


def test_the_table_says_it_all(start):
    journal, work = start
    assert "not measured yet" in repr(journal.table())
    journal.trial("half", work(0.5))
    journal.trial("a <tag>", work(0.6))
    journal.trial("XLA", broken)
    lines = repr(journal.table()).splitlines()
    assert lines[0].split("  ")[0] == "change" and set(lines[1]) == {"-", " "}
    assert lines[2].split() == ["baseline", *lines[2].split()[1:2], "ms", "1.00x"]
    assert lines[3].startswith("half") and lines[3].endswith("kept") and "2.0" in lines[3]
    assert lines[4].endswith("rolled back") and "0.8" in lines[4]
    assert "failed" in lines[5]
    html = journal.table()._repr_html_()
    assert html == journal._repr_html_()
    assert html.count("<tr") == 5 and "a &lt;tag&gt;" in html and "<tag>" not in html


def test_a_picture_needs_a_trial(start):
    journal, _ = start
    with pytest.raises(ValueError, match="nothing to draw yet"):
        journal.plot()
    journal.trial("XLA", broken)
    with pytest.raises(ValueError, match="nothing to draw yet"):
        journal.plot()


@pytest.fixture
def drawn(start):
    journal, work = start
    journal.trial("batch first, then one vectorised map over the batch", work(0.4))
    journal.trial("prefetch", work(0.36))
    journal.trial("more parallel calls", work(0.42))
    journal.trial("XLA", broken)
    journal.trial("cache", work(0.1))
    journal.trial("py_function", work(3.0))
    figure = journal.plot()
    figure.canvas.draw()
    return journal, figure


def bars(figure):
    axes = figure.axes[0]
    return [(p.get_x(), p.get_x() + p.get_width(), matplotlib.colors.to_hex(p.get_facecolor())) for p in axes.patches]


def test_the_kept_bars_lead_from_the_baseline_to_the_best(drawn):
    journal, figure = drawn
    green = [(left, right) for left, right, colour in bars(figure) if colour == GREEN.lower()]
    first, last = [right for _, right, colour in bars(figure) if colour == BLUE.lower()]
    assert len(green) == 3
    assert green[0][1] == pytest.approx(first)
    assert green[0][0] == pytest.approx(green[1][1]) and green[1][0] == pytest.approx(green[2][1])
    assert green[2][0] == pytest.approx(last) == pytest.approx(first / journal.speedup)


def test_rolled_back_bars_stay_on_the_picture(drawn):
    _, figure = drawn
    assert max(right for _, right, _ in bars(figure)) <= figure.axes[0].get_xlim()[1]
    assert any("off this scale" in text.get_text() for text in figure.axes[0].texts)


def test_every_label_is_large_on_the_picture_and_clear_of_the_others(drawn):
    _, figure = drawn
    axes = figure.axes[0]
    labels = [t for t in [*axes.texts, *axes.get_yticklabels()] if t.get_text()]
    assert min(t.get_fontsize() for t in [*labels, *axes.get_xticklabels(), axes.xaxis.label]) >= 12
    assert FONT >= 12
    boxes = [t.get_window_extent() for t in labels]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])
    width, height = figure.canvas.get_width_height()
    assert all(b.x0 >= 0 and b.x1 <= width and b.y0 >= 0 and b.y1 <= height for b in boxes)
    assert "step time (ms)" in axes.get_xlabel()


def test_the_picture_is_shown_once(drawn):
    import matplotlib.pyplot as plt

    assert not plt.get_fignums()
