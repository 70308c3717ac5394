"""What a symptom and a remedy are, and the remedies that several symptoms share."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Remedy:
    """One thing to try: what to `do`, how (`code`), and the `chapter` that teaches it, if there is one."""

    do: str
    code: str
    chapter: str = ""


@dataclass(frozen=True)
class Symptom:
    """One row: its `name` and `title`, the `verdict` it speaks for, what you `see`, how it is `known`, what to try."""

    name: str
    title: str
    verdict: str
    see: str
    known: str
    remedies: tuple[Remedy, ...]


INPUT, HOST, COMMUNICATION, COMPUTE = "input-bound", "host-bound", "communication-bound", "compute-bound"
UNKNOWN = "cannot tell"

PARALLEL = Remedy(
    "Spread the map over all cores, and make the next batch while this one trains.",
    "dataset.map(load, num_parallel_calls=tf.data.AUTOTUNE).batch(n).prefetch(tf.data.AUTOTUNE)",
    "04",
)
CACHE = Remedy(
    "Keep what is the same in every epoch, before anything random.", "dataset.map(load).cache().map(augment)", "04"
)
ANALYSE = Remedy("See which stage costs most.", "labutils.train.pipelines.analyse(dataset)", "04")
MARK = Remedy(
    "Mark every step, the fetching of its batch included.",
    "with tf.profiler.experimental.Trace('train', step_num=i, _r=1): step(*next(batches))",
    "05",
)
LARGER = Remedy(
    "Give each replica a larger batch, and scale the learning rate with it.", "dataset.batch(8 * batch)", "03"
)
PRECISION = Remedy(
    "Compute in 16 bits, where the hardware is faster at it; measure, for not all is.",
    "keras.mixed_precision.set_global_policy('mixed_bfloat16')",
    "06",
)
XLA = Remedy(
    "Let XLA fuse small operators into few; not under a distribution strategy.",
    "@tf.function(jit_compile=True)",
    "07",
)
