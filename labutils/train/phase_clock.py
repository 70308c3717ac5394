"""Times a phase twice: on the host's clock, and on every replica, without making the replicas wait for one another."""

import time
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from labutils.train import devices


class Lane(NamedTuple):
    """When one replica was in one phase, in seconds since the step began."""

    replica: int
    phase: str
    start: float
    end: float


class PhaseClock:
    """Runs compiled pieces one after the other, and keeps their times on one time axis."""

    def __init__(self, strategy):
        self.strategy, self.seconds, self.lanes = strategy, {}, []
        devices.synchronise()
        self._began = time.time()  # the replicas' stamps count from the same epoch

    def run(self, phase, piece, *arguments):
        before = time.perf_counter()
        result, stamps = piece(*arguments)
        devices.synchronise()
        self.seconds[phase] = time.perf_counter() - before
        for replica, pair in enumerate(self.strategy.experimental_local_results(stamps)):
            start, end = (float(stamp) - self._began for stamp in pair)
            self.lanes.append(Lane(replica, phase, start, end))
        return result


def stamped(work):
    """`work`, with the time at which its inputs were there and the time at which its results were."""

    def with_stamps(*arguments):
        start = _time_when_ready(arguments)
        with tf.control_dependencies([start]):
            arguments = tf.nest.map_structure(tf.identity, arguments, expand_composites=True)
            result = work(*arguments)
        return result, tf.stack([start, _time_when_ready(result)])

    return with_stamps


def _time_when_ready(structure):
    """The host's time, in seconds since the epoch, once every tensor of `structure` has been computed.

    Not `tf.timestamp()`: that op counts as a side effect, TensorFlow runs side effects in program order, and
    the replicas would be timed, and run, one after the other. A stateless function waits for its inputs only.
    """
    probes = [tf.cast(tf.reshape(tensor, [-1])[:1], tf.float32) for tensor in _tensors(structure)]
    now = tf.numpy_function(lambda _: np.float64(time.time()), [tf.concat(probes, 0)], tf.float64, stateful=False)
    return tf.ensure_shape(now, [])


def _tensors(structure):
    return tf.nest.flatten(structure, expand_composites=True)
