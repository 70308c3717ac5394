"""Precision and XLA tried on a model of one's own, one setting at a time, each kept only if it is faster and right."""

import math
from dataclasses import dataclass

import keras
import numpy as np

from labutils.bench import Journal

#: {setting: (policy of Keras, jit_compile)}; the first is what the others are held against.
SETTINGS = {
    "float32": ("float32", False),
    "bfloat16": ("mixed_bfloat16", False),
    "float16": ("mixed_float16", False),
    "XLA": ("float32", True),
    "XLA, bfloat16": ("mixed_bfloat16", True),
    "XLA, float16": ("mixed_float16", True),
}
_STEPS = 5  # of training, after which the losses are held side by side


@dataclass(frozen=True, repr=False)
class Tried:
    """What came of the settings: the `journal`, the `losses` after a few steps, the name of the `best`."""

    journal: Journal
    losses: dict
    best: str

    @property
    def speeds(self):
        """{setting: times as fast as the first one}, of those that ran and kept the loss."""
        found, standing = {next(iter(self.losses)): 1.0}, 1.0
        for trial in self.journal.trials:
            if not trial.comparison.error and not trial.rejected:
                found[trial.name] = standing * trial.comparison.ratio
            standing = trial.speedup
        return found

    def __repr__(self):
        return f"{self.journal!r}\n{self._said}"

    def _repr_html_(self):
        return f"{self.journal._repr_html_()}<p>{self._said}</p>"

    @property
    def _said(self):
        return f"Keep: {self.best}, {self.journal.speedup:.2f} times as fast as {next(iter(self.losses))}."


def try_all(build, batch, settings=SETTINGS, *, tolerance=0.05, budget=2.0, pairs=10, threshold=0.05):
    """Train the model that `build()` gives under each setting, in turns with the best so far: Tried.

    `build` makes and compiles a Keras model; it is called once for each setting, with the setting's policy as Keras'
    global one and the same random seed. `batch` is (x, y), or a function that gives it. A setting whose loss after a
    few steps is off by more than `tolerance` of the first one's is rolled back, and one that fails; it is told why.
    `budget`, `pairs`, `threshold`: as in `Journal`. The global policy is put back. ValueError for a policy that Keras
    does not know, a model that is not compiled or has nothing to train, and batches whose shape changes.
    """
    _check(settings)
    x, y = _fixed(batch)
    kept = keras.mixed_precision.dtype_policy()
    losses, steps, failed = {}, {}, {}
    try:
        for name, (policy, jit) in settings.items():
            try:
                steps[name], losses[name] = _prepared(build, policy, jit, x, y)
            except Exception as error:  # whatever a setting fails of, the others are tried
                if not losses:
                    raise
                failed[name] = error
        return _judged(settings, steps, losses, failed, tolerance, budget=budget, pairs=pairs, threshold=threshold)
    finally:
        keras.mixed_precision.set_global_policy(kept)


def _check(settings):
    if len(settings) < 2:
        raise ValueError("Give two settings or more: the first is what the others are held against.")
    for name, (policy, jit) in settings.items():
        try:
            keras.mixed_precision.Policy(policy)
        except (ValueError, TypeError):
            raise ValueError(
                f"{name}: Keras has no policy {policy!r}. There are 'float32', 'mixed_bfloat16' and 'mixed_float16'."
            ) from None
        if not isinstance(jit, bool):
            raise ValueError(f"{name}: jit_compile is True or False here, not {jit!r}: 'auto' would hide what runs.")


def _fixed(batch):
    first = batch() if callable(batch) else batch
    if not (isinstance(first, tuple) and len(first) == 2):
        raise ValueError("A batch is (x, y): the inputs and the labels of one step.")
    if callable(batch):
        shapes = [np.shape(part) for part in first]
        again = [np.shape(part) for part in batch()]
        if shapes != again:
            raise ValueError(
                f"The batch has another shape at each call: {shapes[0]}, then {again[0]}. XLA would compile for every "
                "one of them, and nothing could be compared. Pad them to one length."
            )
    return first


def _prepared(build, policy, jit, x, y):
    """(A function that makes one step, the loss after a few) of a setting."""
    keras.mixed_precision.set_global_policy(policy)
    keras.utils.set_random_seed(0)
    model = build()
    if not isinstance(model, keras.Model) or not model.compiled:
        raise ValueError("build() should return a Keras model that is compiled: model.compile(optimizer, loss).")
    if not model.trainable_variables:
        raise ValueError("The model that build() returns has nothing to train.")
    half = policy.removeprefix("mixed_")
    if half != policy and not any(layer.compute_dtype == half for layer in model.layers if layer.weights):
        raise ValueError(f"no layer with weights computes in {half}: does build() name a dtype of its own?")
    model.jit_compile = jit
    for _ in range(_STEPS):
        loss = model.train_on_batch(x, y)
    loss = float(np.ravel(loss)[0])
    return lambda: model.train_on_batch(x, y), loss


def _judged(settings, steps, losses, failed, tolerance, **how):
    first, *others = settings
    expected, best = losses[first], first
    journal = Journal(steps[first], timed="step time", **how)
    for name in others:
        if name in failed:
            journal.trial(name, _raising(failed[name]))
            continue
        off = abs(losses[name] - expected) > tolerance * max(abs(expected), 1e-6) or not math.isfinite(losses[name])
        reject = f"its loss is {losses[name]:.4g}, that of {first} {expected:.4g}" if off else ""
        journal.trial(name, steps[name], reject=reject)
        best = name if journal.trials[-1].kept else best
    return Tried(journal, losses, best)


def _raising(error):
    def step():
        raise error

    return step
