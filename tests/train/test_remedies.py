"""Precision and XLA tried in turns: what fails or spoils the loss is told and rolled back, and nothing is fatal."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from labutils.train.remedies import SETTINGS, try_all

pytestmark = pytest.mark.usefixtures("machine")
X, Y = np.random.default_rng(0).normal(size=(32, 8)).astype("float32"), np.zeros(32, "int32")
QUICK = {"budget": 0.1, "pairs": 5}
TWO = {"float32": ("float32", False), "XLA": ("float32", True)}
HALF = {"float32": ("float32", False), "bfloat16": ("mixed_bfloat16", False)}


def build(*layers, compiled=True, dtype=None):
    def made():
        own = [make() for make in layers] or [keras.layers.Dense(16, "relu", dtype=dtype)]
        model = keras.Sequential([keras.Input((8,)), *own, keras.layers.Dense(3, dtype="float32")])
        if compiled:
            model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        return model

    return made


def test_every_setting_is_tried_once_and_the_policy_put_back():
    before = keras.mixed_precision.dtype_policy().name
    tried = try_all(build(), (X, Y), **QUICK)
    assert list(tried.losses) == list(SETTINGS)
    assert [trial.name for trial in tried.journal.trials] == list(SETTINGS)[1:]
    assert max(tried.losses.values()) == pytest.approx(min(tried.losses.values()), rel=0.05)
    assert tried.best in SETTINGS and f"Keep: {tried.best}" in repr(tried) and tried.best in tried._repr_html_()
    assert tried.speeds["float32"] == 1 and keras.mixed_precision.dtype_policy().name == before


def test_a_setting_that_fails_is_told_and_the_others_are_tried():
    def in_python():
        return keras.layers.Lambda(lambda x: tf.ensure_shape(tf.numpy_function(lambda a: a, [x], x.dtype), (None, 8)))

    tried = try_all(build(in_python), (X, Y), TWO | {"again": ("float32", False)}, **QUICK)
    first, second = tried.journal.trials
    assert "failed" in first.outcome and "PyFunc" in first.outcome and not second.comparison.error
    assert "XLA" not in tried.speeds and tried.best != "XLA"


def test_a_setting_that_spoils_the_loss_is_rolled_back():
    def coarse():
        return keras.layers.Lambda(lambda x: x * (1.0 if x.dtype == "float32" else 9.0))

    tried = try_all(build(coarse, lambda: keras.layers.Dense(16)), (X, Y), HALF, **QUICK)
    assert tried.journal.trials[0].rejected.startswith("its loss is") and tried.best == "float32"
    assert "bfloat16" not in tried.speeds


def test_a_model_with_a_dtype_of_its_own_has_nothing_to_try():
    tried = try_all(build(dtype="float32"), (X, Y), HALF, **QUICK)
    assert "no layer with weights computes in bfloat16" in tried.journal.trials[0].outcome


@pytest.mark.parametrize(
    "make, batch, settings, words",
    [
        (build(), (X, Y), {"float32": ("float32", False)}, "two settings or more"),
        (build(), (X, Y), TWO | {"int": ("int7", False)}, "no policy 'int7'"),
        (build(), (X, Y), TWO | {"auto": ("float32", "auto")}, "'auto' would hide"),
        (build(), X, TWO, r"A batch is \(x, y\)"),
        (build(compiled=False), (X, Y), TWO, "that is compiled"),
        (lambda: 7, (X, Y), TWO, "that is compiled"),
    ],
)
def test_what_makes_no_sense_is_said(make, batch, settings, words):
    with pytest.raises(ValueError, match=words):
        try_all(make, batch, settings, **QUICK)


def test_a_model_with_nothing_to_train():
    def made():
        model = keras.Sequential([keras.Input((8,)), keras.layers.Flatten()])
        model.compile("sgd", "mse")
        return model

    with pytest.raises(ValueError, match="nothing to train"):
        try_all(made, (X, X), TWO, **QUICK)


def test_batches_of_changing_shape():
    sizes = iter(range(8, 99))

    def batch():
        size = next(sizes)
        return X[:size], Y[:size]

    with pytest.raises(ValueError, match=r"another shape at each call: \(8, 8\), then \(9, 8\)"):
        try_all(build(), batch, TWO, **QUICK)
