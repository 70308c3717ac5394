"""Traps in how a batch is cut up and delivered."""

from labutils.traps.registry import Gives, Raises, Trap
from labutils.traps.setups import CONFIRMED, FOUR_DEVICES

_UNEVEN_LAST = """
def train(replicas):
    with mirrored(replicas).scope():
        model = linear()
        model.compile(keras.optimizers.SGD(0.1), "mse")
    data = tf.data.Dataset.from_tensor_slices(rows(66)).batch(32{keep})
    history = model.fit(data, verbose=0)
    return history.history["loss"][0], model.layers[-1].kernel.numpy()


loss_1, weights_1 = train(1)
loss_4, weights_4 = train(4)
report(losses_apart=abs(loss_4 / loss_1 - 1), weights_apart=np.abs(weights_4 - weights_1).max())
"""

_UNEVEN_FIRST = """
with mirrored(4).scope():
    model = linear()
    model.compile("sgd", "mse")
x, y = rows(60)
history = model.fit(x, y, batch_size={batch}, verbose=0)
report(loss=history.history["loss"][0])
"""

_WHOSE_BATCH = """
strategy = mirrored(4)
data = tf.data.Dataset.range(70)


def sizes(batches):
    parts = strategy.experimental_local_results
    return [[int(part.shape[0]) for part in parts(batch)] for batch in batches]


whole = strategy.experimental_distribute_dataset(data.batch(32))
pieces = strategy.distribute_datasets_from_function(
    lambda context: data.batch({batch}))
report(experimental_distribute_dataset=sizes(whole), distribute_datasets_from_function=sizes(pieces))
"""

_EMPTY_REPLICA = """
def loss(truth, guess):
    {formula}


with mirrored(4).scope():
    model = linear()
    model.compile(keras.optimizers.SGD(0.01), loss)
x, y = rows(34)
history = model.fit(x, y, batch_size=32, verbose=0)
weights = model.layers[-1].kernel.numpy()
report(loss=history.history["loss"][0], weights_finite=bool(np.isfinite(weights).all()))
"""

_RAN_OUT = """
x, y = rows(64)
per_replica, replicas, epochs = 4, 4, 2
global_batch = per_replica * replicas
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(global_batch)
steps = {steps}

with mirrored(replicas).scope():
    model = linear()
    model.compile("sgd", "mse")
history = model.fit({data}, steps_per_epoch=steps, epochs=epochs, verbose=0)
report(epochs_shown=len(history.history["loss"]),
       steps_asked=steps * epochs, steps_run=int(model.optimizer.iterations.numpy()))
"""

_NEW_ITERATOR = """
import time

data = tf.data.Dataset.from_tensor_slices(rows(64)).batch(16)


def seconds(strategy, data, **how):
    with strategy.scope():
        model = linear()
        model.compile("sgd", "mse", jit_compile=False)
    model.fit(data, steps_per_epoch=4, verbose=0)  # traces the training step
    start = time.perf_counter()
    model.fit(data, verbose=0, **how)
    return time.perf_counter() - start


{measure}
"""

TRAPS = (
    Trap(
        name="uneven-last-batch",
        title="The last batch is uneven: the loss agrees, the weights don't",
        symptom="You train the same data with the same seed on 1 and on 4 replicas. The losses match to five "
        "digits, so you believe it. The weights are not the same.",
        repro=_UNEVEN_LAST.format(keep=""),
        outcome=Gives(
            "The losses agree to within 0.001 %; the weights are more than 0.01 apart.",
            ("losses_apart < 1e-5", "weights_apart > 0.01"),
        ),
        remedy=_UNEVEN_LAST.format(keep=", drop_remainder=True"),
        mended=Gives("Losses and weights agree.", ("losses_apart < 1e-5", "weights_apart < 1e-5")),
        why="66 rows in batches of 32 leave 2 rows for 4 replicas: 1, 1, 0 and 0. Each replica's mean is still "
        "divided by 4, so the last gradient is half as large as it should be. The loss you see is weighted by "
        "rows, so it does not reveal this.",
        versions=CONFIRMED,
        references=(
            "https://github.com/keras-team/keras/issues/19891",
            "https://github.com/keras-team/keras/pull/20609",
        ),
        chapters=("01", "02"),
        setup=FOUR_DEVICES,
    ),
    Trap(
        name="uneven-first-batch",
        title="The batch size is not divisible by the replicas: fit dies before it starts",
        symptom="`fit` stops at once with a shape error from an operation called AddN that you never wrote.",
        repro=_UNEVEN_FIRST.format(batch=30),
        outcome=Raises("InvalidArgumentError", "Inputs to operation AddN of type AddN must have the same size"),
        remedy=_UNEVEN_FIRST.format(batch=20),
        mended=Gives("It trains.", ("loss > 0",)),
        why="30 rows over 4 replicas are 8, 8, 8 and 6. Before the first step Keras adds the replicas' shares up "
        "to learn their shape, and shares of different shape cannot be added. Take a global batch that the "
        "replicas divide.",
        versions=CONFIRMED,
        references=("https://github.com/keras-team/keras/issues/19246",),
        chapters=("02",),
        setup=FOUR_DEVICES,
    ),
    Trap(
        name="whose-batch-size",
        title="The same batch(32) means 32 in all, or 32 on each replica",
        symptom="You move from `fit` to a loop of your own and the memory use, or the learning, changes by a "
        "factor of the number of replicas.",
        repro=_WHOSE_BATCH.format(batch="32"),
        outcome=Gives(
            "One splits 32 rows into 8, 8, 8, 8. The other gives 32 rows to every replica.",
            (
                "experimental_distribute_dataset[0] == [8, 8, 8, 8]",
                "distribute_datasets_from_function == [[32, 32, 6, 0]]",
            ),
        ),
        remedy=_WHOSE_BATCH.format(batch="context.get_per_replica_batch_size(32)"),
        mended=Gives(
            "Both give 8 rows to every replica.",
            (
                "experimental_distribute_dataset[0] == [8, 8, 8, 8]",
                "distribute_datasets_from_function[0] == [8, 8, 8, 8]",
            ),
        ),
        why="`fit` and `experimental_distribute_dataset` read the batch as global and split it. What the function "
        "given to `distribute_datasets_from_function` batches goes to a replica whole. Always say which you "
        "mean.",
        versions=CONFIRMED,
        references=("https://github.com/keras-team/keras-io/issues/316",),
        chapters=("02", "03"),
        setup=FOUR_DEVICES,
    ),
    Trap(
        name="empty-replica-nan",
        title="A replica with no rows turns the loss into NaN",
        symptom="On one device the loss is fine. On four it is NaN, and yet the weights are finite.",
        repro=_EMPTY_REPLICA.format(
            formula="return tf.reduce_sum((truth - guess) ** 2) / tf.cast(tf.shape(truth)[0], tf.float32)"
        ),
        outcome=Gives("The loss is NaN; every weight is finite.", ("loss != loss", "weights_finite")),
        remedy=_EMPTY_REPLICA.format(formula="return tf.reduce_sum((truth - guess) ** 2, axis=-1)"),
        mended=Gives("The loss is a number.", ("loss > 0", "weights_finite")),
        why="34 rows leave 2 for the last batch, so two of four replicas get none, and your division by the local "
        "row count is 0 / 0. Return one value per row and let Keras average, or drop the remainder. Look "
        "here before you touch the learning rate.",
        versions=CONFIRMED,
        references=(
            "https://github.com/tensorflow/tensorflow/issues/41657",
            "https://github.com/tensorflow/tensorflow/issues/36224",
        ),
        chapters=("02",),
        setup=FOUR_DEVICES,
    ),
    Trap(
        name="input-ran-out",
        title="The global batch grew, steps_per_epoch did not",
        symptom="All epochs are shown as done. One warning, easy to miss, says that the input ran out of data.",
        repro=_RAN_OUT.format(steps="len(x) // per_replica", data="data"),
        outcome=Gives(
            "Two epochs are shown; 8 of the 32 steps were run.",
            ("epochs_shown == 2", "steps_asked == 32", "steps_run == 8"),
        ),
        remedy=_RAN_OUT.format(steps="len(x) // global_batch", data="data.repeat()"),
        mended=Gives("Every step that was asked for is run.", ("steps_asked == 8", "steps_run == 8")),
        why="Four times the batch leaves a quarter of the steps in the same data. Work the steps out from the "
        "global batch, and repeat the dataset so that no epoch can end early.",
        versions=CONFIRMED,
        references=(
            "https://github.com/tensorflow/tensorflow/issues/25254",
            "https://github.com/tensorflow/tensorflow/issues/36539",
        ),
        chapters=("02", "03", "04"),
        setup=FOUR_DEVICES,
    ),
    Trap(
        name="new-iterator-every-epoch",
        title="fit builds its input again for every epoch",
        symptom="Small epochs take seconds under a strategy, and nearly nothing on one device. More replicas make "
        "it worse.",
        repro=_NEW_ITERATOR.format(
            measure="one_device = seconds(tf.distribute.get_strategy(), data, epochs=2)\n"
            "two_replicas = seconds(mirrored(2), data, epochs=2)\n"
            "report(one_device=one_device, two_replicas=two_replicas)"
        ),
        outcome=Gives(
            "Two small epochs on two replicas take over 3 times as long as on one device.",
            ("two_replicas > 3 * one_device",),
        ),
        remedy=_NEW_ITERATOR.format(
            measure="every_epoch = seconds(mirrored(2), data, epochs=3)\n"
            "only_once = seconds(mirrored(2), data.repeat(), epochs=3, steps_per_epoch=4)\n"
            "report(every_epoch=every_epoch, only_once=only_once)"
        ),
        mended=Gives(
            "With one iterator for all epochs it takes less than two thirds of the time.",
            ("only_once < 0.67 * every_epoch",),
        ),
        why="A distributed iterator has a handful of functions for each replica, and they are traced anew whenever "
        "it is made: at each call of `fit`, and after each epoch of a finite dataset. The training step "
        "itself is not traced again. Repeat the dataset and give `steps_per_epoch`, and one iterator serves "
        "all epochs; in a loop of your own, make the iterator once.",
        versions=CONFIRMED,
        references=("https://github.com/tensorflow/tensorflow/issues/30162",),
        chapters=("02", "04"),
        setup=FOUR_DEVICES,
    ),
)
