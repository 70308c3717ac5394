"""The classic workload: 20000 images in memory, each resized from 32x32 to 64x64, in batches of 64.

It reads no file and decodes nothing: what a pipeline costs besides its work shows best where the work is small.
The pixels are drawn at random, as their values do not matter to a clock.
"""

import functools

import numpy as np
import tensorflow as tf

COUNT, BATCH, BATCHES = 20000, 64, 100
SMALL, LARGE = 32, 64  # pixels of a side before and after
BYTES_IN, BYTES_OUT = SMALL * SMALL * 3 * 4, LARGE * LARGE * 3 * 4  # of one float32 image
BYTES_MOVED = 3 * BYTES_IN + BYTES_OUT
"""Memory traffic of an image that no arrangement saves: read, write into its batch, read that, write the result."""


@functools.cache
def images():
    """20000 float32 images in [0, 1) of shape (32, 32, 3): an array of 246 MB."""
    pixels = np.random.default_rng(0).random((COUNT, SMALL, SMALL, 3), dtype=np.float32)
    pixels.setflags(write=False)
    return pixels


@functools.cache
def source():
    """The images as a dataset, one by one, that ends after 100 batches."""
    return tf.data.Dataset.from_tensor_slices(images()).take(BATCH * BATCHES)


def resize(images):
    """One image, or a batch of them, as 64x64 pixels."""
    return tf.image.resize(images, (LARGE, LARGE))
