"""Train from the sliders: only the button trains, and what it trained stays in the picture."""

import base64
from types import SimpleNamespace

import pytest

from labutils.show import trainer as module
from labutils.show.controls import pick
from labutils.show.curves import COLORS
from labutils.show.trainer import Trainer


def result(steps, outcome="reached"):
    return SimpleNamespace(setting=SimpleNamespace(batch=32), steps=(1, steps), losses=(2.3, 0.19), outcome=outcome)


class Training:
    """Stands in for real training: remembers what it was asked for."""

    def __init__(self):
        self.asked = []

    def __call__(self, batch, rate):
        self.asked.append((batch, rate))
        if batch > 1280:
            raise ValueError("batch is <2000>: choose a batch of at most 1280.")
        return f"{batch}, {rate}", result(10 * len(self.asked))


@pytest.fixture
def training():
    return Training()


@pytest.fixture
def trainer(training):
    return Trainer(training, 0.2, 1280, batch=pick("Batch", [32, 64, 2000]), rate=pick("Rate", [0.1, 0.2]))


@pytest.fixture
def drawn(monkeypatch):
    """The groups of each picture drawn."""
    seen = []
    draw = module.draw_curves
    monkeypatch.setattr(module, "draw_curves", lambda groups, *rest: seen.append(groups) or draw(groups, *rest))
    return seen


def test_a_slider_trains_nothing_and_the_button_one_run_at_its_values(trainer, training):
    trainer.controls["batch"].value = 64
    trainer.controls["rate"].value = 0.2
    assert training.asked == [] and trainer.picture.value == b""
    trainer.button.click()
    assert training.asked == [(64, 0.2)]
    assert bytes(trainer.picture.value).startswith(b"\x89PNG")
    assert trainer.message.value == "64, 0.2: reached the target after 10 steps"
    assert not trainer.button.disabled


def test_values_given_in_code_go_before_the_controls(trainer, training):
    assert trainer.run(rate=0.2).steps == (1, 10)
    assert training.asked == [(32, 0.2)]


def test_runs_gather_and_the_same_label_replaces_its_curve(trainer, drawn):
    trainer.run()
    trainer.run(rate=0.2)
    trainer.run()
    assert [list(groups) for groups in drawn] == [["32, 0.1"], ["32, 0.1", "32, 0.2"], ["32, 0.2", "32, 0.1"]]
    assert trainer.runs["32, 0.1"].steps == (1, 30)


def test_there_are_never_more_curves_than_colours(trainer, monkeypatch):
    monkeypatch.setattr(trainer, "_draw", lambda: None)
    trainer.train = lambda batch, rate: (f"rate {rate}", result(10))
    for rate in range(len(COLORS) + 3):
        trainer.run(rate=rate)
    assert list(trainer.runs) == [f"rate {rate}" for rate in range(3, len(COLORS) + 3)]


def test_what_cannot_be_trained_is_a_sentence_and_the_earlier_runs_stay(trainer):
    trainer.run()
    before = trainer.picture.value
    trainer.controls["batch"].value = 2000
    trainer.button.click()
    assert trainer.message.value == "<b>Not trained:</b> batch is &lt;2000&gt;: choose a batch of at most 1280."
    assert trainer.picture.value == before and list(trainer.runs) == ["32, 0.1"]
    assert not trainer.button.disabled
    trainer.run(batch=64)
    assert "Not trained" not in trainer.message.value


@pytest.mark.parametrize("error", [KeyError("a mistake of the author"), KeyboardInterrupt()])
def test_an_interrupt_or_a_mistake_is_seen_and_leaves_the_button_usable(trainer, error):
    def fail(**_):
        assert trainer.button.disabled  # no second press meanwhile
        raise error

    trainer.train = fail
    with pytest.raises(type(error)):
        trainer.run()
    assert not trainer.button.disabled and trainer.message.value == "<b>Not trained.</b>"


def test_a_run_that_did_not_get_there_is_told_with_its_loss(trainer):
    trainer.train = lambda batch, rate: ("wild", result(7, "diverged"))
    trainer.run()
    assert trainer.message.value == "wild: diverged after 7 steps, test loss 0.19"


def test_clear_forgets_the_runs_and_their_picture(trainer, drawn):
    trainer.run()
    trainer.clear.click()
    assert trainer.runs == {} and trainer.picture.value == b"" and "press Train" in trainer.message.value
    trainer.run(rate=0.2)
    assert list(drawn[-1]) == ["32, 0.2"]


def test_readers_without_a_kernel_see_the_curves_and_what_they_say(trainer):
    bundle = trainer._repr_mimebundle_()
    assert "image/png" not in bundle and bundle["text/plain"] == "Trainer(no runs yet)"
    trainer.run()
    trainer.run(rate=0.2)
    bundle = trainer._repr_mimebundle_()
    assert base64.b64decode(bundle["image/png"]) == trainer.picture.value
    assert bundle["text/plain"].splitlines() == [
        "32, 0.1: reached the target after 10 steps",
        "32, 0.2: reached the target after 20 steps",
    ]
    assert "application/vnd.jupyter.widget-view+json" in bundle
