"""What the forward pass of a Keras model keeps for its backward pass, predicted layer by layer."""

import math
from dataclasses import dataclass

import keras
import tensorflow as tf

from labutils.train import precision

_VIEWS = (keras.layers.Flatten, keras.layers.Reshape)  # they hand on their input's buffer
_ACTIVATIONS = (keras.layers.ReLU, keras.layers.Activation)
_LINEAR = (keras.layers.Dense, keras.layers.Conv2D)
_NORMALISES = (keras.layers.BatchNormalization,)
_OTHERS = (keras.layers.MaxPooling2D, keras.layers.Embedding)
_KNOWN = (*_VIEWS, *_ACTIVATIONS, *_LINEAR, *_NORMALISES, *_OTHERS)
_BYTES = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2}


@dataclass(frozen=True)
class LayerMemory:
    """Bytes that one layer keeps: its `output`, the `casts` of its input, and 16-bit copies of its `weights`."""

    name: str
    kind: str
    output: int
    casts: int
    weights: int

    @property
    def total(self):
        """Bytes in all."""
        return self.output + self.casts + self.weights


def predict_kept(model, batch):
    """A LayerMemory for each layer of a model of plain layers in a row, for a batch of that many samples.

    A layer's output stays until its gradient has been computed; an activation overwrites its input, since nobody
    needs that any more. BatchNormalization needs its own input, not its output, and computes in float32: in 16 bits
    it keeps its input a second time, and wider. Where another layer computes in another type than it is given, the
    cast of its input stays, and so does the cast of its kernel; the first kernel's does not, for nobody asks for the
    gradient of the model's input. Where a CPU computes in bfloat16, its max pooling (oneDNN's) also notes in a byte for
    each of its outputs where the largest input stood. ValueError for a batch that is not a whole number from
    1 up, for a model that is no row of layers, and for a kind of layer that there is no rule for.
    """
    if isinstance(batch, bool) or not isinstance(batch, int) or batch < 1:
        raise ValueError(f"A batch is a whole number of samples from 1 up; it was {batch!r}.")
    layers = [layer for layer in model.layers if not isinstance(layer, keras.layers.InputLayer)]
    for layer in layers:
        if not isinstance(layer, _KNOWN):
            known = ", ".join(kind.__name__ for kind in _KNOWN)
            raise ValueError(f"There is no rule for what {type(layer).__name__} keeps. There are rules for {known}.")
    befores = [model.inputs[0], *(layer.output for layer in layers)]
    first = next((layer for layer in layers if layer.weights), None)
    return [
        _of(layer, before, following, batch, first=layer is first)
        for layer, before, following in zip(layers, befores, [*layers[1:], None], strict=False)
    ]


def _of(layer, before, following, batch, first):
    size = _BYTES[layer.compute_dtype]
    numbers, given = batch * math.prod(layer.output.shape[1:]), batch * math.prod(before.shape[1:])
    weights = casts = 0
    if isinstance(layer, _NORMALISES) and size < 4:
        casts = 4 * given
    elif "float" in str(before.dtype) and str(before.dtype) != layer.compute_dtype:
        casts = size * given
    if isinstance(layer, _LINEAR) and not first and layer.variable_dtype != layer.compute_dtype:
        weights = math.prod(layer.kernel.shape) * size
    output = size * numbers if _stays(layer, following) else 0
    if isinstance(layer, keras.layers.MaxPooling2D) and layer.compute_dtype == "bfloat16" and _pools_with_notes():
        output += numbers
    return LayerMemory(layer.name, type(layer).__name__, output, casts, weights)


def _pools_with_notes():
    """Whether oneDNN does the pooling in bfloat16: seen on a CPU with the instructions for it, not on one without."""
    return not tf.config.list_physical_devices("GPU") and "bfloat16" in precision.hardware().formats


def _stays(layer, following):
    """Whether the layer's output is still there when the backward pass begins."""
    if isinstance(layer, _VIEWS):
        return False
    if isinstance(following, _ACTIVATIONS):
        return False  # overwritten
    # What normalises in float32 has its own copy of what it was given in 16 bits, and a linear layer needs it not.
    given_away = isinstance(following, _NORMALISES) and _BYTES[following.compute_dtype] < 4
    return not (isinstance(layer, _LINEAR) and given_away)
