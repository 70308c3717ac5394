"""The few small models that the chapters share. The same seed gives the same starting weights, on any strategy."""

import keras

DIGIT_SHAPE = (8, 8, 1)


def mlp(shape=DIGIT_SHAPE, classes=10, width=64, seed=0):
    """Two hidden layers of `width` units; returns logits of shape (batch, classes)."""
    return keras.Sequential(
        [
            keras.Input(shape),
            keras.layers.Flatten(),
            _dense(width, seed, "relu"),
            _dense(width, seed + 1, "relu"),
            _logits(classes, seed + 2),
        ]
    )


def conv(shape=DIGIT_SHAPE, classes=10, filters=16, seed=0):
    """Two convolutions and a classifier; much compute for few gradient bytes. Returns logits."""
    return keras.Sequential(
        [
            keras.Input(shape),
            _conv(filters, seed),
            _conv(2 * filters, seed + 1),
            keras.layers.GlobalAveragePooling2D(),
            _logits(classes, seed + 2),
        ]
    )


def normalised_mlp(shape=DIGIT_SHAPE, classes=10, width=64, seed=0, synchronized=False):
    """One hidden layer with BatchNormalization, whose statistics are shared over replicas if `synchronized`."""
    return keras.Sequential(
        [
            keras.Input(shape),
            keras.layers.Flatten(),
            _dense(width, seed),
            keras.layers.BatchNormalization(synchronized=synchronized),
            keras.layers.Activation("relu"),
            _logits(classes, seed + 1),
        ]
    )


def gradient_bytes(model):
    """How many bytes of gradients one replica sends into the all-reduce: one number per trainable weight."""
    return sum(weight.shape.num_elements() * weight.dtype.size for weight in _values(model))


def _values(model):
    return [variable.value for variable in model.trainable_variables]


def _dense(units, seed, activation=None, dtype=None):
    initializer = keras.initializers.HeNormal(seed=seed)
    return keras.layers.Dense(units, activation=activation, kernel_initializer=initializer, dtype=dtype)


def _logits(classes, seed):
    """The last layer, in float32 under every policy: the loss needs the range."""
    return _dense(classes, seed, dtype="float32")


def _conv(filters, seed):
    initializer = keras.initializers.HeNormal(seed=seed)
    return keras.layers.Conv2D(filters, 3, padding="same", activation="relu", kernel_initializer=initializer)
