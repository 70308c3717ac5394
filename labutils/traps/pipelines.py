"""Traps in the input pipeline: where its stages stand, and what they cannot do."""

from labutils.traps.registry import Gives, Trap
from labutils.traps.setups import CONFIRMED, IMPORTS

_CLOCK = f"""{IMPORTS}
import time


def seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
"""

_PYTHON_IN_MAP = """
def squares_below(n):
    total = 0
    for k in range(n):
        total += k * k
    return np.int64(total)


def in_python(n):
    return tf.numpy_function(squares_below, [n], tf.int64)


def in_tensorflow(n):
    return tf.reduce_sum(tf.range(n) ** 2)


def drain(function, calls):
    numbers = tf.data.Dataset.from_tensors(np.int64(300_000)).repeat(12)
    for result in numbers.map(function, num_parallel_calls=calls):
        assert result == 8999955000050000


def best(function, calls):
    return min(seconds(lambda: drain(function, calls)) for _ in range(3))


one_call = best(in_python, 1)
four_calls = best({function}, 4)
report(speedup=one_call / four_calls)
"""

_CACHE_AFTER = """
numbers = tf.data.Dataset.range(100)


def augment(x):
    return tf.cast(x, tf.float32) + tf.random.uniform(())


data = numbers.{chain}
epochs = [[float(x) for x in data] for _ in range(2)]
report(same=sum(a == b for a, b in zip(*epochs)))
"""

_CACHE_NEVER_FILLED = """
calls = []


def load(i):
    calls.append(int(i))
    return np.int64(i)


files = tf.data.Dataset.range(20)
loaded = files.map(lambda i: tf.numpy_function(load, [i], tf.int64))
data = loaded.{chain}
for epoch in range(3):
    for x in data:
        pass
report(files_used=10, loaded=len(calls))
"""

_SHUFFLE_AFTER = """
def decode(i):
    time.sleep(0.002)
    return np.zeros((64, 64), np.float32)


def load(i):
    return tf.ensure_shape(tf.numpy_function(decode, [i], tf.float32), (64, 64))


batches = iter(tf.data.Dataset.range(2000).{chain}.batch(16))
first = seconds(lambda: next(batches))
later = min(seconds(lambda: next(batches)) for _ in range(10))
report(first_over_later=first / later)
"""

_PREFETCH_INJECTED = """
def produce(i):
    time.sleep(0.02)
    return np.int64(i)


def pipeline(injected):
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = injected
    batches = tf.data.Dataset.range(40).map(lambda i: tf.numpy_function(produce, [i], tf.int64))
    return batches.with_options(options)


def train(batches):
    for _ in batches:
        time.sleep(0.02)  # a training step on another device


train(pipeline(True))
before = seconds(lambda: train(pipeline(injected={injected})))
after = seconds(lambda: train(pipeline(injected={injected}).prefetch(2)))
report(speedup=before / after)
"""

_SHUFFLE_BUFFER = """
labels = np.repeat([0, 1], 5000)  # sorted, as files in one folder a class are
data = tf.data.Dataset.from_tensor_slices(labels).shuffle({buffer}, seed=0)
first = [int(label) for label in data.take(1000)]
report(share_of_class_1=sum(first) / len(first))
"""

_AUGMENTATION_REPEATS = """
{seed}


def augment(x):
    return tf.cast(x, tf.float32) + {draw}


data = tf.data.Dataset.range(100).map(augment)
epochs = [[float(x) for x in data] for _ in range(2)]
report(same=sum(a == b for a, b in zip(*epochs)))
"""

TRAPS = (
    Trap(
        name="python-in-map",
        title="Python code in map does not run in parallel",
        symptom="The map calls Python through `numpy_function` or `py_function`. You raise `num_parallel_calls`, and "
        "the pipeline is as slow as before.",
        repro=_PYTHON_IN_MAP.format(function="in_python"),
        outcome=Gives("Four parallel calls are no faster than one.", ("speedup < 1.5",)),
        remedy=_PYTHON_IN_MAP.format(function="in_tensorflow"),
        mended=Gives("Written in TensorFlow operations, the same work is several times faster.", ("speedup > 3",)),
        why="Only one thread at a time may run Python code: it holds the interpreter's lock (GIL). Calls overlap only "
        "where the lock is let go: while waiting for a file, or inside a large NumPy operation. A test with "
        "`time.sleep` shows a speed-up that real work never has. Write the function in TensorFlow operations; where "
        "that cannot be, do the work once beforehand, or in other processes (the tf.data service).",
        versions=CONFIRMED,
        references=(
            "https://www.tensorflow.org/api_docs/python/tf/numpy_function",
            "https://github.com/tensorflow/tensorflow/issues/14448",
        ),
        chapters=("04",),
        setup=_CLOCK,
    ),
    Trap(
        name="cache-after-augmentation",
        title="cache() behind a random augmentation keeps the first epoch's",
        symptom="You augment at random, and every epoch shows the same pictures. The model overfits as if there were "
        "no augmentation; nothing warns you.",
        repro=_CACHE_AFTER.format(chain="map(augment).cache()"),
        outcome=Gives("All 100 elements of the second epoch are those of the first.", ("same == 100",)),
        remedy=_CACHE_AFTER.format(chain="cache().map(augment)"),
        mended=Gives("The second epoch is augmented anew.", ("same == 0",)),
        why="The cache keeps what reaches it. Let everything that is the same in every epoch come first, then the "
        "cache, then `shuffle` and whatever is random, then `batch` and `prefetch`.",
        versions=CONFIRMED,
        references=(
            "https://www.tensorflow.org/guide/data_performance",
            "https://github.com/tensorflow/tensorflow/issues/47755",
        ),
        chapters=("04",),
        setup=IMPORTS,
    ),
    Trap(
        name="augmentation-repeats",
        title="A fixed seed makes every epoch's augmentation the same",
        symptom="For runs that can be repeated you call `tf.random.set_seed`, and from then on every epoch augments "
        "each picture as the first one did. There is no cache, and nothing warns you.",
        repro=_AUGMENTATION_REPEATS.format(seed="tf.random.set_seed(1)", draw="tf.random.uniform(())"),
        outcome=Gives("All 100 elements of the second epoch are those of the first.", ("same == 100",)),
        remedy=_AUGMENTATION_REPEATS.format(
            seed="generator = tf.random.Generator.from_seed(1)", draw="generator.uniform(())"
        ),
        mended=Gives("A generator made outside goes on where it was: each epoch is new.", ("same == 0",)),
        why="With a seed, a random operation inside `map` starts from it again with every pass over the dataset. A "
        "`tf.random.Generator` keeps its state outside of the dataset, so the second epoch goes on where the first "
        "ended, and the whole run can still be repeated. `repeat()` with `steps_per_epoch` helps, too: it is one pass.",
        versions=CONFIRMED,
        references=("https://www.tensorflow.org/guide/random_numbers",),
        chapters=("04",),
        setup=IMPORTS,
    ),
    Trap(
        name="cache-never-filled",
        title="A cache that is never read to its end is thrown away",
        symptom="The second epoch is as slow as the first although there is a `cache()`. Sometimes a warning says that "
        "the dataset was not fully read.",
        repro=_CACHE_NEVER_FILLED.format(chain="cache().take(10)"),
        outcome=Gives("Three epochs of 10 files load 30 files.", ("loaded >= 30",)),
        remedy=_CACHE_NEVER_FILLED.format(chain="take(10).cache()"),
        mended=Gives("Three epochs load each of the 10 files once.", ("loaded == 10",)),
        why="A cache counts only once its input has come to an end. `take` behind it, `steps_per_epoch` below the "
        "length of the data, or a `break` stop before the end, and the next epoch starts anew. Put `take` before "
        "`cache`. To look at one batch is harmless: the next full epoch fills the cache.",
        versions=CONFIRMED,
        references=(
            "https://www.tensorflow.org/api_docs/python/tf/data/Dataset#cache",
            "https://github.com/tensorflow/tensorflow/issues/42773",
        ),
        chapters=("04",),
        setup=IMPORTS,
    ),
    Trap(
        name="shuffle-after-decode",
        title="shuffle() behind the decoding makes the first batch wait",
        symptom="Training starts late: the first batch takes as long as many others, at every start of an epoch, and "
        "the buffer holds decoded images.",
        repro=_SHUFFLE_AFTER.format(chain="map(load, num_parallel_calls=8).shuffle(500)"),
        outcome=Gives("The first batch takes more than 5 times as long as a later one.", ("first_over_later > 5",)),
        remedy=_SHUFFLE_AFTER.format(chain="shuffle(500).map(load, num_parallel_calls=8)"),
        mended=Gives("The first batch comes soon.", ("first_over_later < 5",)),
        why="`shuffle` fills its buffer before it hands out anything. Let it hold what is small and cheap: indexes, "
        "file names, undecoded bytes. Report the first batch and the rate of the later ones as two numbers.",
        versions=CONFIRMED,
        references=("https://github.com/tensorflow/tensorflow/issues/47687",),
        chapters=("04",),
        setup=_CLOCK,
    ),
    Trap(
        name="prefetch-injected",
        title="prefetch() brings nothing: TensorFlow has put one there already",
        symptom="You add `prefetch` at the end, as every guide says, and the step time stays what it was.",
        repro=_PREFETCH_INJECTED.format(injected=True),
        outcome=Gives("A prefetch changes nothing.", ("0.75 < speedup < 1.33",)),
        remedy=_PREFETCH_INJECTED.format(injected=False),
        mended=Gives("With the injection off for the comparison, the prefetch shows.", ("speedup > 1.4",)),
        why="tf.data adds a prefetch at the end of a pipeline that has none. To measure what it is worth, switch "
        "`experimental_optimization.inject_prefetch` off on both sides. And it can never give more than the overlap: "
        "the step takes the longer of input and compute instead of their sum. That is much where the two are alike.",
        versions=CONFIRMED,
        references=(
            "https://www.tensorflow.org/api_docs/python/tf/data/experimental/OptimizationOptions",
            "https://github.com/tensorflow/tensorflow/issues/60384",
        ),
        chapters=("04",),
        setup=_CLOCK,
    ),
    Trap(
        name="shuffle-buffer-too-small",
        title="A shuffle buffer smaller than a class leaves sorted data sorted",
        symptom="The files lie sorted by class. You shuffle, and the loss still swings from class to class: whole "
        "batches have one label.",
        repro=_SHUFFLE_BUFFER.format(buffer=100),
        outcome=Gives("The first 1000 labels are all of class 0.", ("share_of_class_1 == 0",)),
        remedy=_SHUFFLE_BUFFER.format(buffer="len(labels)"),
        mended=Gives("The first 1000 labels are of both classes.", ("0.4 < share_of_class_1 < 0.6",)),
        why="The buffer is a window that slides over the data: an element comes out at most a buffer's length early. "
        "Shuffle the list of files or indexes as a whole, which costs next to nothing, or write the data in mixed "
        "order once; then a modest buffer does.",
        versions=CONFIRMED,
        references=("https://www.tensorflow.org/api_docs/python/tf/data/Dataset#shuffle",),
        chapters=("04",),
        setup=IMPORTS,
    ),
)
