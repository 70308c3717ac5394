"""The plan for another batch: each number from the rule or the model that it is said to come from."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labutils.theory.cost import Link
from labutils.theory.critical_batch import CriticalBatch
from labutils.theory.plan import plan
from labutils.theory.timeline import StepSpec, predict_step

SPEC = StepSpec(
    replicas=1, forward_time=1e-3, backward_time=2e-3, gradient_bytes=1e8, link=Link(1e9, 1e-5), update_time=5e-3
)
FIT = CriticalBatch(critical_batch=1000.0, least_examples=50_000.0, interval=(900.0, 1100.0), batches=(64, 8192))


def planned(batch=256, replicas=8, spec=SPEC, **changes):
    usual = {"base_batch": 256, "base_rate": 0.1, "dataset_size": 1_281_167}
    return plan(batch, replicas, spec, **usual | changes)


def test_the_rate_goes_by_the_batch_it_was_tuned_at_not_by_the_number_of_devices():
    made = planned(8192, 32, base_batch=2048)
    assert made.rate == pytest.approx(0.4)  # and not 0.1 * 32
    assert (made.per_replica_batch, made.replicas, made.batch) == (256, 32, 8192)


@pytest.mark.parametrize(("rule", "rate"), [("linear", 3.2), ("sqrt", 0.1 * math.sqrt(32)), ("none", 0.1)])
def test_each_rule_gives_its_rate(rule, rate):
    assert planned(8192, rule=rule).rate == pytest.approx(rate)


@pytest.mark.parametrize(
    ("batch", "rule", "warms_up"),
    [
        (8192, "linear", True),
        (8192, "sqrt", True),
        (8192, "none", False),
        (256, "linear", False),
        (64, "linear", False),
    ],
)
def test_it_warms_up_only_where_the_rate_grows(batch, rule, warms_up):
    made = planned(batch, rule=rule)
    assert made.warmup_steps == (5 * (1_281_167 // batch) if warms_up else 0)
    start = 0.1 if warms_up else made.rate
    assert made.schedule(0) == pytest.approx(start)
    assert made.schedule(made.warmup_steps) == made.schedule(10**6) == pytest.approx(made.rate)


def test_warmup_may_last_part_of_an_epoch_or_nothing():
    assert planned(8192, warmup_epochs=0.5).warmup_steps == 78
    none = planned(8192, warmup_epochs=0)
    assert none.warmup_steps == 0 and none.schedule(0) == none.rate


@given(st.integers(1, 64), st.integers(1, 64), st.sampled_from([1, 4, 32]))
def test_the_step_time_is_the_models_for_the_share_of_each_replica(replicas, share, measured_at):
    """Whatever batch the spec was measured at, and with all that it says of the link and the update."""
    compute = {"forward_time": 1e-3 * share, "backward_time": 2e-3 * share}
    expected = predict_step(replace(SPEC, replicas=replicas, per_replica_batch=share, **compute)).step_time
    made = planned(replicas * share, replicas, SPEC.with_batch(measured_at))
    assert made.step_time == pytest.approx(expected)


@given(st.integers(1, 1000))
def test_the_time_to_target_is_steps_by_step_time_and_the_epochs_are_their_examples(share):
    made = planned(8 * share, fit=FIT)
    assert made.steps == pytest.approx(50 * (1 + 1000 / made.batch))
    assert made.time_to_target == pytest.approx(made.steps * made.step_time)
    assert made.epochs * 1_281_167 == pytest.approx(made.steps * made.batch)


def test_without_a_curve_nothing_is_said_of_the_target():
    made = planned()
    assert math.isnan(made.steps) and math.isnan(made.epochs) and math.isnan(made.time_to_target)


def test_a_plan_within_all_that_is_known_has_no_cautions():
    assert planned(fit=FIT, highest=0.1).cautions == ()
    assert planned(512, fit=FIT, highest=0.2).cautions == ()


def test_each_caution_says_what_is_exceeded_and_by_how_much():
    (above,) = planned(512, highest=0.15).cautions
    assert "0.2" in above and "up to 0.15" in above
    (beyond,) = planned(4000, rule="none", fit=FIT).cautions
    assert "4.0 times the critical batch of 1000" in beyond
    (jump,) = planned(1024, warmup_epochs=0).cautions
    assert planned(1024).cautions == ()  # it warms up
    assert "4 times the base rate" in jump
    assert planned(1024, rule="sqrt").cautions == ()
    assert len(planned(8192, fit=FIT, highest=0.1, warmup_epochs=0).cautions) == 3


def test_a_batch_that_the_replicas_do_not_divide_names_one_that_they_do():
    with pytest.raises(ValueError, match=r"8 replicas do not divide a batch of 100: choose 104"):
        planned(100)
    planned(104)
    with pytest.raises(ValueError, match=r"a batch of 1275: choose 1272"):  # 1280 would be more than there is
        planned(1275, dataset_size=1279)
    with pytest.raises(ValueError, match="take fewer replicas"):
        planned(5, dataset_size=6)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"batch": 2000, "dataset_size": 1280}, "choose a batch of at most 1280"),
        ({"batch": 256.0}, "batch must be a whole number"),
        ({"batch": 0}, "batch must be at least 1"),
        ({"replicas": 2.5}, "replicas must be a whole number"),
        ({"base_rate": 0}, "above zero"),
        ({"base_batch": 12.5}, "batch must be a whole number"),
        ({"rule": "cubic"}, "choose one of linear, sqrt, none"),
        ({"warmup_epochs": -1}, "warmup_epochs must be"),
        ({"spec": replace(SPEC, link=None)}, "8 replicas must exchange gradients"),
    ],
)
def test_what_cannot_be_planned_is_answered_in_a_sentence(changes, said):
    with pytest.raises(ValueError, match=said):
        planned(**changes)
