"""A machine of our own making: time passes only when its work is done, with whatever noise we plant."""

import gc
import math

import numpy as np
import pytest

NOISE = 0.03  # of a call, one standard deviation, unless a condition says otherwise
BLOCK = 1024


class Machine:
    """A clock, and work that moves it: `base` seconds a call, times the noise, read off in steps of `tick`."""

    def __init__(self, noise=None, *, base=1e-3, tick=0.0, seed=0):
        self.now = 0.0
        self.base, self.tick = base, tick
        self.calls = 0
        self.factors = (noise or quiet)(np.random.default_rng(seed))

    def clock(self):
        return math.floor(self.now / self.tick) * self.tick if self.tick else self.now

    def work(self, scale=1.0):
        def run():
            self.calls += 1
            self.now += self.base * scale * next(self.factors)
            return self.calls

        return run


def still(rng):
    while True:
        yield 1.0


def quiet(rng, sigma=NOISE):
    while True:
        yield from np.exp(sigma * rng.standard_normal(BLOCK))


def ramp(total, calls):
    """Grows by `total` (0.5 for 50%) over `calls` calls."""

    def noise(rng):
        for i, factor in enumerate(quiet(rng)):
            yield factor * (1 + total * i / calls)

    return noise


def walk(step):
    """A random walk of the logarithm."""

    def noise(rng):
        level = 0.0
        for factor, move in zip(quiet(rng), quiet(rng, step), strict=False):
            level += math.log(move)
            yield factor * math.exp(level)

    return noise


def spikes(share, size):
    def noise(rng):
        while True:
            hit = rng.random(BLOCK) < share
            yield from np.where(hit, size, 1.0) * np.exp(NOISE * rng.standard_normal(BLOCK))

    return noise


def heavy_tail(share, size, shape=1.5):
    """Spikes of at least `size` with a Pareto tail: their variance is infinite."""

    def noise(rng):
        while True:
            hit = rng.random(BLOCK) < share
            tall = size * (1 + rng.pareto(shape, BLOCK))
            yield from np.where(hit, tall, 1.0) * np.exp(NOISE * rng.standard_normal(BLOCK))

    return noise


def runs(correlation, sigma=0.05):
    """Each call resembles the one before it (first-order autoregression)."""

    def noise(rng):
        level = 0.0
        while True:
            for move in rng.standard_normal(BLOCK) * sigma * math.sqrt(1 - correlation**2):
                level = correlation * level + move
                yield math.exp(level)

    return noise


def rhythm(pattern):
    """A machine that repeats itself, as a collector or a timer does."""

    def noise(rng):
        for i, factor in enumerate(quiet(rng, 0.01)):
            yield factor * pattern[i % len(pattern)]

    return noise


class Noises:
    still, quiet, ramp, walk = staticmethod(still), staticmethod(quiet), staticmethod(ramp), staticmethod(walk)
    spikes, heavy_tail = staticmethod(spikes), staticmethod(heavy_tail)
    runs, rhythm = staticmethod(runs), staticmethod(rhythm)


@pytest.fixture(scope="session")
def noises():
    return Noises


@pytest.fixture(scope="session")
def machine():
    return Machine


@pytest.fixture(scope="module", autouse=True)
def small_heap():
    """Hide what pytest has loaded from the collector, which hundreds of comparisons would each walk again."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
