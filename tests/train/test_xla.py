"""Programs of XLA, read: kernels and what is in them, from the real compiler and from text."""

import pytest
import tensorflow as tf

from labutils.train import xla

pytestmark = pytest.mark.usefixtures("machine")


def compiled(function):
    return tf.function(function, jit_compile=True)


def test_a_chain_is_one_kernel():
    def chain(x):
        for _ in range(3):
            x = tf.tanh(x * 1.5) + 1.0
        return x

    made = xla.program(compiled(chain), tf.zeros((16, 16)))
    (kernel,) = made.kernels
    assert sorted(made.operations(kernel)) == ["add"] * 3 + ["multiply"] * 3 + ["tanh"] * 3
    assert repr(made).startswith("1 kernel\n  1. f32[16,16]") and "3 x tanh" in repr(made)


def test_a_product_stands_alone():
    made = xla.program(compiled(lambda x: tf.nn.relu(x @ x + 1.0)), tf.zeros((16, 16)))
    assert made.operations(made.kernels[0]) == ["dot"]
    assert sorted(made.operations(made.kernels[1])) == ["add", "maximum"]


def test_the_shape_is_in_the_program():
    function = compiled(lambda x: x * 2.0)
    assert "f32[7]" in repr(xla.program(function, tf.zeros(7))) and "f32[9]" in repr(xla.program(function, tf.zeros(9)))


def test_what_is_not_compiled_is_said():
    with pytest.raises(TypeError, match="jit_compile=True"):
        xla.program(tf.function(lambda x: x), tf.zeros(3))
    in_python = compiled(lambda x: tf.numpy_function(lambda a: a, [x], tf.float32))
    with pytest.raises(ValueError, match=r"XLA cannot compile this: .*PyFunc"):
        xla.program(in_python, tf.zeros(3))


def test_a_text_is_read():
    text = """HloModule made

%inside (p: f32[4]) -> f32[4] {
  %p = f32[4]{0} parameter(0)
  %two = f32[] constant(2)
  %wide = f32[4]{0} broadcast(%two), dimensions={}
  ROOT %out = f32[4]{0} multiply(%p, %wide)
}

ENTRY %main (x: f32[4]) -> (f32[4]) {
  %x = f32[4]{0} parameter(0)
  %fused = f32[4]{0} fusion(%x), kind=kLoop, calls=%inside
  ROOT %both = (f32[4]{0}) tuple(%fused)
}
"""
    made = xla.parse(text)
    assert [kernel.name for kernel in made.kernels] == ["fused"]
    assert made.operations(made.kernels[0]) == ["multiply"]
    assert xla.parse("").kernels == []
