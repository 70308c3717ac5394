"""Real images for the chapters: digits that come with scikit-learn, and two larger sets when online."""

import functools
import socket
from dataclasses import dataclass

import numpy as np

DIGITS_TRAIN = 1280
"""2^8 x 5 samples: every global batch of 16, 32, 64, 128 or 256 divides it, so no batch is uneven by accident."""


@dataclass(frozen=True)
class Split:
    """Images and labels, split for training and testing.

    `x_*` are float32 in [0, 1] of shape (samples, height, width, channels); `y_*` are int32 of shape (samples,).
    """

    name: str
    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray

    @property
    def classes(self):
        """How many classes the labels name."""
        return int(self.y_train.max()) + 1

    def __repr__(self):
        shape = "x".join(map(str, self.x_train.shape[1:]))
        return (
            f"{self.name}: {len(self.x_train)} training and {len(self.x_test)} test images of {shape}, "
            f"{self.classes} classes"
        )


@functools.cache
def digits(seed=0):
    """1797 handwritten digits of 8x8 pixels, 1280 for training and 517 for testing; works offline.

    The same `seed` gives the same split. Source: Alpaydin & Kaynak, Optical Recognition of Handwritten
    Digits (UCI, 1998), as packaged by scikit-learn (`sklearn.datasets.load_digits`).
    """
    from sklearn.datasets import load_digits

    bunch = load_digits()
    order = np.random.default_rng(seed).permutation(len(bunch.target))
    x = (bunch.images[order, :, :, np.newaxis] / 16.0).astype(np.float32)
    y = bunch.target[order].astype(np.int32)
    return _split("digits", x[:DIGITS_TRAIN], y[:DIGITS_TRAIN], x[DIGITS_TRAIN:], y[DIGITS_TRAIN:])


def mnist(timeout=30):
    """70000 handwritten digits of 28x28 pixels, through `keras.datasets`; needs the network the first time.

    `timeout` is how many seconds the server may stay silent. Raises ConnectionError when it cannot be fetched.
    """
    return _from_keras("mnist", timeout)


def cifar10(timeout=30):
    """60000 photographs of 32x32x3 pixels in 10 classes, through `keras.datasets`; needs the network the first time.

    `timeout` is how many seconds the server may stay silent. Raises ConnectionError when it cannot be fetched.
    """
    return _from_keras("cifar10", timeout)


def _from_keras(name, timeout):
    import keras

    kept = socket.getdefaulttimeout()
    socket.setdefaulttimeout(timeout)  # keras.utils.get_file has no deadline of its own
    try:
        (x_train, y_train), (x_test, y_test) = getattr(keras.datasets, name).load_data()
    except Exception as error:
        raise ConnectionError(
            f"{name} could not be fetched ({_first_line(error)}). It needs the network once, and is kept "
            "afterwards. Offline, use data.digits(): it comes with scikit-learn."
        ) from error
    finally:
        socket.setdefaulttimeout(kept)
    return _split(name, _images(x_train), _labels(y_train), _images(x_test), _labels(y_test))


def _images(x):
    scaled = x.astype(np.float32) / 255.0
    return scaled if scaled.ndim == 4 else scaled[..., np.newaxis]


def _labels(y):
    return y.reshape(-1).astype(np.int32)


def _split(name, *arrays):
    for array in arrays:
        array.setflags(write=False)  # a chapter that writes into shared data would change every later cell
    return Split(name, *arrays)


def _first_line(error):
    return (str(error).strip() or type(error).__name__).splitlines()[0]
