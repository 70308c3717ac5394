"""Traps in what is summed and what is averaged over replicas."""

from labutils.traps.registry import Gives, Trap
from labutils.traps.setups import CONFIRMED, FOUR_DEVICES

_TRAIN_STEP = """
class Model(keras.Sequential):
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
{loss}
        weights = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return {logs}


def update(replicas):
    keras.utils.set_random_seed(1)
    with mirrored(replicas).scope():
        model = Model([keras.Input((4,)), keras.layers.Dense(1)])
        model.compile(keras.optimizers.SGD(0.01))
    before = model.layers[-1].kernel.numpy()
    history = model.fit(*rows(64), batch_size=64, verbose=0)
    return np.linalg.norm(model.layers[-1].kernel.numpy() - before), history.history["loss"][0]


(update_1, loss_1), (update_4, loss_4) = update(1), update(4)
report(update_ratio=update_4 / update_1, loss_on_1=loss_1, loss_on_4=loss_4)
"""

_SCALE_AND_REDUCE = '''
def one_step(replicas, loss_of, reduce_by):
    """The loss that is reported, and how far the weights move."""
    strategy = mirrored(replicas)
    with strategy.scope():
        model = linear()
        optimizer = keras.optimizers.SGD(0.01)
        optimizer.build(model.trainable_variables)

    def on_replica(x, y):
        with tf.GradientTape() as tape:
            loss = loss_of((model(x) - y) ** 2)
        weights = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return loss

    data = tf.data.Dataset.from_tensor_slices(rows(64)).batch(64)
    batch = next(iter(strategy.experimental_distribute_dataset(data)))
    before = model.layers[-1].kernel.numpy()
    losses = strategy.run(on_replica, args=batch)
    reported = strategy.reduce(reduce_by, losses, axis=None)
    return np.array([reported, np.linalg.norm(model.layers[-1].kernel.numpy() - before)])


local_mean = tf.reduce_mean
global_share = lambda errors: tf.reduce_sum(errors) / 64
truth = one_step(1, local_mean, "SUM")
'''

_FOUR_WAYS = (
    _SCALE_AND_REDUCE
    + """report(local_mean_SUM=one_step(4, local_mean, "SUM") / truth,
       local_mean_MEAN=one_step(4, local_mean, "MEAN") / truth,
       global_share_SUM=one_step(4, global_share, "SUM") / truth,
       global_share_MEAN=one_step(4, global_share, "MEAN") / truth)
"""
)

_RIGHT_WAY = (
    _SCALE_AND_REDUCE
    + """report(global_share_SUM=one_step(4, global_share, "SUM") / truth)
"""
)

_SCALAR_LOSS = """
def my_loss(truth, guess):
    return tf.reduce_mean((truth - guess) ** 2{axis})


def train(replicas):
    with mirrored(replicas).scope():
        model = linear()
        model.compile(keras.optimizers.SGD(0.01), my_loss)
    before = model.layers[-1].kernel.numpy()
    history = model.fit(*rows(64), batch_size=64, verbose=0)
    return np.linalg.norm(model.layers[-1].kernel.numpy() - before), history.history["loss"][0]


(update_1, loss_1), (update_4, loss_4) = train(1), train(4)
report(loss_ratio=loss_4 / loss_1, update_ratio=update_4 / update_1)
"""

_BATCH_NORM = """
def train(replicas):
    with mirrored(replicas).scope():
        model = linear(keras.layers.BatchNormalization({how}))
        model.compile(keras.optimizers.SGD(0.1), "mse")
    data = tf.data.Dataset.from_tensor_slices(rows(64)).batch(16)
    model.fit(data, verbose=0)
    return model.layers[-1].kernel.numpy()


report(weights_apart=np.abs(train(1) - train(4)).max())
"""

_CLIPPING = """{clipped}def update(replicas):
    with mirrored(replicas).scope():
        model = linear()
        model.compile({optimizer}, "mse")
    before = model.layers[-1].kernel.numpy()
    model.fit(*rows(64), batch_size=64, verbose=0)
    return np.linalg.norm(model.layers[-1].kernel.numpy() - before)


update_1, update_4 = update(1), update(4)
report(update_on_1=update_1, update_on_4=update_4)
"""

_CLIPPED_SUM = """class ClippedSGD(keras.optimizers.SGD):
    def apply_gradients(self, grads_and_vars):
        gradients, weights = zip(*grads_and_vars)
        context = tf.distribute.get_replica_context()
        summed = context.all_reduce("SUM", list(gradients))
        clipped, _ = tf.clip_by_global_norm(summed, 1.0)
        # What follows sums over the replicas once more.
        shares = [gradient / context.num_replicas_in_sync for gradient in clipped]
        return super().apply_gradients(zip(shares, weights))


"""

TRAPS = (
    Trap(
        name="train-step-sums-replicas",
        title="Your own train_step takes steps N times too large",
        symptom="You override `train_step`, it learns well on one device, and on four it overshoots or diverges. "
        "The loss in the history is 0.",
        repro=_TRAIN_STEP.format(
            loss="            loss = tf.reduce_mean((self(x, training=True) - y) ** 2)", logs='{"loss": loss}'
        ),
        outcome=Gives(
            "On 4 replicas the weights move 4 times as far, and the loss shown is 0.",
            ("3.99 < update_ratio < 4.01", "loss_on_1 == 0", "loss_on_4 == 0"),
        ),
        remedy=_TRAIN_STEP.format(
            loss="            mean = tf.reduce_mean((self(x, training=True) - y) ** 2)\n"
            "            loss = mean / tf.distribute.get_strategy().num_replicas_in_sync\n"
            "        self._loss_tracker.update_state(mean)",
            logs='{"loss": self._loss_tracker.result()}',
        ),
        mended=Gives(
            "The weights move as far on 4 replicas as on 1, and the loss shown is the same.",
            ("abs(update_ratio - 1) < 1e-4", "loss_on_1 > 0", "abs(loss_on_4 / loss_on_1 - 1) < 1e-4"),
        ),
        why="Gradients are summed over replicas, so each replica's mean must be divided by their number. "
        "`self.compute_loss` does that for a compiled loss. What `fit` shows comes from metric objects: a "
        "number you only return is replaced by the loss tracker, which nobody has updated.",
        versions=CONFIRMED,
        references=("https://github.com/keras-team/keras/issues/15509",),
        chapters=("02",),
        setup=FOUR_DEVICES,
    ),
    Trap(
        name="mean-or-share-sum-or-mean",
        title="Four ways to write the loss in your own loop, one of them right",
        symptom="Your loop reports a loss that is 4 times too large, or 4 times too small. Is the training wrong "
        "too, or only the report?",
        repro=_FOUR_WAYS,
        outcome=Gives(
            "[loss reported, weight update] as multiples of the right ones: local mean + SUM [4, 4], "
            "local mean + MEAN [1, 4], share of the global batch + SUM [1, 1], share + MEAN [0.25, 1].",
            (
                "max(abs(local_mean_SUM[i] - 4) for i in (0, 1)) < 1e-3",
                "abs(local_mean_MEAN[0] - 1) < 1e-3 and abs(local_mean_MEAN[1] - 4) < 1e-3",
                "max(abs(global_share_SUM[i] - 1) for i in (0, 1)) < 1e-3",
                "abs(global_share_MEAN[0] - 0.25) < 1e-3 and abs(global_share_MEAN[1] - 1) < 1e-3",
            ),
        ),
        remedy=_RIGHT_WAY,
        mended=Gives(
            "Both the report and the update are right: [1, 1].",
            ("max(abs(global_share_SUM[i] - 1) for i in (0, 1)) < 1e-4",),
        ),
        why="The gradients are summed inside `apply_gradients`: that is the all-reduce, and it does not know how "
        "you reduce what you print. Divide the sum of the errors by the global batch, and add the "
        "replicas' losses up. A local mean with MEAN is the nasty one: the report is right, the training "
        "is not.",
        versions=CONFIRMED,
        references=(
            "https://github.com/tensorflow/tensorflow/issues/28956",
            "https://discuss.tensorflow.org/t/how-are-gradients-applied-in-distributed-custom-loops/5877",
        ),
        chapters=("01", "02"),
        setup=FOUR_DEVICES,
    ),
    Trap(
        name="scalar-custom-loss",
        title="A custom loss that returns one number makes loss and update N times too large",
        symptom="With your own loss function, 4 replicas report 4 times the loss of one device. With "
        '`"mse"` they agree.',
        repro=_SCALAR_LOSS.format(axis=""),
        outcome=Gives(
            "Loss and update are both 4 times too large on 4 replicas.",
            ("3.99 < loss_ratio < 4.01", "3.99 < update_ratio < 4.01"),
        ),
        remedy=_SCALAR_LOSS.format(axis=", axis=-1"),
        mended=Gives(
            "Loss and update are the same on 1 and 4 replicas.",
            ("abs(loss_ratio - 1) < 1e-4", "abs(update_ratio - 1) < 1e-4"),
        ),
        why="Keras averages a loss of one value per row and scales it for the replicas. A single number it takes "
        "as it is. Return one value per row. Answers from 2022 tell of a loss N times too small: that was "
        "an older Keras.",
        versions=CONFIRMED,
        references=(
            "https://github.com/tensorflow/tensorflow/issues/55321",
            "https://github.com/keras-team/keras/issues/16285",
        ),
        chapters=("02",),
        setup=FOUR_DEVICES,
    ),
    Trap(
        name="batchnorm-unsynchronised",
        title="BatchNormalization looks at one replica's rows only",
        symptom="Data, seed and batches are the same and even, the loss is built in, and still 4 replicas do not "
        "give the weights of one device.",
        repro=_BATCH_NORM.format(how=""),
        outcome=Gives("The weights are more than 0.01 apart.", ("weights_apart > 0.01",)),
        remedy=_BATCH_NORM.format(how="synchronized=True"),
        mended=Gives("The weights agree.", ("weights_apart < 1e-5",)),
        why="Each replica normalises with the mean and variance of its own share: 4 rows instead of 16. "
        "`synchronized=True` takes them over all replicas, at the price of one more all-reduce for each such "
        "layer.",
        versions=CONFIRMED,
        references=(
            "https://github.com/keras-team/keras/pull/18671",
            "https://github.com/tensorflow/tensorflow/issues/18222",
        ),
        chapters=("01", "02"),
        setup=FOUR_DEVICES,
    ),
    Trap(
        name="clipping-before-all-reduce",
        title="clipnorm clips each replica's gradient, not the sum of them",
        symptom="With `clipnorm`, `global_clipnorm` or `clipvalue`, training is calm on one device. On four the same "
        "bound lets steps through that are up to four times as long, and they are not those of one device.",
        repro=_CLIPPING.format(clipped="", optimizer="keras.optimizers.SGD(0.1, global_clipnorm=1.0)"),
        outcome=Gives(
            "A step may be 0.1 · 1 = 0.1 long. It is on one device; on 4 replicas it is more than 3 times that.",
            ("0.09 < update_on_1 < 0.1001", "update_on_4 > 3 * update_on_1"),
        ),
        remedy=_CLIPPING.format(clipped=_CLIPPED_SUM, optimizer="ClippedSGD(0.1)"),
        mended=Gives(
            "The step is the same on 1 and 4 replicas, and within the bound.",
            ("0.09 < update_on_1 < 0.1001", "abs(update_on_4 / update_on_1 - 1) < 1e-4"),
        ),
        why="Keras clips what a replica has, and sums afterwards. A replica's gradient is its part of the mean, a "
        "quarter with four replicas, so it reaches the bound later; and four that have reached it add up to four "
        "times the bound. Sum first, then clip, then hand each replica its share of the clipped sum. That is a "
        "second all-reduce: time it, before you clip every step of a large model.",
        versions=CONFIRMED,
        references=("https://github.com/tensorflow/tensorflow/issues/33929",),
        chapters=("02", "03"),
        setup=FOUR_DEVICES,
    ),
)
