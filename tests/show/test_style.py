from itertools import combinations

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from labutils.show import style

# Machado, Oliveira & Fernandes 2009, "A Physiologically-based Model for Simulation of Color Vision Deficiency",
# severity 1.0: matrices on linear RGB.
DEFICIENCIES = {
    "none": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}


def linear(color):
    parts = np.array(to_rgb(color))
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """CIE L*a*b* (D65) of linear RGB."""
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ np.clip(rgb, 0, 1) / np.array([0.9505, 1.0, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
def test_phases_stay_apart_for_every_kind_of_colour_vision(deficiency):
    seen = {phase: lab(DEFICIENCIES[deficiency] @ linear(style.color(phase))) for phase in style.PHASES}
    seen["forward"] = lab(DEFICIENCIES[deficiency] @ linear(style.color("forward")))
    for one, other in combinations(seen, 2):
        difference = np.linalg.norm(seen[one] - seen[other])
        assert difference > 15, f"{one} and {other} look alike: colour difference {difference:.1f}"


@pytest.mark.parametrize("phase", style.ORDER)
def test_labels_can_be_read_on_every_phase(phase):
    def luminance(color):
        return np.array([0.2126, 0.7152, 0.0722]) @ linear(color)

    color = style.color(phase)
    bright, dark = sorted((luminance(color), luminance(style.ink_on(color))), reverse=True)
    assert (bright + 0.05) / (dark + 0.05) >= 4.5  # WCAG 2, level AA


def test_every_phase_has_its_colour_and_a_place_in_the_legend():
    assert set(style.PHASES) <= set(style.ORDER) == set(style.COLORS)
    assert style.color("backward") == style.color("compute") != style.color("forward")


def test_an_unknown_phase_is_named_with_those_there_are():
    with pytest.raises(ValueError, match=r"'allreduce' has no colour: choose one of input, .*all-reduce.*\.$"):
        style.color("allreduce")


def test_own_settings_do_not_bend_the_pictures():
    with matplotlib.rc_context({"lines.markersize": 40, "font.size": 5}), style.style():
        assert matplotlib.rcParams["lines.markersize"] == matplotlib.rcParamsDefault["lines.markersize"]
        assert matplotlib.rcParams["font.size"] >= 12


def test_the_style_is_gone_after_its_block():
    before = dict(matplotlib.rcParams)
    with style.style():
        assert matplotlib.rcParams["font.size"] >= 12
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize(
    "largest, scale", [(2, (1, "")), (0.02, (1e3, "m")), (3e-5, (1e6, "µ")), (0, (1e9, "n")), (4e4, (1e-3, "k"))]
)
def test_units_bring_numbers_between_1_and_1000(largest, scale):
    assert style.si_scale(largest) == scale


def test_a_notebook_shows_a_picture_once():
    from IPython.core.formatters import DisplayFormatter

    with style.style():
        figure = style.picture(2, 1)
    data, _ = DisplayFormatter().format(figure)
    assert [kind for kind in data if kind.startswith("image/")] == ["image/png"]
    assert data["image/png"].startswith(b"\x89PNG")
    import matplotlib.pyplot as plt

    assert plt.get_fignums() == []  # so nothing is drawn again at the end of the cell
