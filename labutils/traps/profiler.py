"""Traps of the profiler: captures that say nothing, or the wrong thing."""

from labutils.traps.registry import Gives, Raises, Trap
from labutils.traps.setups import CONFIRMED, IMPORTS

_XPROF = "xprof 2.24.2"

_READ = f"""{IMPORTS}
import glob
import json

from xprof.convert.raw_to_tool_data import xspace_to_tool_data


def overview(logdir):
    files = glob.glob(logdir + "/**/*.xplane.pb", recursive=True)
    page, _ = xspace_to_tool_data(files, "overview_page", {{}})
    found = {{key: value for part in json.loads(page) for key, value in part.get("p", {{}}).items()}}
    step_time, waiting = float(found["steptime_ms_average"]), float(found["infeed_time_ms_avg"])
    report(step_time_ms=step_time, waiting_share=waiting / step_time if step_time else 0.0)
"""

_FIT = """
class Marks(keras.callbacks.Callback):
    def on_train_batch_begin(self, batch, logs=None):
        self.step = tf.profiler.experimental.Trace("train", step_num=batch, _r=1)
        self.step.__enter__()

    def on_train_batch_end(self, batch, logs=None):
        self.step.__exit__(None, None, None)


model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
x, y = np.ones((640, 4), "float32"), np.ones((640, 1), "float32")
board = keras.callbacks.TensorBoard("logs", profile_batch=(4, 12))
model.fit(x, y, batch_size=32, verbose=0, callbacks={callbacks})
overview("logs")
"""

_FETCH = """
import time


def slow(i):
    time.sleep(0.02)
    return np.int64(i)


@tf.function
def train_step(x):
    return tf.reduce_sum(tf.random.normal((200, 200)) @ tf.random.normal((200, 200))) + tf.cast(x, tf.float32)


numbers = tf.data.Dataset.range(40).map(lambda i: tf.numpy_function(slow, [i], tf.int64))
batches = iter(numbers)
train_step(next(batches))
tf.profiler.experimental.start("logs")
for step in range(10):
{loop}
tf.profiler.experimental.stop()
overview("logs")
"""

_OUTSIDE = """
    x = next(batches)
    with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
        train_step(x).numpy()
""".strip("\n")

_INSIDE = """
    with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
        x = next(batches)
        train_step(x).numpy()
""".strip("\n")

_SECOND = """
def profile(logdir):
    tf.profiler.experimental.start(logdir)
    tf.reduce_sum(tf.ones((9, 9)) @ tf.ones((9, 9))).numpy()


profile("first")
{between}
profile("second")
report(captured=2)
"""

TRAPS = (
    Trap(
        name="fit-without-step-markers",
        title="The TensorBoard callback marks no steps",
        symptom="You profile `fit` with `TensorBoard(profile_batch=...)`. The overview page shows a step time of 0.0 "
        "ms and cannot tell the bottleneck.",
        repro=_FIT.format(callbacks="[board]"),
        outcome=Gives("The page knows no step.", ("step_time_ms == 0",)),
        remedy=_FIT.format(callbacks="[board, Marks()]"),
        mended=Gives("With a marker around each batch the page has a step time.", ("step_time_ms > 0",)),
        why="The profiler's tools look for events that carry a step's number. Keras 3 sets none. A callback can, from "
        "the begin of a batch to its end; Keras fetches the data within. `profile.StepMarkers(logdir)` of this course "
        "does so and runs the profiler, too.",
        versions=f"{CONFIRMED}, {_XPROF}",
        references=("https://github.com/openxla/xprof/issues/578", "https://github.com/openxla/xprof/issues/571"),
        chapters=("05",),
        setup=_READ,
    ),
    Trap(
        name="fetch-outside-the-marker",
        title="The step marker leaves out the fetching of data",
        symptom="Training is slow, yet the overview page says that next to no time is spent waiting for input.",
        repro=_FETCH.format(loop=_OUTSIDE),
        outcome=Gives("Under a third of the step is said to be waiting.", ("waiting_share < 0.33",)),
        remedy=_FETCH.format(loop=_INSIDE),
        mended=Gives("With the fetching inside, most of the step is.", ("waiting_share > 0.5",)),
        why="TensorBoard's pages look at what lies inside the markers. Let a marker hold the whole iteration, `next()` "
        "included. `labutils diagnose` counts what lies between two steps as part of the step, and says so.",
        versions=f"{CONFIRMED}, {_XPROF}",
        references=("https://github.com/openxla/xprof/issues/282", "https://github.com/openxla/xprof/issues/366"),
        chapters=("05",),
        setup=_READ,
    ),
    Trap(
        name="second-profiler",
        title="Another profiler is running",
        symptom="The cell that profiles was interrupted. Now every attempt to profile fails, until you restart the "
        "kernel.",
        repro=_SECOND.format(between="pass"),
        outcome=Raises("AlreadyExistsError", "Another profiler"),
        remedy=_SECOND.format(between="tf.profiler.experimental.stop()"),
        mended=Gives("Once the first one is stopped, the second one starts.", ("captured == 2",)),
        why="A profiler that was started stays on until it is stopped, also where an exception left the cell. Call "
        "`tf.profiler.experimental.stop()` once, or use `profile.capture`, which stops whatever happens.",
        versions=CONFIRMED,
        references=("https://github.com/tensorflow/tensorflow/issues/37543",),
        chapters=("05",),
        setup=IMPORTS,
    ),
)
