"""Traps in combinations that Keras 3 does not support, and in names that it dropped."""

from labutils.traps.registry import Gives, Raises, Trap
from labutils.traps.setups import CONFIRMED, FOUR_DEVICES, IMPORTS

_OTHER_DEVICE = "Trying to access resource"

_HALF = """
keras.mixed_precision.set_global_policy("mixed_float16")
with mirrored(2).scope():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1, dtype="float32")])
    model.compile("adam", "mse", jit_compile={jit})
history = model.fit(*rows(8), batch_size=8, verbose=0)
report(loss=history.history["loss"][0], optimizer=type(model.optimizer).__name__)
"""

_SCALED = """
variable = tf.Variable(3.0)
optimizer = keras.mixed_precision.LossScaleOptimizer(keras.optimizers.SGD(0.1), initial_scale=1024.0)
optimizer.build([variable])
with tf.GradientTape() as tape:
    loss = variable ** 2
    scaled = optimizer.{method}(loss)
optimizer.apply_gradients([(tape.gradient(scaled, variable), variable)])
report(scaled=scaled, after=variable)
"""

TRAPS = (
    Trap(
        name="jit-compile-mirrored",
        title="jit_compile=True and MirroredStrategy do not go together",
        symptom='The model compiles. `fit` fails with "Trying to access resource … located in device …".',
        repro="""
with mirrored(2).scope():
    model = linear()
    model.compile("adam", "mse", jit_compile=True)
history = model.fit(*rows(8), batch_size=8, verbose=0)
""",
        outcome=Raises("InvalidArgumentError", _OTHER_DEVICE),
        remedy="""
@tf.function(jit_compile=True)  # a pure function: no variables, no all-reduce
def squared_error(truth, guess):
    return tf.reduce_mean((truth - guess) ** 2, axis=-1)


with mirrored(2).scope():
    model = linear()
    model.compile("adam", squared_error, jit_compile="auto")
history = model.fit(*rows(8), batch_size=8, verbose=0)
report(loss=history.history["loss"][0], jit_compile=model.jit_compile)
""",
        mended=Gives("It trains; `auto` has become False.", ("loss > 0", "not jit_compile")),
        why="XLA compiles for one device, and the whole step touches the weights of all of them. Leave "
        "`jit_compile` at `auto`, which is off under a strategy, and compile only functions that touch "
        "neither variables nor other replicas.",
        versions=CONFIRMED,
        references=(
            "https://github.com/keras-team/keras/issues/18145",
            "https://github.com/keras-team/tf-keras/issues/194",
            "https://www.tensorflow.org/xla/known_issues#tfvariable_on_a_different_device",
        ),
        chapters=("02", "07"),
        setup=FOUR_DEVICES,
    ),
    Trap(
        name="float16-jit-mirrored",
        title="float16, MirroredStrategy and jit_compile: drop the last",
        symptom="Mixed precision works on one device. With a strategy it fails, and old answers blame the loss "
        "scaling.",
        repro=_HALF.format(jit="True"),
        outcome=Raises("InvalidArgumentError", _OTHER_DEVICE),
        remedy=_HALF.format(jit="False"),
        mended=Gives(
            "float16 trains on two replicas, with loss scaling.", ("loss > 0", 'optimizer == "LossScaleOptimizer"')
        ),
        why="Of the three, only `jit_compile=True` has to go: loss scaling and the strategy work together today. "
        "Changing to bfloat16 does not help as long as jit is on, though it does save you the loss scaling.",
        versions=CONFIRMED,
        references=(
            "https://github.com/keras-team/keras/issues/18666",
            "https://github.com/keras-team/keras/issues/21366",
        ),
        chapters=("02", "06"),
        setup=FOUR_DEVICES,
    ),
    Trap(
        name="reset-states-gone",
        title="metric.reset_states() is reset_state() now",
        symptom="A tutorial's loop stops after its first epoch: 'Mean' object has no attribute 'reset_states'.",
        repro="""
metric = keras.metrics.Mean()
metric.update_state(5.0)
metric.reset_states()
""",
        outcome=Raises("AttributeError", "has no attribute 'reset_states'"),
        remedy="""
metric = keras.metrics.Mean()
metric.update_state(5.0)
metric.reset_state()
report(mean=metric.result())
""",
        mended=Gives("The mean is 0 again.", ("mean == 0",)),
        why="Keras 3 dropped the plural. Only the name has changed.",
        versions=CONFIRMED,
        references=("https://github.com/tensorflow/docs/pull/2336",),
        chapters=("02",),
        setup=IMPORTS,
    ),
    Trap(
        name="get-scaled-loss-gone",
        title="get_scaled_loss and get_unscaled_gradients are gone",
        symptom="The mixed-precision guide's custom loop fails: no attribute 'get_scaled_loss'.",
        repro=_SCALED.format(method="get_scaled_loss"),
        outcome=Raises("AttributeError", "has no attribute 'get_scaled_loss'"),
        remedy=_SCALED.format(method="scale_loss"),
        mended=Gives(
            "The loss is scaled by 1024, and the step is the plain one: 3 − 0.1 · 6 = 2.4.",
            ("scaled == 9216", "abs(after - 2.4) < 1e-6"),
        ),
        why="`scale_loss` scales the loss; `apply_gradients` takes the scaled gradients and unscales them itself. "
        "Dividing them yourself would do it twice.",
        versions=CONFIRMED,
        references=(
            "https://github.com/tensorflow/tensorflow/issues/64124",
            "https://github.com/keras-team/keras/issues/19479",
        ),
        chapters=("06",),
        setup=IMPORTS,
    ),
    Trap(
        name="legacy-optimizers-gone",
        title="keras.optimizers.legacy is gone",
        symptom="`keras.optimizers.legacy.Adam()` raises an ImportError that wants another package installed.",
        repro="""
optimizer = keras.optimizers.legacy.Adam(0.001)
""",
        outcome=Raises("ImportError", "`keras.optimizers.legacy` is not supported in Keras 3"),
        remedy="""
optimizer = keras.optimizers.Adam(0.001)
report(learning_rate=optimizer.learning_rate)
""",
        mended=Gives("The plain optimizer.", ("abs(learning_rate - 0.001) < 1e-6",)),
        why="The legacy classes were a bridge out of Keras 2, and Keras 3 has none. Take the optimizer of the same "
        "name; `decay=` has become a learning-rate schedule.",
        versions=CONFIRMED,
        references=("https://github.com/keras-team/keras/pull/18540",),
        chapters=("02",),
        setup=IMPORTS,
    ),
    Trap(
        name="save-without-extension",
        title="model.save needs a file extension",
        symptom='`model.save("my_model")` used to write a folder. Now it is an error.',
        repro="""
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.save("my_model")
""",
        outcome=Raises("ValueError", "Invalid filepath extension for saving"),
        remedy="""
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.save("my_model.keras")
again = keras.models.load_model("my_model.keras")
report(same=bool((again.layers[-1].kernel.numpy() == model.layers[-1].kernel.numpy()).all()))
""",
        mended=Gives("The model comes back as it was.", ("same",)),
        why="Keras 3 chooses the format by the extension: `.keras` for a model to load again. For a SavedModel to "
        "serve, call `model.export(folder)`.",
        versions=CONFIRMED,
        references=(
            "https://github.com/adriangb/scikeras/issues/314",
            "https://keras.io/api/models/model_saving_apis/model_saving_and_loading/",
        ),
        chapters=("02",),
        setup=IMPORTS,
    ),
)
