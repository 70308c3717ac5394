"""The linter on schedules: only a decay that the run cuts off is told, and only where the run's length is known."""

import keras
import pytest

from labutils import traps
from labutils.train.lint import check_training

pytestmark = pytest.mark.usefixtures("machine")
schedules = keras.optimizers.schedules
RUN = {"samples": 1280, "batch_size": 128, "epochs": 10}  # 100 steps


def found(schedule, **run):
    return check_training(optimizer=keras.optimizers.SGD(schedule), **(RUN | run))


def warm(decay_steps):
    return schedules.CosineDecay(0.0, decay_steps, warmup_target=0.4, warmup_steps=30)


def test_a_decay_that_counts_from_the_end_of_warmup():
    (finding,) = found(warm(100))
    assert finding.name == "schedule-outlives-run" and finding.trap in traps.TRAPS
    assert "CosineDecay ends at step 130 and the run at step 100" in finding.sentence
    assert "22% of the highest" in finding.sentence


@pytest.mark.parametrize(
    "schedule, run",
    [
        (warm(70), {}),
        (warm(69), {}),
        (warm(100), {"epochs": 13}),
        (warm(100), {"epochs": None}),
        (warm(100), {"samples": None}),
        (warm(100), {"samples": None, "batch_size": None, "steps_per_epoch": 130, "epochs": 1}),
        (schedules.CosineDecay(0.4, 100), {}),
        (schedules.CosineDecay(0.4, 1000, alpha=1.0), {}),
        (schedules.ExponentialDecay(0.4, 1000, 0.9), {}),
        (schedules.PolynomialDecay(0.1, 1000, 0.4), {}),
        (schedules.PolynomialDecay(0.4, 60, cycle=True), {}),
        (0.1, {}),
    ],
)
def test_a_schedule_with_nothing_to_tell(schedule, run):
    assert found(schedule, **run) == []


def test_a_line_that_is_cut_off():
    (finding,) = found(schedules.PolynomialDecay(0.4, 1000))
    assert "PolynomialDecay ends at step 1000" in finding.sentence


def test_the_last_smaller_batch_counts_unless_dropped():
    run = {"samples": 1290, "epochs": 1, "drop_remainder": False}
    assert "the run at step 11:" in found(schedules.CosineDecay(0.4, 20), **run)[0].sentence
    assert (
        "the run at step 10:" in found(schedules.CosineDecay(0.4, 20), **(run | {"drop_remainder": True}))[0].sentence
    )
