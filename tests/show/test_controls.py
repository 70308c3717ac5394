"""Controls: what they offer, that a sweep hides nothing, and that a learner's play never ends in a traceback."""

import base64
import itertools

import ipywidgets as widgets
import pytest

from labutils.show import style
from labutils.show.controls import FULL_SWEEP, choose, explore, pick

PNG = b"\x89PNG\r\n\x1a\n"


def picture(**values):
    """A small figure that depends on the values alone."""
    with style.style():
        figure = style.picture(1, 1)
        figure.text(0.1, 0.5, "-".join(str(value) for value in values.values()))
    return figure


class Drawn:
    """A draw function that remembers what it was asked for, and refuses what it was told to."""

    def __init__(self, refuse=()):
        self.calls, self.refuse = [], refuse

    def __call__(self, **values):
        self.calls.append(values)
        if set(values.values()) & set(self.refuse):
            raise ValueError(f"{values} cannot be drawn: choose fewer.")
        return picture(**values)


# --- one control ---


def test_a_slider_offers_its_values_and_moves_only_on_release():
    slider = pick("Replicas", [1, 2, 4], 2, shown="{} replicas".format)
    assert isinstance(slider, widgets.SelectionSlider)
    assert slider.value == 2 and [value for _, value in slider.options] == [1, 2, 4]
    assert [shown for shown, _ in slider.options] == ["1 replicas", "2 replicas", "4 replicas"]
    assert slider.continuous_update is False


@pytest.mark.parametrize("make", [pick, choose])
def test_without_a_value_the_first_is_taken_and_any_iterable_will_do(make):
    assert make("Replicas", range(1, 4)).value == 1
    assert make("Link", iter(["slow", "fast"])).value == "slow"


def test_falsy_values_are_values_too():
    assert pick("Loss", [0, 1], 0).value == 0
    assert choose("Overlap", [True, False], False).value is False


@pytest.mark.parametrize("make", [pick, choose])
def test_a_control_with_nothing_to_choose_says_so(make):
    for options in ([], [4]):
        with pytest.raises(ValueError, match=rf"'Replicas' needs at least two values .* not {len(options)}\."):
            make("Replicas", options)


@pytest.mark.parametrize("make", [pick, choose])
def test_a_control_that_cannot_start_there_names_what_it_offers(make):
    with pytest.raises(ValueError, match=r"'Replicas' cannot start at 3: it offers \[1, 2, 4\]"):
        make("Replicas", [1, 2, 4], 3)


# --- a picture with its controls ---


def test_the_first_picture_is_that_of_the_first_values():
    drawn = Drawn()
    explorer = explore(drawn, replicas=pick("Replicas", [1, 2]), link=choose("Link", ["slow", "fast"], "fast"))
    assert drawn.calls == [{"replicas": 1, "link": "fast"}] == [explorer.values]
    assert bytes(explorer.picture.value).startswith(PNG) and explorer.seconds > 0
    assert repr(explorer) == "Explorer(replicas=1, link='fast')"


def test_an_error_of_the_first_picture_is_raised():
    with pytest.raises(ValueError, match="cannot be drawn"):
        explore(Drawn(refuse=[1]), replicas=pick("Replicas", [1, 2]))


def test_a_moved_control_draws_the_picture_of_the_new_values():
    explorer = explore(Drawn(), replicas=pick("Replicas", [1, 2]))
    explorer.controls["replicas"].value = 2
    assert explorer.picture.value == picture(replicas=2)._repr_png_() != picture(replicas=1)._repr_png_()


def test_an_error_during_play_is_a_sentence_and_the_next_good_value_clears_it():
    explorer = explore(Drawn(refuse=[2]), replicas=pick("Replicas", [1, 2, 4]))
    slider, before = explorer.controls["replicas"], explorer.picture.value
    slider.value = 2
    assert "ValueError" in explorer.message.value and "cannot be drawn: choose fewer." in explorer.message.value
    assert explorer.picture.value == before  # the last good picture stays
    slider.value = 4
    assert explorer.message.value == "" and explorer.picture.value == picture(replicas=4)._repr_png_()


def test_a_sweep_draws_every_combination_once_and_leaves_the_controls():
    drawn = Drawn()
    offered = {"replicas": [1, 2, 4], "link": ["slow", "fast"], "overlap": [False, True]}
    controls = {name: pick(name, values) for name, values in offered.items()}
    explorer = explore(drawn, **controls)
    before, drawn.calls = explorer.values, []
    seconds = explorer.sweep()
    expected = [dict(zip(offered, values, strict=True)) for values in itertools.product(*offered.values())]
    assert drawn.calls == expected and len(seconds) == 12 and min(seconds) > 0
    assert explorer.values == before


def test_a_sweep_of_too_many_combinations_still_draws_every_value_of_every_control():
    drawn = Drawn()
    values = list(range(8))
    explorer = explore(drawn, **{name: pick(name, values) for name in "abc"})
    assert len(values) ** 3 > FULL_SWEEP
    drawn.calls = []
    assert len(explorer.sweep()) == 3 * len(values)
    for name in "abc":
        assert {call[name] for call in drawn.calls} == set(values)


def test_a_sweep_raises_the_error_that_play_only_shows():
    explorer = explore(Drawn(refuse=[4]), replicas=pick("Replicas", [1, 2, 4]))
    with pytest.raises(ValueError, match="cannot be drawn"):
        explorer.sweep()


def test_readers_without_a_kernel_see_the_picture():
    explorer = explore(Drawn(), replicas=pick("Replicas", [1, 2]))
    bundle = explorer._repr_mimebundle_()
    assert base64.b64decode(bundle["image/png"]) == explorer.picture.value
    assert bundle["text/plain"] == "Explorer(replicas=1)"
    assert "application/vnd.jupyter.widget-view+json" in bundle
