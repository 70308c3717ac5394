"""The pictures that hold formats side by side."""

import numpy as np
import pytest

from labutils.bench import compare
from labutils.show.precisions import (
    draw_accuracies,
    draw_memory,
    draw_published_accuracies,
    draw_published_gpus,
    draw_speeds,
)
from labutils.theory import published


def labels(axes):
    return [text.get_text() for text in axes.get_yticklabels()]


def test_each_run_is_a_point():
    figure = draw_accuracies({"float32": [0.97, 0.98], "mixed_float16": [0.96, 0.97]})
    points = [line for line in figure.axes[0].lines if line.get_marker() == "o"]
    assert [list(line.get_xdata()) for line in points] == [[97, 98], [96, 97]]
    assert labels(figure.axes[0]) == ["float32", "mixed_float16"]
    assert draw_accuracies({"float32": [0.9]}).axes
    with pytest.raises(ValueError, match="at least one format"):
        draw_accuracies({})


def test_each_comparison_is_a_row():
    ticks = iter(np.arange(10**6) * 1e-3)
    same = compare(lambda: None, lambda: None, clock=lambda: next(ticks), budget=0.5)
    figure = draw_speeds({"product": {"bfloat16": same, "float16": same}, "step": {"float16": same}})
    assert labels(figure.axes[0]) == ["product, bfloat16", "product, float16", "step, float16"]
    with pytest.raises(ValueError, match="at least one comparison"):
        draw_speeds({})


def test_predicted_and_measured_stand_side_by_side():
    figure = draw_memory({"dense, float32": (1e6, 2e6), "conv, bfloat16": (3e6, 3e6)})
    assert sorted(bar.get_width() for bar in figure.axes[0].patches) == [1, 2, 3, 3]
    with pytest.raises(ValueError, match="at least one pair"):
        draw_memory({})


def test_the_published_ratios_are_those_of_the_table():
    table = published.load("nvidia_dle_mixed")
    drawn = sorted(x for line in draw_published_gpus().axes[0].lines[:2] for x in line.get_xdata())
    assert drawn == pytest.approx(sorted(table["mixed"] / table["float32"]))


def test_published_figures_as_they_stand_in_the_source():
    table = published.load("nvidia_dle_mixed")
    row = table.where(model="ResNet-50", gpu="A100")
    assert (row["float32"][0], row["mixed"][0]) == (909, 2375)
    assert "729963dd47e7" in table.source and set(table["baseline"]) == {"FP32", "TF32"}


def test_the_published_accuracies_are_those_of_the_table():
    table = published.load("nvidia_dle_accuracy")
    change = 100 * (table["mixed"] / table["full"] - 1)
    containers = draw_published_accuracies().axes[0].containers
    assert sorted(x for each in containers for x in each[0].get_xdata()) == pytest.approx(sorted(change))
    row = table.where(model="ResNeXt-101", gpu="A100")
    assert (row["full"][0], row["mixed"][0]) == (79.38, 79.20)
    repeated = np.isfinite(table["full_std"])
    assert repeated.sum() == 16  # eight settings each of SIM and of Wide & Deep
    spread = np.hypot(table["full_std"], table["mixed_std"])[repeated]
    assert np.all(np.abs(table["mixed"] - table["full"])[repeated] < 2 * spread)
