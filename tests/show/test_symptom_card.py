"""The look-up of symptoms: every card whole, every link leading somewhere, the table complete."""

import re
from pathlib import Path

import pytest

from labutils.profile.symptoms import BY_NAME, SYMPTOMS
from labutils.show.symptom_card import SymptomCard, all_symptoms, draw_symptom, look_up

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"


@pytest.mark.parametrize("name", BY_NAME)
def test_a_card_holds_all_of_a_row(name):
    card = draw_symptom(name)
    assert isinstance(card, SymptomCard)
    for remedy in BY_NAME[name].remedies:
        assert remedy.do in repr(card) and remedy.code in repr(card)
    page = card._repr_html_()
    assert page.count("<li") == len(BY_NAME[name].remedies)
    chapters = sum(bool(remedy.chapter) for remedy in BY_NAME[name].remedies)
    links = re.findall(r'href="([^"]+)"', page)
    assert len(links) == chapters and all((NOTEBOOKS / link).is_file() for link in links)


def test_the_look_up_shows_every_card():
    found = look_up("retracing")
    assert "traced again and again" in found.picture.value
    assert len(found.sweep()) == len(SYMPTOMS)
    found.controls["name"].value = "tiny-operators"
    assert "very small operators" in found.picture.value and found.message.value == ""


def test_the_table_has_every_symptom():
    assert [row[1] for row in all_symptoms().rows] == [symptom.title for symptom in SYMPTOMS]


def test_another_name_is_told_which_there_are():
    with pytest.raises(KeyError, match="There are: input-bound"):
        draw_symptom("slow")
