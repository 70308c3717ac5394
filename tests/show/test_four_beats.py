import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "figures" / "four_beats.py"


@pytest.fixture(scope="module")
def four_beats():
    spec = importlib.util.spec_from_file_location("four_beats", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_stored_picture_is_what_the_script_draws(four_beats):
    assert four_beats.SVG.read_text(encoding="utf-8") == four_beats.svg(), "run python figures/four_beats.py again"


def test_the_four_beats_can_be_read(four_beats, assert_readable):
    assert_readable(four_beats.draw())
