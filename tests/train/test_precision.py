"""Precision: the hardware's formats, the layer that leaves its range, what is amiss in a model and in a loop."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from labutils.train import models, precision

pytestmark = pytest.mark.usefixtures("machine")


def dense(units, activation=None, dtype="mixed_float16", **more):
    return keras.layers.Dense(units, activation, dtype=dtype, **more)


def stack(*layers):
    return keras.Sequential([keras.Input((4,)), *layers])


# --- the hardware ---


@pytest.mark.parametrize(
    "flags, formats, because",
    [
        ({"avx2", "f16c"}, (), "no instruction set for 16-bit products"),
        ({"avx512f", "avx512_bf16"}, ("bfloat16",), "avx512_bf16"),
        ({"amx_bf16", "avx512_bf16", "avx512_fp16"}, ("bfloat16", "float16"), "avx512_bf16, amx_bf16, avx512_fp16"),
        ({"asimdhp", "bf16"}, ("bfloat16", "float16"), "bf16, asimdhp"),
        (None, (), "cannot be read"),
    ],
)
def test_the_formats_of_a_processor(flags, formats, because):
    found = precision._cpu(flags, "x86_64")
    assert found.formats == formats and because in found.because
    assert ("neither bfloat16 nor float16" in repr(found)) == (not formats)


@pytest.mark.parametrize("capability, formats", [((6, 1), ()), ((7, 0), ("float16",)), ((8, 0), precision.HALVES)])
def test_the_formats_of_a_gpu(capability, formats):
    found = precision._gpu({"device_name": "Some GPU", "compute_capability": capability})
    assert found.formats == formats and "Some GPU" in repr(found)


def test_this_machine_is_described(tmp_path):
    assert "products in" in repr(precision.hardware())
    assert precision._cpu_flags(tmp_path / "none") is None
    (tmp_path / "info").write_text("model name\t: X\nflags\t\t: avx2 amx_bf16\n")
    assert precision._cpu_flags(tmp_path / "info") == {"avx2", "amx_bf16"}


# --- out of range ---


def test_the_first_layer_out_of_range_is_named():
    large = keras.initializers.Constant(300.0)
    model = stack(dense(4, name="small"), dense(4, name="large", kernel_initializer=large), dense(4, name="after"))
    model.layers[0].kernel.assign(100 * np.eye(4))
    found = precision.first_out_of_range(model, np.ones((2, 4), np.float32))
    assert (found.layer, found.dtype, found.what, found.largest) == ("large", "float16", "inf", 100.0)
    assert "A larger loss scale does not help" in repr(found) and "6.55e+04" in repr(found)


def test_a_logarithm_of_nothing():
    log = keras.layers.Lambda(lambda x: tf.math.log(x + tf.cast(1e-8, x.dtype)), dtype="mixed_float16", name="log")
    found = precision.first_out_of_range(stack(log), np.zeros((2, 4), np.float32))
    assert found.layer == "log" and found.what == "inf"


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_a_wider_range_holds_it(policy):
    large = keras.initializers.Constant(300.0)
    model = stack(dense(4, dtype=policy, kernel_initializer=large), dense(4, dtype=policy, kernel_initializer=large))
    assert precision.first_out_of_range(model, np.ones((2, 4), np.float32)) is None


def test_a_batch_with_no_numbers_is_no_fault_of_the_model():
    with pytest.raises(ValueError, match="look at the data"):
        precision.first_out_of_range(stack(dense(4)), np.full((2, 4), np.nan, np.float32))
    x = keras.Input((4,))
    with pytest.raises(ValueError, match="Sequential"):
        precision.first_out_of_range(keras.Model(x, dense(4)(x)), np.ones((2, 4)))


# --- the audit ---


def test_a_sound_model_has_no_findings():
    model = stack(dense(8, "relu"), dense(3, dtype="float32"))
    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1))
    assert precision.audit(model, optimizer) == ()
    assert precision.audit(models.mlp(), None)[0].startswith("No layer computes in 16 bits")


def test_each_fault_is_named():
    half_logits = precision.audit(stack(dense(8, "relu"), dense(3, name="logits")))
    assert "The last layer, logits, gives float16" in half_logits[0]
    softmax = precision.audit(stack(dense(3, "softmax", name="probabilities")))
    assert softmax == ("probabilities computes its softmax in float16: give it dtype='float32'.",)
    unscaled = precision.audit(stack(dense(8), dense(3, dtype="float32")), keras.optimizers.SGD(0.1))
    assert "the loss is not scaled" in unscaled[0]
    bfloat16 = stack(dense(8, dtype="mixed_bfloat16"), dense(3, dtype="float32"))
    assert precision.audit(bfloat16, keras.optimizers.SGD(0.1)) == ()
    with pytest.raises(TypeError, match="a Keras model; this is a list"):
        precision.audit([dense(3)])


# --- the loop ---


def loop(scaled):
    model, optimizer = stack(dense(3, dtype="float32")), keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1))
    optimizer.build(model.trainable_variables)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(tf.ones((2, 4))) ** 2)
            used = optimizer.scale_loss(loss) if scaled else loss
        optimizer.apply(tape.gradient(used, model.trainable_variables))
        return loss

    return step, model, optimizer


def test_a_loop_that_does_not_scale_is_told_and_one_that_does_is_not():
    assert precision.check_scaling(*loop(scaled=True)) == ""
    said = precision.check_scaling(*loop(scaled=False))
    assert "divides the gradients by 32768" in said and "scale_loss(loss)" in said


def test_the_weights_are_put_back():
    step, model, optimizer = loop(scaled=True)
    step()
    before = [variable.numpy() for variable in [*model.variables, *optimizer.variables]]
    precision.check_scaling(step, model, optimizer)
    after = [variable.numpy() for variable in [*model.variables, *optimizer.variables]]
    assert all(np.array_equal(left, right) for left, right in zip(before, after, strict=True))
    with pytest.raises(TypeError, match="this is SGD"):
        precision.check_scaling(step, model, optimizer.inner_optimizer)
