"""The pictures of batch and learning rate: what they draw is what was given, and it can be read."""

import math

import numpy as np
import pytest

from labutils.show.log_scale import log_ticks, short
from labutils.show.scaling import draw_convergence, draw_map, draw_noise_scales, draw_rule, draw_tradeoff
from labutils.theory import published
from labutils.theory.critical_batch import critical_batch, held_out_errors

BATCHES = np.array([8, 16, 32, 64, 128, 256, 512])
RATES = np.array([0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64])


def words(figure):
    return [text.get_text() for text in figure.texts]


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def line(axes, label):
    (found,) = [one for one in axes.lines if one.get_label() == label]
    return found.get_xdata(), found.get_ydata()


# -- published


def test_the_rule_is_drawn_with_the_batch_where_it_breaks(assert_readable):
    table = published.load("goyal2017_fig3")
    figure = draw_rule(table)
    holds, breaks = (container.lines[0] for container in figure.axes[0].containers)
    assert list(holds.get_xdata()) == list(table["batch"][:7])
    assert list(breaks.get_ydata()) == list(table["error"][7:])
    headline, source = words(figure)
    assert headline == "The error stays with that at 256 up to 8,192, and breaks at 16,384"
    assert source == f"Source: {table.source}" and "arXiv:1706.02677, Figure 3" in source
    assert [text.get_text() for text in figure.axes[0].texts] == ["+1.2", "+3.9", "+10.4"]
    assert_readable(figure)


def test_a_rule_that_never_breaks_is_said_to_hold(assert_readable):
    table = published.load("goyal2017_fig3")
    held = published.Table(table.source, "", {name: column[:7] for name, column in table.columns.items()})
    figure = draw_rule(held)
    assert words(figure)[0] == "The error stays with that at 256 up to 8,192"
    assert_readable(figure)


@pytest.mark.parametrize("benchmarks", [("ResNet-50", "BERT"), ("RetinaNet",), ("Llama 3.1 8B", "R-GAT")])
def test_convergence_shows_what_each_point_is_predicted_as_without_it(benchmarks, assert_readable):
    table = published.load("mlperf_convergence")
    figure = draw_convergence(table, benchmarks, width=13 if len(benchmarks) > 1 else 9)
    assert len(figure.axes) == len(benchmarks)
    for axes, benchmark in zip(figure.axes, benchmarks, strict=True):
        rows = table.where(benchmark=benchmark)
        errors = held_out_errors(rows["batch"], examples=rows["mean"])
        measured = axes.containers[0].lines[0].get_ydata()
        predicted = line(axes, "predicted without that point")[1]
        assert predicted / measured - 1 == pytest.approx(errors)
        assert f"held out within {math.ceil(100 * max(abs(errors)))}%" in axes.get_title(loc="left")
        assert line(axes, "critical batch")[0][0] == pytest.approx(
            critical_batch(rows["batch"], examples=rows["mean"]).critical_batch
        )
    assert words(figure)[-1].endswith("github.com/mlcommons/logging")
    assert_readable(figure)


def test_every_benchmark_can_be_drawn(assert_readable):
    table = published.load("mlperf_convergence")
    for benchmark in dict.fromkeys(table["benchmark"]):
        assert_readable(draw_convergence(table, [benchmark], width=9))


def test_noise_scales_has_every_figure_of_the_table(assert_readable):
    table = published.load("mccandlish2018_table1")
    figure = draw_noise_scales(table)
    axes = figure.axes[0]
    dots = [one for one in axes.lines if one.get_marker() in ("o", ">")]
    assert len(dots) == len(table)
    drawn = sorted(float(one.get_xdata()[0]) for one in dots)
    middle = np.where(np.isinf(table["high"]), table["low"], np.sqrt(table["low"] * table["high"]))
    assert drawn == pytest.approx(sorted(middle))
    assert sum(one.get_marker() == ">" for one in dots) == 1  # "more than 8 million"
    assert len(legend(figure)) == 4
    assert "Table 1" in words(figure)[-1]
    assert_readable(figure)


# -- a learner's own runs


def runs(critical, seeds=3, spread=0.07, batches=BATCHES):
    random = np.random.default_rng(0)
    repeated = np.repeat(batches, seeds)
    return repeated, 300 * (1 + critical / repeated) * np.exp(spread * random.normal(size=len(repeated)))


@pytest.mark.parametrize("critical", [3, 30, 90, 2000])
@pytest.mark.parametrize("source", ["", "this machine, 3 seeds a batch"])
def test_the_tradeoff_has_all_runs_and_a_star_at_the_critical_batch(critical, source, assert_readable):
    batches, steps = runs(critical)
    fit = critical_batch(batches, steps)
    figure = draw_tradeoff(zip(batches, steps, strict=True), fit, source=source)
    axes = figure.axes[0]
    x, y = line(axes, "runs, by batch")
    assert x == pytest.approx(steps) and y == pytest.approx(steps * batches)
    (star,) = [one for one in axes.lines if one.get_marker() == "*"]
    assert (star.get_xdata()[0], star.get_ydata()[0]) == pytest.approx((2 * fit.least_steps, 2 * fit.least_examples))
    for limits, value in ((axes.get_xlim(), star.get_xdata()[0]), (axes.get_ylim(), star.get_ydata()[0])):
        assert limits[0] < value < limits[1]
    for limits, values in ((axes.get_xlim(), x), (axes.get_ylim(), y)):
        assert limits[0] < min(values) and max(values) < limits[1]
    assert axes.texts, "no run is named by its batch"
    assert (f"Source: {source}" in words(figure)) == bool(source)
    assert_readable(figure)


def test_an_open_interval_is_drawn_as_any(assert_readable):
    wobble = np.exp(0.02 * np.array([1, -1, 1, -1, 1, -1, 1]))
    steps = 1e6 / BATCHES * wobble
    fit = critical_batch(BATCHES, steps)
    figure = draw_tradeoff(zip(BATCHES, steps, strict=True), fit)
    assert any(text.endswith("to any)") for text in legend(figure))
    assert_readable(figure)


def grid(seeds=3):
    """Steps to target with the best rate growing along the line at first, and diverging runs above it."""
    random = np.random.default_rng(1)
    best = 0.04 * np.minimum(BATCHES / 8, 8)
    away = np.log(RATES[None, :] / best[:, None])
    steps = 300 * (1 + 90 / BATCHES[:, None]) * np.exp(0.5 * away**2)
    steps = steps[:, :, None] * np.exp(0.1 * random.normal(size=(len(BATCHES), len(RATES), seeds)))
    steps[away > 1.8] = np.nan
    return steps


def test_the_map_marks_the_best_rates_and_both_rules(assert_readable):
    steps = grid()
    steps[3, 2, 1:] = np.nan  # a cell counts as reached only where most seeds got there
    steps[4, 3, 1] = np.nan  # as here
    figure = draw_map(BATCHES, RATES, steps, critical_batch=90)
    axes = figure.axes[0]
    medians = np.median(np.where(np.isnan(steps), np.inf, steps), axis=2)
    medians[np.isinf(medians)] = np.nan
    best = [RATES[np.nanargmin(row)] for row in medians]
    bars = axes.containers
    assert [float(bar.lines[0].get_ydata()[0]) for bar in bars] == best
    seeds = [[RATES[np.nanargmin(seed)] for seed in row.T] for row in steps]
    for bar, place in zip(bars, range(len(BATCHES)), strict=True):
        (segment,) = bar.lines[2][0].get_segments()
        assert list(segment[:, 1]) == pytest.approx(
            [min(seeds[place] + [best[place]]), max(seeds[place] + [best[place]])]
        )
    x, y = line(axes, "linear rule")
    assert y / y[0] == pytest.approx(x / x[0])
    x, y = line(axes, "square-root rule")
    assert y / y[0] == pytest.approx(np.sqrt(x / x[0]))
    crosses = set(zip(*line(axes, "not reached"), strict=True))
    assert (BATCHES[3], RATES[2]) in crosses
    assert len(crosses) == np.isnan(medians).sum()
    assert line(axes, "critical batch 90")[0][0] == 90
    assert_readable(figure)


def test_the_map_of_one_seed_without_gaps_or_critical_batch(assert_readable):
    figure = draw_map(BATCHES[:3], RATES[:4], np.nan_to_num(grid(1), nan=9000.0)[:3, :4])
    assert legend(figure) == ["linear rule", "square-root rule", "best rate (bar: by seed)"]
    assert_readable(figure)


def test_a_critical_batch_outside_the_map_is_still_seen(assert_readable):
    figure = draw_map(BATCHES, RATES, grid(), critical_batch=3000.4)
    assert figure.axes[0].get_xlim()[1] > 3000
    assert_readable(figure)


def test_what_cannot_be_drawn_is_refused_with_a_remedy():
    with pytest.raises(ValueError, match=r"no points to draw: pass at least one"):
        draw_tradeoff([], critical_batch(*runs(90)))
    with pytest.raises(ValueError, match=r"steps must have the shape .*\(7, 7\): put one value per run"):
        draw_map(BATCHES, RATES, grid()[:, :, 0])
    with pytest.raises(ValueError, match=r"must be above zero and rise: sort them"):
        draw_map(BATCHES[::-1], RATES, grid())
    with pytest.raises(ValueError, match=r"no batch and rate reached the target .*: there is nothing to draw"):
        draw_map(BATCHES, RATES, grid() * np.nan)
    with pytest.raises(ValueError, match="no row has"):
        draw_convergence(published.load("mlperf_convergence"), ["VGG"])


@pytest.mark.parametrize("low, high", [(1, 9), (0.004, 0.006), (3, 5e6), (280, 320), (1, 1e12)])
def test_ticks_are_few_and_inside(low, high):
    ticks = log_ticks(low, high)
    assert len(ticks) <= 6
    assert all(low <= tick <= high for tick in ticks)


def test_numbers_are_short():
    values = (0.05, 2, 91.4, 20000, 3e6, 1.18e9)
    assert [short(value) for value in values] == ["0.05", "2", "91.4", "20,000", "3 million", "1.18 billion"]
