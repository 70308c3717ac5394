"""Capturing traces, reading them, naming the bottleneck.

`capture(fn, logdir)` profiles a step function, `StepMarkers(logdir)` does it for Keras' `fit`, `diagnose(logdir)` reads
a log directory of anybody's. Only the first two load TensorFlow.
"""

from labutils.profile.capturing import Capture, capture
from labutils.profile.clues import clues
from labutils.profile.diagnosis import Diagnosis, diagnose
from labutils.profile.lanes import lanes
from labutils.profile.runs import BadCapture
from labutils.scratch import scratch_folder

__all__ = [
    "BadCapture",
    "Capture",
    "Diagnosis",
    "StepMarkers",
    "capture",
    "clues",
    "diagnose",
    "lanes",
    "scratch_folder",
]


def __getattr__(name):
    if name == "StepMarkers":  # a class of Keras', which takes seconds to load
        from labutils.profile.markers import StepMarkers

        return StepMarkers
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
