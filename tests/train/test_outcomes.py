"""The four ways to write a loop's loss: which report is wrong, which training is wrong."""

import pytest

from labutils.train.outcomes import REPORTS, SCALES, four_outcomes


@pytest.mark.parametrize("replicas", [2, 4])
def test_a_wrong_report_is_told_from_wrong_training(machine, replicas):
    outcomes = four_outcomes(replicas, examples=32)
    expected = {
        ("local mean", "SUM"): (replicas, replicas),
        ("local mean", "MEAN"): (1, replicas),  # the nasty one: the report is right, the training is not
        ("global share", "SUM"): (1, 1),
        ("global share", "MEAN"): (1 / replicas, 1),
    }
    assert set(outcomes) == set(expected) == {(scale, report) for scale in SCALES for report in REPORTS}
    for way, multiples in expected.items():
        assert outcomes[way] == pytest.approx(multiples, rel=1e-4), way


def test_on_one_replica_there_is_nothing_to_get_wrong(machine):
    for multiples in four_outcomes(1, examples=16).values():
        assert multiples == pytest.approx((1, 1), rel=1e-5)


def test_a_batch_that_replicas_do_not_divide_is_refused(machine):
    with pytest.raises(ValueError, match="4 replicas do not divide 30 examples"):
        four_outcomes(4, examples=30)
