"""How often `compare` is right, on machines whose noise we planted and on this one.

The seeds are fixed, so a run on planted noise gives the same counts every time. Development used thousands of
seeds for each condition; these are enough to notice if the calibration is lost.
"""

import time

import pytest

from labutils.bench import compare

SEEDS = 200
MS = 1e-3

CONDITIONS = {
    "quiet": lambda n: n.quiet,
    "a linear drift of half": lambda n: n.ramp(0.5, calls=24),
    "a linear drift to three times": lambda n: n.ramp(2.0, calls=24),
    "a random walk": lambda n: n.walk(0.01),
    "a wild random walk": lambda n: n.walk(0.05),
    "5% of calls five times slower": lambda n: n.spikes(0.05, 5.0),
    "10% of calls five times slower": lambda n: n.spikes(0.10, 5.0),
    "spikes without a variance": lambda n: n.heavy_tail(0.10, 2.0),
    "calls like their neighbours": lambda n: n.runs(0.5),
    "calls much like their neighbours": lambda n: n.runs(0.9),
    "a pause every fourth call": lambda n: n.rhythm([1, 1, 1, 1.5]),
    "a rhythm in step with the turns": lambda n: n.rhythm([1.2, 1, 1, 1.2]),
}


def verdicts(machine, noise, budget, scale=1.0, seeds=SEEDS):
    found = []
    for seed in range(seeds):
        m = machine(noise, seed=seed, base=MS)
        found.append(compare(m.work(), m.work(scale), budget=budget, clock=m.clock, seed=seed).verdict)
    return found


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_function_does_not_differ_from_itself(machine, noises, condition):
    noise = CONDITIONS[condition](noises)
    for budget, seeds in ((30 * MS, SEEDS), (250 * MS, 60)):
        same = verdicts(machine, noise, budget, seeds=seeds).count("no difference")
        assert same >= 0.97 * seeds, f"{seeds - same} of {seeds} differ with a budget of {budget / MS:.0f} calls"


@pytest.mark.parametrize(("scale", "verdict"), [(1 / 1.1, "faster"), (1.1, "slower")])
@pytest.mark.parametrize("calls", [30, 250])
def test_ten_percent_is_found_under_three_percent_noise(machine, noises, scale, verdict, calls):
    assert verdicts(machine, noises.quiet, calls * MS, scale).count(verdict) >= 0.98 * SEEDS


@pytest.mark.parametrize(
    "condition",
    ["a random walk", "10% of calls five times slower", "a linear drift of half", "calls much like their neighbours"],
)
def test_ten_percent_is_found_under_worse_noise_too_given_the_calls(machine, noises, condition):
    found = verdicts(machine, CONDITIONS[condition](noises), 400 * MS, 1 / 1.1, seeds=50)
    assert found.count("faster") >= 49


def test_a_difference_below_the_threshold_is_not_reported(machine, noises):
    assert verdicts(machine, noises.quiet, 500 * MS, 1.01, seeds=60).count("no difference") >= 58


def test_the_interval_covers_the_true_ratio(machine, noises):
    covered = 0
    for seed in range(SEEDS):
        m = machine(noises.quiet, seed=seed)
        low, high = compare(m.work(), m.work(0.8), budget=60 * MS, clock=m.clock, seed=seed).interval
        covered += low <= 1.25 <= high
    assert covered >= 0.97 * SEEDS


def spin(rounds):
    def work():
        total = 0
        for i in range(rounds):
            total += i
        return total

    return work


def rounds_lasting(seconds):
    work, best = spin(1000), float("inf")
    for _ in range(50):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return int(1000 * seconds / best)


def test_real_work_does_not_differ_from_itself():
    rounds = rounds_lasting(100e-6)
    found = [compare(spin(rounds), spin(rounds), budget=0.06, seed=seed) for seed in range(100)]
    assert sum(one.verdict == "no difference" for one in found) >= 95, [one for one in found if one.verdict[0] != "n"]


def test_ten_percent_of_real_work_is_found():
    rounds = rounds_lasting(100e-6)

    def verdict(seed):
        """Of the first budget that shows a difference: a busy machine makes the interval wide, not wrong."""
        for budget in (0.12, 0.6, 3.0):
            found = compare(spin(rounds), spin(rounds * 11 // 10), budget=budget, seed=seed)
            if found.verdict != "no difference":
                break
        return found.verdict

    verdicts = [verdict(seed) for seed in range(20)]
    assert verdicts.count("slower") >= 19, verdicts
