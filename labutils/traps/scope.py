"""Traps in where objects are created: in the strategy's scope, on devices that exist, in a fresh process."""

from labutils.traps.registry import Gives, Hangs, Raises, Trap
from labutils.traps.setups import CONFIRMED, FOUR_DEVICES, IMPORTS

_TRAINED = Gives("It trains.", ("loss > 0",))

_FIT = """history = model.fit(*rows(8), batch_size=8, verbose=0)
report(loss=history.history["loss"][0])
"""

_INSIDE = (
    """
with mirrored(2).scope():
    model = linear()
    optimizer = keras.optimizers.Adam()
    model.compile(optimizer, "mse")
"""
    + _FIT
)

_LOOP = """
strategy = mirrored(4)
with strategy.scope():
    model = linear()
{create}

def on_replica(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum((model(x) - y) ** 2) / 16
    weights = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))


step = tf.function(lambda x, y: strategy.run(on_replica, args=(x, y)))
data = tf.data.Dataset.from_tensor_slices(rows(64)).batch(16)
for x, y in strategy.experimental_distribute_dataset(data):
    step(x, y)
copies = [copy.numpy() for copy in strategy.experimental_local_results(model.layers[-1].kernel.value)]
report(steps=4, steps_counted=int(optimizer.iterations.numpy()),
       copies_apart=max(np.abs(copy - copies[0]).max() for copy in copies))
"""

_COUNTS = """
for replicas in (2, 4):
    strategy = tf.distribute.MirroredStrategy(
        [f"CPU:{{i}}" for i in range(replicas)]{how})
    with strategy.scope():
        model = linear()
        model.compile("sgd", "mse")
    model.fit(*rows(16), batch_size=16, verbose=0)
    report(trained_on=replicas)
"""

_SCOPE = (
    "https://github.com/tensorflow/tensorflow/issues/41768",
    "https://github.com/huggingface/transformers/issues/4456",
)

TRAPS = (
    Trap(
        name="optimizer-outside-scope",
        title="The optimizer was created outside the scope",
        symptom='`fit` stops with "Mixing different tf.distribute.Strategy objects", though you have only one.',
        repro="""
optimizer = keras.optimizers.Adam()
with mirrored(2).scope():
    model = linear()
    model.compile(optimizer, "mse")
"""
        + _FIT,
        outcome=Raises("RuntimeError", "Mixing different tf.distribute.Strategy objects"),
        remedy=_INSIDE,
        mended=_TRAINED,
        why="An optimizer remembers the strategy it was created under. Outside any scope that is the default one, "
        "which is the second of the two that the message speaks of. Create it inside the scope.",
        versions=CONFIRMED,
        references=_SCOPE,
        chapters=("02",),
        setup=FOUR_DEVICES,
    ),
    Trap(
        name="compile-outside-scope",
        title="compile was called outside the scope",
        symptom="You give `compile` nothing but strings, and `fit` still complains of mixed strategies.",
        repro="""
with mirrored(2).scope():
    model = linear()
model.compile("adam", "mse")
"""
        + _FIT,
        outcome=Raises("RuntimeError", "Mixing different tf.distribute.Strategy objects"),
        remedy="""
with mirrored(2).scope():
    model = linear()
    model.compile("adam", "mse")
"""
        + _FIT,
        mended=_TRAINED,
        why="`compile` turns the string into an optimizer, and creates the metrics, there and then. Call it inside "
        "the scope. `fit` may stand outside.",
        versions=CONFIRMED,
        references=_SCOPE,
        chapters=("02",),
        setup=FOUR_DEVICES,
    ),
    Trap(
        name="model-outside-scope",
        title="The model was created outside the scope",
        symptom="`fit` says that you need to be inside the scope; when you move `fit` inside, it complains of "
        "`colocate_vars_with`.",
        repro="""
model = linear()
with mirrored(2).scope():
    model.compile("adam", "mse")
"""
        + _FIT,
        outcome=Raises("RuntimeError", 'Need to be inside "with strategy.scope()"'),
        remedy="""
with mirrored(2).scope():
    model = linear()
    model.compile("adam", "mse")
"""
        + _FIT,
        mended=_TRAINED,
        why="The model's weights exist once, on one device; the optimizer looks for a copy on each replica. It is "
        "the model that must move into the scope, not `fit`.",
        versions=CONFIRMED,
        references=_SCOPE,
        chapters=("02",),
        setup=FOUR_DEVICES,
    ),
    Trap(
        name="optimizer-built-outside-scope",
        title="In your own loop, an optimizer built outside the scope breaks the copies apart",
        symptom="Nothing fails. The replicas' weights drift apart, and the optimizer counts 16 steps after 4.",
        repro=_LOOP.format(
            create="optimizer = keras.optimizers.Adam(0.1)\noptimizer.build(model.trainable_variables)\n"
        ),
        outcome=Gives(
            "After 4 steps the optimizer has counted 16, and the copies differ by more than 0.001.",
            ("steps_counted == 16", "copies_apart > 1e-3"),
        ),
        remedy=_LOOP.format(
            create="    optimizer = keras.optimizers.Adam(0.1)\n    optimizer.build(model.trainable_variables)\n"
        ),
        mended=Gives(
            "Four steps are counted, and all copies are the same.", ("steps_counted == 4", "copies_apart == 0")
        ),
        why="Adam's running averages and its step counter then exist once, and every replica updates them in turn. "
        "No two replicas see the same state, so they take different steps. Create and build the optimizer "
        "inside the scope, before the first step.",
        versions=CONFIRMED,
        references=_SCOPE,
        chapters=("02",),
        setup=FOUR_DEVICES,
    ),
    Trap(
        name="replica-count-changed",
        title="Another replica count in the same process",
        symptom="2 replicas train. You change the 2 to a 4, run the cell again, and get an InternalError whose "
        "first screen says nothing; now and then it is a CancelledError that says even less.",
        repro=_COUNTS.format(how=""),
        outcome=Raises(
            "InternalError",
            "but that group has size 2",
            also=(("CancelledError", "Function was cancelled before it was started"),),
        ),
        remedy=_COUNTS.format(how=",\n        cross_device_ops=tf.distribute.ReductionToOneDevice()"),
        mended=Gives("Both counts train, one after the other.", ("trained_on == 4",)),
        why="The default all-reduce numbers its groups, and a number keeps its size for the life of the process. "
        "`ReductionToOneDevice` and `HierarchicalCopyAllReduce` use no groups. Otherwise restart the kernel.",
        versions=CONFIRMED,
        references=("https://github.com/tensorflow/tensorflow/issues/61314",),
        chapters=("02",),
        setup=FOUR_DEVICES,
    ),
    Trap(
        name="devices-too-late",
        title="Logical devices were asked for after TensorFlow had started",
        symptom='The set-up cell fails with "Virtual devices cannot be modified". You go on, and your four '
        "replicas are one.",
        repro="""
tf.constant(1) + 1  # any earlier cell that does something
report(replicas=tf.distribute.MirroredStrategy().num_replicas_in_sync)
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 4)
""",
        outcome=Raises("RuntimeError", "Virtual devices cannot be modified after being initialized"),
        remedy="""
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 4)
tf.constant(1) + 1
report(devices=len(tf.config.list_logical_devices("CPU")))
""",
        mended=Gives("Four logical devices.", ("devices == 4",)),
        why="The first operation fixes the devices for the life of the process. Set them up in the first cell, "
        "before anything is computed. When it is too late, restart the kernel.",
        versions=CONFIRMED,
        references=("https://github.com/tensorflow/tensorflow/issues/35083",),
        chapters=("00", "02"),
        setup=IMPORTS,
    ),
    Trap(
        name="devices-that-do-not-exist",
        title="A strategy over devices that do not exist hangs at the first step",
        symptom="The strategy says 2 replicas, the model is created, and `fit` never comes back. No message.",
        repro="""
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])  # this process has CPU:0 only
with strategy.scope():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
copies = strategy.experimental_local_results(model.layers[-1].kernel.value)
report(replicas=strategy.num_replicas_in_sync, placed_on=[copy.device[-5:] for copy in copies])
model.fit(np.ones((8, 4)), np.ones((8, 1)), verbose=0)
""",
        outcome=Hangs(
            "Both copies of the weights are on CPU:0, and `fit` hangs until it is killed.",
            ("replicas == 2", 'placed_on == ["CPU:0", "CPU:0"]'),
        ),
        remedy="""
wanted = ["CPU:0", "CPU:1"]
existing = [device.name.removeprefix("/device:") for device in tf.config.list_logical_devices()]
missing = [name for name in wanted if name not in existing]
report(existing=existing, missing=missing)
""",
        mended=Gives(
            "The missing device is named before a strategy is made.", ('existing == ["CPU:0"]', 'missing == ["CPU:1"]')
        ),
        why="The names are not checked: TensorFlow places what it cannot place elsewhere on CPU:0, and the two "
        "replicas wait for each other's gradients on one device. Compare the names with "
        "`tf.config.list_logical_devices()` first.",
        versions=CONFIRMED,
        references=("https://github.com/tensorflow/tensorflow/issues/26709",),
        chapters=("00", "02"),
        setup=IMPORTS,
    ),
)
