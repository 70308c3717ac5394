"""What stands before the snippets: imports, devices, and three helpers that keep each snippet short."""

#: The versions every entry was last run on.
CONFIRMED = "TensorFlow 2.21.0, Keras 3.15.1"

IMPORTS = """
import keras
import numpy as np
import tensorflow as tf

from labutils.traps import report
"""

FOUR_DEVICES = f"""{IMPORTS}
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 4)


def mirrored(replicas):
    return tf.distribute.MirroredStrategy(
        [f"CPU:{{i}}" for i in range(replicas)],
        cross_device_ops=tf.distribute.ReductionToOneDevice())


def rows(count):
    x = np.random.default_rng(0).normal(size=(count, 4)).astype("float32")
    return x, x @ np.array([[1.0], [-2.0], [3.0], [0.5]], "float32")


def linear(*layers):
    keras.utils.set_random_seed(1)
    return keras.Sequential([keras.Input((4,)), *layers, keras.layers.Dense(1)])
"""
