"""Traps of tracing and compiling: a new program where the old one would do."""

from labutils.traps.registry import Gives, Trap
from labutils.traps.setups import CONFIRMED, IMPORTS

_RETRACE = """
@tf.function
def step(x, rate):
    return x * rate


for number in range(8):
    step(tf.constant(1.0), {rate})
report(traces=step.experimental_get_tracing_count())
"""

_SHAPES = """
weights = tf.ones((64, 64))


@tf.function(jit_compile=True)
def work(x):
    return tf.reduce_sum(tf.nn.gelu(x @ weights))


for length in (8, 9, 10, 11):
    x = tf.ones(({length}, 64))
    work(x)
report(programs=work.experimental_get_tracing_count())
"""

_AUTO = """
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse"{jit})
x, y = np.ones((8, 4), "float32"), np.ones((8, 1), "float32")
model.train_on_batch(x, y)
report(compiled_by_xla=bool(model.jit_compile))
"""

TRAPS = (
    Trap(
        name="python-number-retraces",
        title="A Python number in every call is a new graph in every call",
        symptom="Each step takes a tenth of a second, most of it before anything computes; memory grows.",
        repro=_RETRACE.format(rate="0.1 * number"),
        outcome=Gives("Eight calls, eight graphs.", ("traces == 8",)),
        remedy=_RETRACE.format(rate="tf.constant(0.1 * number)"),
        mended=Gives("With a tensor there is one.", ("traces == 1",)),
        why="A Python value is part of what a graph is made for, as the shapes are; a tensor is an input of it. Old "
        "graphs stay in memory. `labutils diagnose` calls it retracing.",
        versions=CONFIRMED,
        references=("https://github.com/tensorflow/tensorflow/issues/31175",),
        chapters=("05", "07"),
        setup=IMPORTS,
    ),
    Trap(
        name="program-for-each-shape",
        title="XLA compiles for every shape",
        symptom="With sequences of all lengths, training with XLA begins slowly and stays slow for very long.",
        repro=_SHAPES.format(length="length"),
        outcome=Gives("Four lengths, four programs.", ("programs == 4",)),
        remedy=_SHAPES.format(length="16"),
        mended=Gives("Padded to one length there is one.", ("programs == 1",)),
        why="A program of XLA holds its shapes as constants. Pad sequences to a few lengths (buckets), and fix the "
        "batch with drop_remainder=True.",
        versions=CONFIRMED,
        references=("https://github.com/tensorflow/tensorflow/issues/62198",),
        chapters=("07",),
        setup=IMPORTS,
    ),
    Trap(
        name="auto-is-a-guess",
        title='`jit_compile="auto"` decides by itself, and does not say what',
        symptom="You compare a model with and without XLA, and there is no difference; or XLA's messages appear, and "
        "you have not asked for it.",
        repro=_AUTO.format(jit=""),
        outcome=Gives("On a CPU, auto means no.", ("not compiled_by_xla",)),
        remedy=_AUTO.format(jit=", jit_compile=True"),
        mended=Gives("Said outright, it is compiled.", ("compiled_by_xla",)),
        why="Keras 3 turns XLA on by itself on a GPU where the layers allow it, and off on a CPU and under a strategy. "
        "Where you compare, say True or False on both sides.",
        versions=CONFIRMED,
        references=("https://github.com/keras-team/keras/issues/19081",),
        chapters=("07",),
        setup=IMPORTS,
    ),
)
