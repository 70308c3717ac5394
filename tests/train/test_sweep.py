"""Sweeps: what a result means, what is kept between visits, and what happens when somebody has seen enough."""

import math
import os
from dataclasses import replace

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("LABUTILS_RUN_CACHE", str(tmp_path))
    return tmp_path


@pytest.fixture
def sweep(machine):
    from labutils.train import sweep

    return sweep


@pytest.fixture
def untrainable(monkeypatch, sweep):
    """Call it, and from then on nothing can be trained."""

    def refuse(*_):
        raise AssertionError("a run was trained that should have come from the cache")

    return lambda: monkeypatch.setattr(sweep.stacked, "Stack", refuse)


def same(results, others):
    return list(results.items()) == list(others.items())


# -- what a result means


def test_a_run_ends_at_the_first_measurement_at_or_below_the_target(sweep):
    setting = sweep.Setting(64, 0.25)
    run = sweep.train([setting], target=0.5)[setting]
    assert run.outcome == "reached"
    assert run.losses[-1] <= 0.5 < min(run.losses[:-1])
    assert run.steps_to_target == run.steps[-1] and run.examples_to_target == 64 * run.steps[-1]
    strict = sweep.train([setting], target=0.3)[setting]
    assert strict.steps[: len(run.steps)] == run.steps and strict.losses[: len(run.losses)] == run.losses


def test_a_loss_is_that_of_the_model_after_so_many_steps(sweep, digits):
    from labutils.train import stacked

    setting = sweep.Setting(256, 0.25, seed=3)
    run = sweep.train([setting], target=None, epochs=3)[setting]
    stack, order = stacked.Stack([3], digits.x_train, digits.y_train), stacked.batches_of(3, 1280, 256)
    for step in range(1, 16):
        stack.advance(next(order)[None, None], np.full((1, 1), 0.25))
        assert run.losses[run.steps.index(step)] == pytest.approx(
            stack.losses(digits.x_test, digits.y_test)[0], rel=1e-3
        )


def test_measurements_lie_at_most_a_twentieth_apart(sweep):
    setting = sweep.Setting(256, 0.001)
    run = sweep.train([setting], epochs=60)[setting]
    steps = np.array(run.steps)
    assert steps[0] == 1 and steps[-1] == 60 * 5 and len(run.losses) == len(steps)
    assert np.all(np.diff(steps) <= np.maximum(1, 0.05 * steps[:-1]))
    assert run.outcome == "not reached" and math.isnan(run.steps_to_target) and math.isnan(run.examples_to_target)


def test_the_first_limit_ends_a_run(sweep):
    setting = sweep.Setting(256, 0.001)
    assert sweep.train([setting], most_steps=17)[setting].steps[-1] == 17
    assert sweep.train([setting], epochs=2, most_steps=17)[setting].steps[-1] == 10
    assert sweep.train([setting], epochs=0.01)[setting].steps == (1,)


def test_a_run_that_blows_up_ends_at_once_and_can_be_kept_and_compared(sweep, untrainable):
    settings = [sweep.Setting(64, rate, optimizer="momentum") for rate in (100.0, 0.05)]
    results = sweep.train(settings, target=None, epochs=2)
    wild, tame = results.values()
    assert wild.outcome == "diverged" and wild.steps[-1] < 40 and wild.losses[-1] >= sweep.DIVERGED
    assert tame.outcome == "not reached" and tame.steps[-1] == 40 and max(tame.losses) < 3
    untrainable()
    assert same(sweep.train(settings, target=None, epochs=2), results)


def test_a_loss_that_is_no_number_counts_as_infinite(sweep, monkeypatch, untrainable):
    monkeypatch.setattr(sweep.stacked.Stack, "losses", lambda self, x, y: np.full(1, np.nan))
    setting = sweep.Setting(64, 0.1)
    results = sweep.train([setting])
    assert results[setting].outcome == "diverged" and results[setting].losses == (math.inf,)
    untrainable()
    assert same(sweep.train([setting]), results)


def test_the_rates_of_warm_up_are_those_that_are_trained_with(sweep, monkeypatch):
    used = []
    advance = sweep.stacked.Stack.advance

    def recorded(self, order, rates):
        used.append(rates)
        advance(self, order, rates)

    monkeypatch.setattr(sweep.stacked.Stack, "advance", recorded)
    warm = sweep.Setting(128, 0.2, warmup=20, start_rate=0.1)
    sweep.train([warm, sweep.Setting(128, 0.05)], target=None, epochs=3)
    rates = np.concatenate(used)
    assert rates.shape == (30, 2)
    assert rates[:, 0] == pytest.approx(np.minimum(0.1 + 0.005 * np.arange(30), 0.2))
    assert rates[:, 1] == pytest.approx(0.05)


# -- the grid


def test_a_sweep_holds_every_run_in_its_place(sweep):
    done = []
    swept = sweep.sweep(
        [256, 128], [0.25, 0.001], "sqrt", 128, seeds=2, target=0.5, epochs=6, progress=lambda *pair: done.append(pair)
    )
    assert swept.batches == (256, 128) and swept.steps.shape == (2, 2, 2)
    assert swept.rates == pytest.approx(np.array([[0.25 * 2**0.5, 0.001 * 2**0.5], [0.25, 0.001]]))
    for row, batch in enumerate(swept.batches):
        for seed in range(2):
            run = swept.results[sweep.Setting(batch, swept.rates[row, 0], seed)]
            assert swept.steps[row, 0, seed] == run.steps[-1]
    assert np.isnan(swept.steps[:, 1]).all()
    assert [(batch, rate) for batch, rate, _ in swept.best()] == [(256, swept.rates[0, 0]), (128, 0.25)]
    assert done[0] == (0, 8) and done[-1] == (8, 8) and done == sorted(done)


def test_where_no_rate_gets_there_no_batch_has_a_best(sweep):
    swept = sweep.sweep([64, 128], [0.1, 0.2], seeds=1, most_steps=2)
    assert swept.best() == [] and np.isnan(swept.typical).all() and len(swept.results) == 4


def test_typical_is_the_median_and_counts_runs_that_did_not_get_there(sweep):
    nan = math.nan
    steps = np.array([[[10, 30, nan], [nan, 9, nan], [20, 40, 30]]])
    swept = sweep.Sweep((32,), np.array([[0.1, 0.2, 0.3]]), steps, {})
    np.testing.assert_array_equal(swept.typical, [[30, nan, 30]])
    even = sweep.Sweep((32,), np.array([[0.1, 0.2]]), np.array([[[10, nan], [10, 20]]]), {})
    np.testing.assert_array_equal(even.typical, [[nan, 15]])
    assert even.best()[0][:2] == (32, 0.2)


def test_a_grids_numpy_numbers_are_the_same_settings_and_the_same_cache(sweep, untrainable):
    plain = sweep.train([sweep.Setting(64, 0.125, 1, warmup=4, start_rate=0.5)], most_steps=4)
    (setting,) = plain
    of_numpy = sweep.Setting(
        np.int64(64), np.float32(0.125), np.int32(1), warmup=np.int64(4), start_rate=np.float64(0.5)
    )
    assert of_numpy == setting and hash(of_numpy) == hash(setting) and repr(of_numpy) == repr(setting)
    untrainable()
    assert same(sweep.train([of_numpy, setting, of_numpy], most_steps=4), plain)


# -- the linear rule on real data


def test_under_the_linear_rule_a_larger_batch_needs_the_same_examples_and_under_none_more(sweep):
    """Measured: 1.0 and 1.09 times the examples under the linear rule, 2.0 and 4.0 times under none."""

    def examples(rule):
        swept = sweep.sweep([32, 64, 128], [0.0625], rule, base_batch=32)
        return swept.typical[:, 0] * np.array(swept.batches)

    linear, none = examples("linear"), examples("none")
    assert linear[0] == none[0]
    assert np.all(np.abs(np.log(linear[1:] / linear[0])) < math.log(1.35))
    assert none[1] > 1.7 * none[0] and none[2] > 3 * none[0]


# -- what is kept


def test_a_second_visit_trains_nothing_and_tells_the_same(sweep, untrainable, folder):
    settings = [sweep.Setting(batch, 0.1, seed) for batch in (64, 128) for seed in (0, 1)]
    first = sweep.train(settings, epochs=1)
    assert len(list(folder.iterdir())) == 1
    untrainable()
    done = []
    assert same(sweep.train(settings, epochs=1, progress=lambda *pair: done.append(pair)), first)
    assert done == [(4, 4)]
    with pytest.raises(AssertionError, match="should have come from the cache"):
        sweep.train(settings, epochs=1, cache=False)


def test_only_what_is_missing_is_trained(sweep, monkeypatch):
    sweep.train([sweep.Setting(64, 0.1, 0)], epochs=1)
    trained = []
    group = sweep._train_group
    monkeypatch.setattr(sweep, "_train_group", lambda runs, *rest: trained.extend(runs) or group(runs, *rest))
    sweep.train([sweep.Setting(64, 0.1, seed) for seed in (0, 1)], epochs=1)
    assert trained == [sweep.Setting(64, 0.1, 1)]


def test_the_key_changes_with_all_that_a_result_depends_on(sweep, digits, monkeypatch, tmp_path):
    usual = (0.2, 60.0, 1500)
    less = digits.x_train.copy()
    less[0, 0, 0] += 0.5
    keys = [
        sweep._key(digits, usual),
        sweep._key(replace(digits, x_train=less), usual),
        sweep._key(replace(digits, y_test=digits.y_test[::-1]), usual),
        sweep._key(replace(digits, x_train=digits.x_train.reshape(1280, 4, 16, 1)), usual),
        *(sweep._key(digits, limits) for limits in ((0.3, 60.0, 1500), (None, 60.0, 1500), (0.2, 60.0, 1501))),
    ]
    for module in (sweep.models, sweep.stacked, sweep.scaling):
        other = tmp_path / "other.py"
        other.write_text("# another version")
        monkeypatch.setattr(module, "__file__", str(other))
        keys.append(sweep._key(digits, usual))
    assert len(set(keys)) == len(keys)
    monkeypatch.undo()
    assert sweep._key(digits, usual) == keys[0]


def test_a_folder_that_cannot_be_written_is_no_error(sweep, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("LABUTILS_RUN_CACHE", str(tmp_path / "file" / "folder"))
    setting = sweep.Setting(64, 0.1)
    assert sweep.train([setting], most_steps=2)[setting].steps == (1, 2)


# -- seen enough


def test_an_interrupt_keeps_what_is_finished_and_the_rest_is_trained_on_the_next_visit(sweep, monkeypatch, digits):
    advance = sweep.stacked.Stack.advance

    def interrupted(self, order, rates):
        if order.shape[-1] == 256:
            raise KeyboardInterrupt
        advance(self, order, rates)

    with monkeypatch.context() as patch:
        patch.setattr(sweep.stacked.Stack, "advance", interrupted)
        swept = sweep.sweep([128, 256], [0.25], seeds=2, target=0.5)
    assert {setting.batch for setting in swept.results} == {128}
    assert np.isfinite(swept.steps[0]).all() and np.isnan(swept.steps[1]).all()
    assert [batch for batch, _, _ in swept.best()] == [128]
    whole = sweep.sweep([128, 256], [0.25], seeds=2, target=0.5)
    assert np.isfinite(whole.steps).all() and swept.results.items() <= whole.results.items()


def test_a_true_interrupt_in_the_middle_of_a_computation_returns_the_finished_runs(sweep):
    """TensorFlow ends the call that it is in, then Python raises."""
    import signal
    import threading

    quick, slow = sweep.Setting(128, 0.25), sweep.Setting(16, 1e-5)
    timers = []

    def report(done, of):
        if done == 1 and not timers:
            timers.append(threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)))
            timers[0].start()

    try:
        results = sweep.train([quick, slow], target=0.5, epochs=10**6, most_steps=50_000, progress=report)
    finally:
        timers[0].cancel()
    assert list(results) == [quick] and results[quick].outcome == "reached"


# -- what cannot be trained


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"batch": 0}, "batch must be at least 1"),
        ({"batch": 6.5}, "batch must be a whole number"),
        ({"rate": -0.1}, "rate must be finite and above zero"),
        ({"rate": math.nan}, "rate must be finite"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"optimizer": "adamw"}, "choose one of sgd, momentum, adam"),
        ({"warmup": 2.5, "start_rate": 0.1}, "warmup must be a whole number"),
        ({"warmup": 10}, "start_rate must be one number.*warm-up starts from"),
    ],
)
def test_a_setting_that_makes_no_sense_is_answered_in_a_sentence(sweep, values, said):
    with pytest.raises(ValueError, match=said):
        sweep.Setting(**{"batch": 64, "rate": 0.1} | values)


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"target": 0}, "target must be finite and above zero"),
        ({"target": -1}, "target must be finite and above zero"),
        ({"epochs": 0}, "epochs must be finite and above zero"),
        ({"most_steps": 0}, "most_steps must be at least 1"),
        ({"most_steps": 1.5}, "most_steps must be a whole number"),
    ],
)
def test_limits_that_make_no_sense_are_answered_in_a_sentence(sweep, limits, said):
    with pytest.raises(ValueError, match=said):
        sweep.train([sweep.Setting(64, 0.1)], **limits)


def test_more_classes_than_the_model_has_are_refused(sweep, digits):
    more = replace(digits, y_train=digits.y_train + 90)
    with pytest.raises(ValueError, match="digits has 100 classes: choose data of at most 10"):
        sweep.train([sweep.Setting(64, 0.1)], split=more)


@pytest.mark.parametrize(
    ("grid", "said"),
    [
        (([2000], [0.1]), "there are 1280 examples: choose a batch of at most 1280"),
        (([], [0.1]), "batches must be a list of at least one number"),
        (([64], []), "rates must be a list of at least one number"),
        ((64, [0.1]), "batches must be a list"),
        (([64.5], [0.1]), "batches must be a whole number"),
        (([64], [-0.1]), "above zero"),
        (([64], [0.1], "cubic"), "choose one of linear, sqrt, none"),
    ],
)
def test_a_grid_that_cannot_be_trained_is_answered_in_a_sentence(sweep, grid, said):
    with pytest.raises(ValueError, match=said):
        sweep.sweep(*grid)
