"""Reading a dataset for a bounded time, in a thread of its own: nothing that it does can hang the notebook."""

import contextlib
import threading
import time

import tensorflow as tf
from tensorflow.python.ops import gen_dataset_ops

from labutils.train.pipelines.analysis.core_seconds import Meter, Spent

_GLANCE = 0.05  # s between two looks at whether the reading gets on
_LEAVING = 10.0  # s that the threads of an iterator may take to end
_LONGER = 0.6  # s; in a shorter time the elements that come together from a buffer would tip the scales
_ASKING = 0.05  # share of the time that may go to asking TensorFlow for its figures


class Blocked(Exception):
    """An element did not come before the deadline."""


class Failed(Exception):
    """The dataset raised `error` when it was asked for the element after the first `elements`."""

    def __init__(self, error, elements):
        super().__init__(str(error))
        self.error, self.elements = error, elements


def patiently(work, deadline):
    """What `work(beat)` returns, run in a daemon thread; it calls `beat()` whenever it got on.

    Raises Blocked after `deadline` seconds without a beat: the thread is left behind then, and ends at its next beat
    or with the process. Errors of `work` are raised here, and so is an interrupt from the keyboard.
    """
    state = {"beat": time.monotonic(), "stop": False}
    done = threading.Event()

    def beat():
        state["beat"] = time.monotonic()
        if state["stop"]:
            raise Blocked

    def run():
        try:
            state["result"] = work(beat)
        except BaseException as error:  # handed over, to be raised where somebody sees it
            state["error"] = error
        finally:
            done.set()

    threading.Thread(target=run, name="analyse", daemon=True).start()
    try:
        while not done.wait(_GLANCE):
            if time.monotonic() - state["beat"] > deadline:
                raise Blocked
    finally:
        state["stop"] = True
    if "error" in state:
        raise state["error"]
    return state["result"]


class Reader:
    """Reads `dataset` in stretches, `again` from its start where it ends early. Each pull takes `each` elements.

    accounts: it is one thread that does all, and TensorFlow's figures are what is wanted. Nothing goes on then while
        TensorFlow is asked for them, and that time does not count
    first: seconds until the first element came; nan before
    elements: how many came in the first pass; `ended` once that came to its end
    marks: (seconds, elements) read so far, without the first of each pass and the time until it came
    spent: what these seconds went to
    begun, model: TensorFlow's figures of the stages, after the first element of a pass (preparing functions counts
        there) and before its end, of the pass that shows most; None where it keeps none
    """

    def __init__(self, dataset, each=1, again=False, accounts=False):
        self.dataset, self.each = dataset.shard(each, 0) if each > 1 else dataset, each
        self.again, self.accounts = again, accounts
        self.first, self.elements, self.ended = float("nan"), 0, False
        self.marks, self.spent, self.model, self.begun = [(0.0, 0)], Spent(), None, None
        self._iterator = None
        self._start_figures = None
        self._in_pass = self._shown = 0  # elements since the first of this pass, and of that which `model` shows
        self._asked = self._asking = 0.0  # when TensorFlow was asked for its figures, and how long that took

    def read(self, seconds, deadline, least=2):
        """Read on for `seconds`, and until `least` elements in all have come. Raises Blocked and Failed."""
        patiently(lambda beat: self._read(seconds, least, beat), deadline)
        return self

    def close(self):
        """Let go of the iterator. Its threads have ended when this returns, but for those that hang for long."""
        held, self._iterator = [self._iterator], None
        with contextlib.suppress(Blocked):
            patiently(lambda beat: held.clear(), _LEAVING)

    @property
    def count(self):
        """The elements of the marks."""
        return self.marks[-1][1]

    @property
    def rate(self):
        """Elements/s, of a longer time without its first third, in which TensorFlow tunes; nan for fewer than two."""
        end, total = self.marks[-1]
        late = [mark for mark in self.marks if mark[0] >= end / 3]
        start, before = late[0] if end > _LONGER and len(late) > 3 else (0.0, 0)
        return (total - before) / (end - start) if end > start else float("nan")

    def _read(self, seconds, least, beat):
        until = time.perf_counter() + seconds
        while True:
            if self._iterator is None and not self._start():
                return
            beat()
            over = self._stretch(until, least, beat)
            if not over or not self.again or not self.count or time.perf_counter() >= until:
                return  # a dataset of one element shows nothing more the second time either
            self._iterator = None

    def _stretch(self, until, least, beat):
        """Read until the time is over, or the dataset: True then."""
        meter, (before, read) = Meter(), self.marks[-1]
        start, stopped = time.perf_counter(), 0.0
        try:
            while time.perf_counter() < until or (self.elements < least and not self.ended):
                if not self._pull():
                    self.ended = True
                    return True
                read, self._in_pass = read + self.each, self._in_pass + self.each
                self.elements += 0 if self.ended else self.each
                self.marks.append((before + time.perf_counter() - start - stopped, read))
                asking = self._ask()
                stopped += asking if self.accounts else 0.0
                beat()
            self._ask(at_once=True)
            return False
        finally:
            self.spent += meter.spent(self.marks[-1][0] - before)

    def _start(self):
        """Begin a pass; False where there is no first element."""
        began = time.perf_counter()
        try:
            with tf.device("CPU:0"):
                self._iterator = iter(self.dataset)
        except tf.errors.OpError as error:
            raise Failed(error, 0) from error
        if not self._pull():
            self.ended = True
            return False
        if not self.ended:
            self.first, self.elements = time.perf_counter() - began, 1
        self._in_pass = 0
        self._ask(at_once=True)
        return True

    def _pull(self):
        """Ask for the next element; False at the end. What it holds is not looked at."""
        iterator = self._iterator
        try:
            gen_dataset_ops.iterator_get_next(
                iterator._iterator_resource,
                output_types=iterator._flat_output_types,
                output_shapes=iterator._flat_output_shapes,
            )
        except tf.errors.OutOfRangeError:
            return False
        except tf.errors.OpError as error:
            raise Failed(error, self.elements) from error
        return True

    def _ask(self, at_once=False):
        """Ask for TensorFlow's figures, which are gone once the dataset has ended; the seconds that this took."""
        began = time.perf_counter()
        more = self._in_pass >= max(1, 2 * self._shown)  # a short pass is over before it is time
        if not (at_once or (more and self.accounts) or began - self._asked > self._asking / _ASKING):
            return 0.0
        with contextlib.suppress(tf.errors.OpError, ValueError):  # without autotuning it keeps none
            figures = tf.data.experimental.get_model_proto(self._iterator)
            self._start_figures = self._start_figures if self._in_pass else figures
            if self._in_pass >= self._shown and _depth(figures) >= _depth(self._start_figures):
                self._shown, self.begun, self.model = self._in_pass, self._start_figures, figures
        self._asked = time.perf_counter()
        self._asking = self._asked - began
        return self._asking


def _depth(figures):
    """How many stages there are one behind the other; a stage goes once its elements are read, before the last came."""
    number, depth = figures.output, 1
    while inputs := [each for each in figures.nodes[number].inputs if each in figures.nodes]:
        number, depth = inputs[0], depth + 1
    return depth
