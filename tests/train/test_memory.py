"""What a forward pass keeps, predicted, and measured from the allocator's own records."""

import json
import os
import subprocess
import sys

import pytest

from labutils.train.memory import predict_kept

CHILD = """
import json, sys, tempfile
from labutils.train import devices
devices.configure(replicas=1, count_memory=True)
import keras
import tensorflow as tf
from labutils import profile
from labutils.profile.memory import kept_for_backward
from labutils.train.memory import predict_kept

L = keras.layers
conv = {"kernel_size": 3, "padding": "same"}
nets = {
    "dense": ([L.Dense(256, "relu") for _ in range(4)], (512,)),
    "conv": ([L.Conv2D(16, activation="relu", **conv) for _ in range(3)], (16, 16, 3)),
    "batch norm": ([L.Conv2D(16, **conv), L.BatchNormalization(), L.ReLU()] * 3, (16, 16, 3)),
    "pool": ([L.Conv2D(16, activation="relu", **conv), L.MaxPooling2D(), L.Conv2D(16, **conv), L.ReLU()], (16, 16, 3)),
    "embedding": ([L.Embedding(1000, 256), L.Flatten(), L.Dense(64)], (50,)),
}
keras.mixed_precision.set_global_policy(sys.argv[1])
found = {}
for name, (layers, shape) in nets.items():
    policy = {"dtype": keras.config.dtype_policy(), "name": None}  # made before the policy was set, and some thrice
    layers = [type(layer).from_config(layer.get_config() | policy) for layer in layers]
    given = "int32" if name == "embedding" else "float32"
    model = keras.Sequential([keras.Input(shape, dtype=given), *layers, L.Flatten(), L.Dense(10, dtype="float32")])

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x, training=True) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        for variable, gradient in zip(model.trainable_variables, gradients):
            variable.assign_sub(0.001 * tf.convert_to_tensor(gradient))
        return loss

    x = tf.zeros((64, *shape), given)
    with tempfile.TemporaryDirectory() as folder:
        profile.capture(lambda: step(x), folder, steps=5)
        found[name] = (kept_for_backward(folder).total, sum(each.total for each in predict_kept(model, 64)))
print(json.dumps(found))
"""


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16", "mixed_float16"])
def test_the_prediction_is_what_the_allocator_saw(policy):
    said = subprocess.run(
        [sys.executable, "-c", CHILD, policy], stdout=subprocess.PIPE, timeout=240, env=os.environ, check=True
    )
    found = json.loads(said.stdout.decode().splitlines()[-1])
    assert len(found) == 5
    assert all(predicted == pytest.approx(measured, rel=0.05) for measured, predicted in found.values()), found


def test_what_cannot_be_predicted_is_said():
    import keras

    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(4), keras.layers.LayerNormalization()])
    with pytest.raises(ValueError, match="no rule for what LayerNormalization keeps"):
        predict_kept(model, 8)
    with pytest.raises(ValueError, match="from 1 up; it was 0"):
        predict_kept(keras.Sequential([keras.Input((4,)), keras.layers.Dense(4)]), 0)


def test_a_capture_without_allocations_says_how_to_have_them(tmp_path):
    import tensorflow as tf

    from labutils import profile
    from labutils.profile.memory import kept_for_backward

    profile.capture(lambda: tf.reduce_sum(tf.ones((9, 9))), tmp_path, steps=5)
    with pytest.raises(profile.BadCapture, match=r"devices\.configure\(count_memory=True\)"):
        kept_for_backward(tmp_path)
