"""Precision: what this machine multiplies fast, and which layer of a model leaves the range of its format."""

import platform
from dataclasses import dataclass
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from labutils.theory.floats import FORMATS

HALVES = ("bfloat16", "float16")
#: {instruction set, as /proc/cpuinfo names it: the format whose products it computes}
_CPU = {
    "avx512_bf16": "bfloat16",
    "amx_bf16": "bfloat16",
    "avx512_fp16": "float16",
    "amx_fp16": "float16",
    "bf16": "bfloat16",  # ARM
    "svebf16": "bfloat16",
    "asimdhp": "float16",
}
_TENSOR_CORES = {"float16": (7, 0), "bfloat16": (8, 0)}  # from this compute capability on (CUDA C++ guide)


@dataclass(frozen=True)
class Hardware:
    """What computes here: its `name`, the 16-bit `formats` it has instructions for, and `because` of what."""

    name: str
    formats: tuple[str, ...]
    because: str

    def __repr__(self):
        fast = " and ".join(self.formats) or "neither bfloat16 nor float16"
        return f"{self.name}: products in {fast} ({self.because})"


def hardware():
    """The Hardware of the first GPU, or of the CPU where there is none."""
    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        return _gpu(tf.config.experimental.get_device_details(gpus[0]))
    return _cpu(_cpu_flags(), platform.machine())


def _gpu(details):
    capability = details.get("compute_capability") or (0, 0)
    formats = tuple(name for name in HALVES if capability >= _TENSOR_CORES[name])
    because = f"compute capability {capability[0]}.{capability[1]}: " + ("Tensor Cores" if formats else "none of them")
    return Hardware(details.get("device_name", "GPU"), formats, because)


def _cpu(flags, machine):
    if flags is None:
        return Hardware(machine, (), "its instruction sets cannot be read on this system")
    found = [flag for flag in _CPU if flag in flags]
    formats = tuple(name for name in HALVES if any(_CPU[flag] == name for flag in found))
    return Hardware(machine, formats, ", ".join(found) or "no instruction set for 16-bit products")


def _cpu_flags(path=Path("/proc/cpuinfo")):
    """The instruction sets of the CPU, or None where they cannot be read."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return None
    named = [line.partition(":")[2] for line in lines if line.startswith(("flags", "Features"))]
    return set(named[0].split()) if named else None


@dataclass(frozen=True)
class OutOfRange:
    """The first layer that gave what is no number: its name, its `dtype`, `what` ("inf" or "nan"), `largest` input."""

    layer: str
    dtype: str
    what: str
    largest: float

    def __repr__(self):
        limit = FORMATS[self.dtype].largest
        return (
            f"{self.layer} computes in {self.dtype} and gives {self.what}; its input reaches {self.largest:.3g}, and "
            f"{self.dtype} ends at {limit:.3g}. Give that layer dtype='float32', or use bfloat16. A larger loss scale "
            "does not help: this is the forward pass."
        )


def first_out_of_range(model, x):
    """Run a model of layers in a row on a batch: the first layer whose output is not finite, or None.

    ValueError for a model that is no row of layers, and where the batch itself holds what is no number.
    """
    value = tf.convert_to_tensor(x)
    if value.dtype.is_floating and not _finite(value):
        raise ValueError("The batch itself holds nan or inf: look at the data before you look at the model.")
    if not isinstance(model, keras.Sequential):
        raise ValueError(f"Only a keras.Sequential is run layer by layer; this is a {type(model).__name__}.")
    for layer in model.layers:
        before, value = value, layer(value)
        if not _finite(value):
            numbers = tf.cast(value, tf.float32).numpy()
            what = "nan" if np.isnan(numbers).any() else "inf"
            largest = float(tf.reduce_max(tf.abs(tf.cast(before, tf.float32))))
            return OutOfRange(layer.name, value.dtype.name, what, largest)
    return None


def _finite(value):
    return bool(tf.reduce_all(tf.math.is_finite(tf.cast(value, tf.float32))))


def audit(model, optimizer=None):
    """Sentences on what goes wrong in 16 bits, without running anything; empty where nothing is amiss.

    TypeError for what is no Keras model.
    """
    if not isinstance(model, keras.Model):
        raise TypeError(f"audit looks at a Keras model; this is a {type(model).__name__}.")
    computing = [layer for layer in model.layers if layer.weights or _is_softmax(layer)]
    halves = [layer for layer in computing if layer.compute_dtype in HALVES]
    if not halves:
        return ("No layer computes in 16 bits. Set the policy before the layers are made: they keep the one they had.",)
    found = [
        f"{layer.name} computes its softmax in {layer.compute_dtype}: give it dtype='float32'."
        for layer in halves
        if _is_softmax(layer)
    ]
    last = model.layers[-1]
    if last.compute_dtype in HALVES and not _is_softmax(last):
        found.append(
            f"The last layer, {last.name}, gives {last.compute_dtype}: give it dtype='float32', so that the loss is "
            "computed from float32."
        )
    narrow = any(layer.compute_dtype == "float16" for layer in halves)
    if optimizer is not None and narrow and not isinstance(optimizer, keras.optimizers.LossScaleOptimizer):
        found.append(
            "Layers compute in float16 and the loss is not scaled: wrap the optimizer in "
            "keras.optimizers.LossScaleOptimizer, and in a loop of your own call its scale_loss."
        )
    return tuple(found)


def check_scaling(step, model, optimizer):
    """Whether a loop of one's own scales its loss: a sentence where it does not, "" where all is well.

    Calls `step()` twice, once with a loss scale of 1, and puts all weights back. What a right loop does to the weights
    does not depend on the scale. TypeError where the optimizer does not scale.
    """
    if not isinstance(optimizer, keras.optimizers.LossScaleOptimizer):
        raise TypeError(f"There is a loss scale in a LossScaleOptimizer only; this is {type(optimizer).__name__}.")
    variables = [*model.variables, *optimizer.variables]
    kept = [variable.numpy() for variable in variables]

    def moved(scale):
        optimizer.dynamic_scale.assign(scale)
        step()
        change = [variable.numpy() - before for variable, before in zip(model.variables, kept, strict=False)]
        for variable, before in zip(variables, kept, strict=True):
            variable.assign(before)
        return float(np.sqrt(sum(np.sum(np.square(each.astype(np.float64))) for each in change)))

    scale = float(optimizer.dynamic_scale)
    as_it_is, unscaled = moved(scale), moved(1.0)
    if scale == 1 or unscaled < 10 * as_it_is:
        return ""
    return (
        f"LossScaleOptimizer divides the gradients by {scale:g}, and nobody has multiplied the loss, or "
        f"somebody divides the gradients a second time: a step moves the weights by {as_it_is:.2g} where "
        f"{unscaled:.2g} is meant. Compute the gradients of optimizer.scale_loss(loss); it divides by itself."
    )


def _is_softmax(layer):
    activation = getattr(layer, "activation", None)
    return isinstance(layer, keras.layers.Softmax) or activation is keras.activations.softmax
