"""The table of symptoms: whole, without contradictions, and leading only where there is something to read."""

from pathlib import Path

import pytest

from labutils.profile.diagnosis import _CAUSES
from labutils.profile.symptoms import BY_NAME, SYMPTOMS

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
EVERY = pytest.mark.parametrize("symptom", SYMPTOMS, ids=lambda symptom: symptom.name)


@EVERY
def test_a_row_says_all_that_it_must(symptom):
    for text in (symptom.title, symptom.see, symptom.known, *(remedy.do for remedy in symptom.remedies)):
        assert text and text[0].isupper() and "  " not in text
    assert symptom.remedies and all(remedy.code.strip() for remedy in symptom.remedies)


@EVERY
def test_the_chapters_named_are_there(symptom):
    for remedy in symptom.remedies:
        assert not remedy.chapter or list(NOTEBOOKS.glob(f"{remedy.chapter}_*.ipynb")), remedy.do


def test_names_are_unique_and_causes_are_rows():
    assert len(BY_NAME) == len(SYMPTOMS)
    assert {name for names in _CAUSES.values() for name in names} <= set(BY_NAME)


@pytest.mark.parametrize("verdict", _CAUSES)
def test_the_most_telling_cause_speaks_for_its_verdict(verdict):
    assert any(BY_NAME[name].verdict == verdict for name in _CAUSES[verdict])
