"""Sweeps over batch and learning rate, trained for real: how many steps each run takes to a target loss.

Runs of one batch size and optimizer are trained side by side (`labutils.train.stacked`), measured on the test set at
steps that lie at most 5% apart, and leave as soon as they reach the target or blow up. What is finished is kept in a
cache, so an interrupted sweep goes on where it stopped and a second visit is instant.
"""

import hashlib
import math
from dataclasses import astuple, dataclass, field
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from labutils.theory import checks, scaling
from labutils.theory.scaling import scale_learning_rate, steps_per_epoch, warmup_schedule
from labutils.theory.time_to_target import typical
from labutils.train import data, models, run_cache, stacked

DIVERGED = 50.0  # a loss on ten classes starts near 2.3: one of 50 is no longer training
_SPACING = 1.05  # between two measurements, as a factor of the steps


@dataclass(frozen=True)
class Setting:
    """What one run is: global batch, learning rate, seed, optimizer, and steps of warm-up from `start_rate`.

    ValueError for a batch that is not whole, a rate that is not above zero, an unknown optimizer, or warm-up from
    nowhere.
    """

    batch: int
    rate: float
    seed: int = 0
    optimizer: str = "sgd"
    warmup: int = 0
    start_rate: float | None = None

    def __post_init__(self):
        self._set(
            batch=checks.count("batch", self.batch, "give the global batch"),
            rate=checks.number("rate", self.rate, "give a learning rate, for example 0.1", positive=True),
            seed=checks.count("seed", self.seed, "number the runs from 0", least=0),
            optimizer=checks.one_of("optimizer", self.optimizer, stacked.OPTIMIZERS),
            warmup=checks.count("warmup", self.warmup, "give the steps that warm-up lasts", least=0),
        )
        hint = "give the rate that warm-up starts from, often the one of the small batch"
        if self.start_rate is not None or self.warmup:
            self._set(start_rate=checks.number("start_rate", self.start_rate, hint))

    def _set(self, **values):
        """Keep Python's own numbers: a grid's NumPy ones are written otherwise, and the cache goes by that."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def schedule(self):
        """The learning rate as a function of the step."""
        start = self.rate if self.start_rate is None else self.start_rate
        return warmup_schedule(start, self.rate, self.warmup)


@dataclass(frozen=True)
class Result:
    """What one run did: test losses at steps, and its `outcome`: "reached", "not reached" or "diverged"."""

    setting: Setting
    steps: tuple
    losses: tuple
    outcome: str

    @property
    def steps_to_target(self):
        """Steps until the target loss, nan where it was not reached."""
        return float(self.steps[-1]) if self.outcome == "reached" else math.nan

    @property
    def examples_to_target(self):
        """Examples until the target loss, nan where it was not reached."""
        return self.steps_to_target * self.setting.batch


@dataclass(frozen=True)
class Sweep:
    """Results on a grid. `steps` has the shape (batches, rates, seeds): steps to target, nan where not reached.

    `rates` has the shape (batches, rates): with a rule each batch has its own.
    """

    batches: tuple
    rates: np.ndarray
    steps: np.ndarray
    results: dict = field(repr=False)

    @property
    def typical(self):
        """The median over seeds of the steps to target, nan where not more than half of the runs got there."""
        return typical(self.steps)

    def best(self):
        """For each batch that got there, (batch, best rate, steps of each seed at it): a list."""
        rows = []
        for batch, rates, middle, steps in zip(self.batches, self.rates, self.typical, self.steps, strict=True):
            if not np.all(np.isnan(middle)):
                place = int(np.nanargmin(middle))
                rows.append((batch, float(rates[place]), steps[place]))
        return rows


def sweep(batches, rates, rule="none", base_batch=None, seeds=3, optimizer="sgd", **how):
    """Train every batch at every rate with every seed: a Sweep.

    `rates` are those of `base_batch` (default: the smallest batch), scaled to each batch by `rule`; `seeds` is how
    many. `how` goes to `train`: target, epochs, progress and the like. Interrupt it when you have seen enough: what
    is finished is kept, and the rest counts as not reached. ValueError as for Setting and train, and for no batch
    or rate at all.
    """
    batches = tuple(checks.count("batches", batch, "give global batches") for batch in _several("batches", batches))
    rates = _several("rates", rates)
    base = min(batches) if base_batch is None else base_batch
    seeds = range(checks.count("seeds", seeds, "give the number of runs at each point"))
    grid = np.array([[scale_learning_rate(rate, base, batch, rule) for rate in rates] for batch in batches])
    wanted = {
        (row, column, seed): Setting(batch, float(grid[row, column]), seed, optimizer)
        for row, batch in enumerate(batches)
        for column in range(len(rates))
        for seed in seeds
    }
    results = train(wanted.values(), **how)
    steps = np.full((len(batches), len(rates), len(seeds)), np.nan)
    for place, setting in wanted.items():
        if setting in results:
            steps[place] = results[setting].steps_to_target
    return Sweep(batches, grid, steps, results)


def train(settings, target=0.2, epochs=60, most_steps=1500, split=None, progress=None, cache=True):
    """Train runs until the test loss is at most `target`, or `epochs` or `most_steps` are over: {setting: Result}.

    With target None every run that does not blow up goes the whole way. `split` is a data.Split (default: the
    digits); `progress` is called with (runs done, runs in all). A KeyboardInterrupt ends it with the runs that are
    finished. ValueError for a batch larger than the data, more than 10 classes, or limits that are not above zero.
    """
    split = data.digits() if split is None else split
    limits = _limits(target, epochs, most_steps)
    if split.classes > stacked.CLASSES:
        raise ValueError(f"{split.name} has {split.classes} classes: choose data of at most {stacked.CLASSES}.")
    settings = list(dict.fromkeys(settings))
    for setting in settings:
        steps_per_epoch(len(split.x_train), setting.batch)
    store = run_cache.Store(_key(split, limits)) if cache else {}
    found = {setting: _restored(setting, store[_name(setting)]) for setting in settings if _name(setting) in store}
    report = progress or (lambda done, of: None)
    report(len(found), len(settings))
    try:
        for group in _groups(settings, found):
            for result in _train_group(group, split, limits):
                found[result.setting] = result
                store[_name(result.setting)] = [result.steps, result.losses, result.outcome]
                report(len(found), len(settings))
    except KeyboardInterrupt:
        pass  # somebody has seen enough
    return {setting: found[setting] for setting in settings if setting in found}


def _several(name, values):
    values = list(values) if np.ndim(values) == 1 else []
    if not values:
        raise ValueError(f"{name} must be a list of at least one number: write for example {name}=[32, 64].")
    return values


def _limits(target, epochs, most_steps):
    if target is not None:
        target = checks.number("target", target, "give the test loss to reach, for example 0.2", positive=True)
    epochs = checks.number("epochs", epochs, "give the passes over the data after which a run ends", positive=True)
    most_steps = checks.count("most_steps", most_steps, "give the steps after which a run ends")
    return target, epochs, most_steps


def _groups(settings, found):
    """Runs that can be trained side by side: those of one batch and optimizer."""
    groups = {}
    for setting in settings:
        if setting not in found:
            groups.setdefault((setting.optimizer, setting.batch), []).append(setting)
    return groups.values()


def _train_group(group, split, limits):
    """Train runs of one batch side by side; yields each Result as soon as its run is over."""
    target, epochs, most_steps = limits
    batch, samples = group[0].batch, len(split.x_train)
    last = max(1, min(most_steps, round(epochs * steps_per_epoch(samples, batch))))
    shape = split.x_train.shape[1:]
    stack = stacked.Stack([one.seed for one in group], split.x_train, split.y_train, group[0].optimizer, shape)
    orders = {one: stacked.batches_of(one.seed, samples, batch) for one in group}
    running, curves, now = list(group), {one: ([], []) for one in group}, 0
    while running:
        then = min(last, max(now + 1, int(now * _SPACING)))
        order = np.stack([[next(orders[one]) for one in running] for _ in range(now, then)])
        rates = np.stack([one.schedule(np.arange(now, then)) for one in running], axis=1).astype(np.float32)
        stack.advance(order, rates)
        now = then
        staying = []
        for place, (one, loss) in enumerate(zip(running, stack.losses(split.x_test, split.y_test), strict=True)):
            steps, losses = curves[one]
            steps.append(now)
            losses.append(float(loss) if loss == loss else math.inf)  # beyond all numbers, but equal to itself
            outcome = _outcome(losses[-1], target, now == last)
            if outcome:
                yield Result(one, tuple(steps), tuple(losses), outcome)
            else:
                staying.append(place)
        if len(staying) < len(running):
            running = [running[place] for place in staying]
            stack.keep(staying)


def _outcome(loss, target, is_last):
    if target is not None and loss <= target:
        return "reached"
    if loss >= DIVERGED:
        return "diverged"
    return "not reached" if is_last else None


def _key(split, limits):
    """What a cached result depends on, beyond its setting: the data, the limits, this code and TensorFlow's."""
    arrays = (split.x_train, split.y_train, split.x_test, split.y_test)
    facts = [limits, tf.__version__, keras.__version__, *((array.shape, array.dtype.str) for array in arrays)]
    key = hashlib.sha256(repr(facts).encode())
    for array in arrays:
        key.update(np.ascontiguousarray(array))
    for path in (__file__, stacked.__file__, models.__file__, scaling.__file__):
        key.update(Path(path).read_bytes())
    return key.hexdigest()


def _name(setting):
    return repr(astuple(setting))


def _restored(setting, stored):
    steps, losses, outcome = stored
    return Result(setting, tuple(steps), tuple(losses), outcome)
