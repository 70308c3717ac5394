"""Traps of mixed precision: updates that vanish, and losses that are no numbers."""

from labutils.traps.registry import Gives, Trap
from labutils.traps.setups import CONFIRMED, IMPORTS

_LOOP = """
keras.utils.set_random_seed(1)
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1, dtype="mixed_float16")])
optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1))
optimizer.build(model.trainable_variables)
x, y = tf.ones((8, 4)) / 4, tf.ones((8, 1))
before = model.layers[0].kernel.numpy()
for _ in range(3):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.cast(model(x), "float32") - y) ** 2)
        used = {used}
    optimizer.apply(tape.gradient(used, model.trainable_variables))
report(moved=float(np.abs(model.layers[0].kernel.numpy() - before).max()))
"""

_LOG = """
probability = tf.constant(0, {dtype})
report(log=float(tf.math.log(probability + tf.constant({epsilon}, {dtype}))))
"""

_SOFTMAX = """
keras.mixed_precision.set_global_policy("mixed_float16")
model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(2, activation="softmax"{dtype})])
model.layers[0].kernel.assign([[1.0, 0.0], [0.0, 1.0]])
probabilities = model(tf.constant([[0.0, 18.0]]))
report(dtype=probabilities.dtype.name, first=float(probabilities[0, 0]))
"""

TRAPS = (
    Trap(
        name="unscaled-loss",
        title="The optimizer takes off a scale that nobody has put on",
        symptom="A loop of your own in float16 runs without an error, and the model does not learn.",
        repro=_LOOP.format(used="loss"),
        outcome=Gives("After three steps no weight has moved by a thousandth.", ("moved < 1e-3",)),
        remedy=_LOOP.format(used="optimizer.scale_loss(loss)"),
        mended=Gives("They move by hundredths.", ("moved > 0.01",)),
        why="LossScaleOptimizer divides every gradient by its scale, 32768 at first. Where the loss was not "
        "multiplied, an update is 1/32768 of what it should be. `precision.check_scaling` finds it.",
        versions=CONFIRMED,
        references=("https://github.com/keras-team/keras/issues/19244",),
        chapters=("06",),
        setup=IMPORTS,
    ),
    Trap(
        name="epsilon-underflows",
        title="The epsilon that should save the logarithm is itself zero",
        symptom="The loss is inf or nan in float16, and a larger loss scale does not help.",
        repro=_LOG.format(dtype="tf.float16", epsilon="1e-8"),
        outcome=Gives("The logarithm is minus infinity.", ("log < -1e30",)),
        remedy=_LOG.format(dtype="tf.float32", epsilon="1e-8"),
        mended=Gives("In float32 it is a number.", ("-19 < log < -18",)),
        why="1e-8 is less than half of float16's smallest number, so it becomes 0. The forward pass is out of range, "
        "which a loss scale cannot mend: compute losses, softmax and logarithms in float32, or use bfloat16.",
        versions=CONFIRMED,
        references=("https://github.com/keras-team/keras/issues/16552",),
        chapters=("06",),
        setup=IMPORTS,
    ),
    Trap(
        name="softmax-in-float16",
        title="The last layer computes its softmax in float16",
        symptom="Under the policy mixed_float16 the probabilities of rare classes are exactly 0, without a warning.",
        repro=_SOFTMAX.format(dtype=""),
        outcome=Gives("The last layer gives float16, and 0.", ("dtype == 'float16'", "first == 0")),
        remedy=_SOFTMAX.format(dtype=', dtype="float32"'),
        mended=Gives("In float32 the probability is there.", ("dtype == 'float32'", "1e-8 < first < 2e-8")),
        why="The policy holds for every layer, the last one too. exp(-18) is below float16's smallest number. Give the "
        "last layer dtype='float32'; `precision.audit(model)` names it.",
        versions=CONFIRMED,
        references=("https://github.com/tensorflow/tensorflow/issues/34406",),
        chapters=("06",),
        setup=IMPORTS,
    ),
)
