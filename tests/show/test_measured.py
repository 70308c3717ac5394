"""Pictures of measurements: every value is there, and what is left out of sight is said."""

import pytest

from labutils.bench.measure import Measurement
from labutils.show.measured import draw_predicted, draw_values


def measurement(values, unit="s"):
    ordered = sorted(values)
    return Measurement(tuple(values), unit, ordered[len(values) // 2], (ordered[2], ordered[-3]))


STEADY = measurement([0.010, 0.012, 0.011, 0.013, 0.011, 0.012, 0.0105])
SPIKED = measurement([0.010, 0.012, 0.011, 0.900, 0.011, 0.012, 0.0105, 0.5])


def points(axes):
    return next(line for line in axes.lines if line.get_label() == "one value")


def test_every_value_stands_in_its_order_with_median_and_interval(assert_readable):
    figure = draw_values(STEADY)
    (axes,) = figure.axes
    assert axes.get_ylabel() == "time (ms)"
    assert list(points(axes).get_xdata()) == list(range(1, STEADY.n + 1))
    assert list(points(axes).get_ydata()) == pytest.approx([value * 1e3 for value in STEADY.values])
    median = next(line for line in axes.lines if line.get_label() == "median")
    assert set(median.get_ydata()) == {STEADY.median * 1e3}
    (band,) = axes.patches
    assert (band.get_y(), band.get_y() + band.get_height()) == pytest.approx([end * 1e3 for end in STEADY.interval])
    assert axes.get_xlabel() == "value number" and axes.get_ylim()[0] == 0
    assert_readable(figure)


def test_a_spike_does_not_flatten_the_rest_and_is_counted(assert_readable):
    figure = draw_values(SPIKED)
    (axes,) = figure.axes
    assert len(points(axes).get_ydata()) == SPIKED.n
    top = axes.get_ylim()[1]
    outside = [value for value in points(axes).get_ydata() if value > top]
    assert len(outside) == 2 and "(2 above the picture)" in axes.get_xlabel()
    assert top < 5 * SPIKED.median * 1e3
    assert_readable(figure)


@pytest.mark.parametrize(("scale", "label"), [(1e-6, "time (ns)"), (1e-3, "time (µs)"), (1e3, "time (s)")])
def test_the_axis_takes_the_unit_that_suits(scale, label, assert_readable):
    figure = draw_values(measurement([value * scale for value in STEADY.values]))
    assert figure.axes[0].get_ylabel() == label
    assert_readable(figure)


def test_nothing_measured_is_a_sentence():
    with pytest.raises(ValueError, match="nothing to draw: this measurement has no values"):
        draw_values(Measurement((), "s", 0.0, (0.0, 0.0)))


COUNTS = [1, 2, 4]
MEASURED = [measurement([n * value for value in STEADY.values]) for n in COUNTS]
PREDICTED = {"by the model": [0.01, 0.02, 0.04], "by the gut": [0.01, 0.01, 0.01]}


@pytest.mark.parametrize("log", [False, True])
def test_predictions_are_lines_and_measurements_points_with_their_intervals(log, assert_readable):
    figure = draw_predicted(COUNTS, PREDICTED, MEASURED, "replicas", log=log)
    (axes,) = figure.axes
    assert axes.get_ylabel() == "time (ms)" and axes.get_xlabel() == "replicas"
    lines = {line.get_label(): list(line.get_ydata()) for line in axes.lines}
    for label, values in PREDICTED.items():
        assert lines[f"predicted: {label}"] == pytest.approx([value * 1e3 for value in values])
    (bars,) = axes.containers
    middle, _, (stems,) = bars.lines
    assert list(middle.get_ydata()) == pytest.approx([one.median * 1e3 for one in MEASURED])
    for stem, one in zip(stems.get_segments(), MEASURED, strict=True):
        assert sorted(stem[:, 1]) == pytest.approx([end * 1e3 for end in one.interval])
    assert (axes.get_xscale(), axes.get_yscale()) == (("log", "log") if log else ("linear", "linear"))
    if not log:
        assert axes.get_ylim()[0] == 0 and list(axes.get_xticks()) == COUNTS
    assert_readable(figure)


@pytest.mark.parametrize(
    ("predicted", "measured", "who"),
    [({"by the gut": [1.0]}, MEASURED, "'by the gut' has 1"), (PREDICTED, MEASURED[:2], "'measured' has 2")],
)
def test_lengths_that_differ_are_named(predicted, measured, who):
    with pytest.raises(ValueError, match=f"{who} values for 3 places on the x axis"):
        draw_predicted(COUNTS, predicted, measured, "replicas")


def test_nothing_and_too_much_to_draw_are_refused():
    with pytest.raises(ValueError, match="nothing to draw: give at least one place"):
        draw_predicted([], {}, [], "replicas")
    with pytest.raises(ValueError, match="4 predictions cannot be told apart: give 3 or fewer"):
        draw_predicted(COUNTS, {name: [1.0] * 3 for name in "abcd"}, MEASURED, "replicas")
