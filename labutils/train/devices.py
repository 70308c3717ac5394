"""The replicas' devices: GPUs when there are enough, logical CPU devices otherwise."""

import functools
import os
import platform
from dataclasses import dataclass

import psutil
import tensorflow as tf

from labutils.train._quiet import silenced_stderr

MAX_REPLICAS = 16
"""More logical devices than this only slow a laptop down: they share its cores."""


@dataclass(frozen=True)
class Machine:
    """What the replicas of this kernel run on, and what that can show.

    `devices` are TensorFlow's names, one a replica; `kind` is "GPU" or "logical CPU"; `memory` is in bytes.
    """

    kind: str
    devices: tuple[str, ...]
    cores: int
    memory: int
    processor: str
    versions: tuple[tuple[str, str], ...]

    @property
    def replicas(self):
        """How many replicas there are devices for."""
        return len(self.devices)

    @property
    def shows(self):
        """What can be believed when it is seen here, as sentences."""
        always = [
            f"Real replicas: `MirroredStrategy` runs up to {self.replicas} of them in this kernel.",
            "What happens in each phase of a step, and that N replicas give the weights of one device.",
            "Every trap of the course, with its wrong number or its error.",
        ]
        if self.kind == "GPU":
            always.append(f"Real speed-ups: each of the {self.replicas} replicas has a GPU of its own.")
        elif self.cores > 1:
            always.append(
                f"Real speed-ups in the chapters that pin one worker process to each of the {self.cores} cores."
            )
        return always

    @property
    def cannot_show(self):
        """What must not be concluded from this machine, as sentences."""
        if self.kind == "GPU":
            return []
        cannot = [
            f"A speed-up from more replicas: all {self.replicas} logical devices share the {self.cores} "
            f"core{'s' if self.cores != 1 else ''} that one device could use alone.",
            "The speed of a GPU, or of the links between GPUs.",
        ]
        if self.cores == 1:
            cannot.append("Any speed-up from a second worker: there is one core only.")
        return cannot

    def __str__(self):
        facts = "\n".join(f"{name:<12}{value}" for name, value in self._facts())
        shows = "\n".join(f"  + {line}" for line in self.shows)
        cannot = "\n".join(f"  - {line}" for line in self.cannot_show)
        text = f"{facts}\nIt can show\n{shows}"
        return f"{text}\nIt cannot show\n{cannot}" if cannot else text

    def _repr_html_(self):
        facts = "".join(
            f"<tr><th style='text-align:left'>{name}</th><td style='text-align:left'>{value}</td></tr>"
            for name, value in self._facts()
        )
        lists = _html_list("It can show", self.shows) + _html_list("It cannot show", self.cannot_show)
        return f"<table>{facts}</table>{lists}"

    def _facts(self):
        return [
            ("Replicas", f"{self.replicas} ({self.kind}: {_shorten(self.devices)})"),
            ("Processor", f"{self.processor}, {self.cores} usable cores"),
            ("Memory", f"{self.memory / 2**30:.1f} GiB"),
            ("Software", ", ".join(f"{name} {version}" for name, version in self.versions)),
        ]


_CPU_COUNTS = "TF_CPU_ALLOCATOR_USE_BFC"  # an allocator for the CPU that writes down what it does, as a GPU's


def configure(replicas=4, count_memory=False):
    """Give this kernel devices for `replicas` replicas and say what they are; the first cell of every chapter.

    GPUs when there are at least `replicas`, logical CPU devices otherwise. Calling it again is safe: it
    returns what is there. `count_memory`: the CPU's allocations can be seen in a profile, as a GPU's always can
    (`profile.kept_for_backward`). Raises ValueError for a count outside 1 to 16, and RuntimeError when TensorFlow
    has already started with fewer devices: only a restarted kernel can have more.
    """
    _check_count(replicas, MAX_REPLICAS)
    if count_memory and os.environ.get(_CPU_COUNTS) != "true":
        os.environ[_CPU_COUNTS] = "true"  # read when the first tensor is made
        _before_start(tf.config.set_soft_device_placement, True)
    with silenced_stderr():
        gpus = tf.config.list_physical_devices("GPU")
    if len(gpus) >= replicas:
        for gpu in gpus:
            _before_start(tf.config.experimental.set_memory_growth, gpu, True)
        return _machine("GPU", replicas)
    cpu = tf.config.list_physical_devices("CPU")[0]
    logical = tf.config.LogicalDeviceConfiguration()
    if len(tf.config.get_logical_device_configuration(cpu) or []) < replicas:
        _before_start(tf.config.set_logical_device_configuration, cpu, [logical] * replicas)
    return _machine("logical CPU", replicas)


def mirrored(replicas):
    """A `MirroredStrategy` over the first `replicas` devices; the count may change within one kernel.

    Logical CPU devices use ReductionToOneDevice: the default collectives remember their group, and a
    second strategy with another count would abort. GPUs use HierarchicalCopyAllReduce for the same
    reason (tf.distribute.MirroredStrategy, argument `cross_device_ops`).
    Raises ValueError for a bad count, RuntimeError when the kernel has fewer devices.
    """
    _check_count(replicas, MAX_REPLICAS)
    kind, names = _available()
    if replicas > len(names):
        raise RuntimeError(
            f"{replicas} replicas need {replicas} devices, and this kernel has {len(names)}: "
            f"{_shorten(names)}. Restart the kernel and run devices.configure(replicas={replicas}) first."
        )
    one_device = kind == "logical CPU"
    reduce = tf.distribute.ReductionToOneDevice() if one_device else tf.distribute.HierarchicalCopyAllReduce()
    return tf.distribute.MirroredStrategy(names[:replicas], cross_device_ops=reduce)


def synchronise():
    """Wait until every device has finished what it was given, so that a clock may be read."""
    tf.test.experimental.sync_devices()


def _available():
    """The kind of the devices that replicas use and all their names, without their job prefix."""
    with silenced_stderr():
        gpus = tf.config.list_logical_devices("GPU")
        cpus = tf.config.list_logical_devices("CPU")
    if len(gpus) >= len(cpus):
        return "GPU", [_short_name(device) for device in gpus]
    return "logical CPU", [_short_name(device) for device in cpus]


def _before_start(change, *arguments):
    """Make a change that TensorFlow allows only before it starts; say so when it is too late."""
    try:
        change(*arguments)
    except RuntimeError as error:
        have = len(tf.config.list_logical_devices("CPU"))
        raise RuntimeError(
            f"TensorFlow has already started in this kernel, with {have} CPU device{'s' if have != 1 else ''}, "
            "and cannot get more now. Restart the kernel and run the set-up cell first."
        ) from error


def _machine(kind, replicas):
    found, names = _available()
    if found != kind or len(names) < replicas:
        raise RuntimeError(
            f"This kernel should have {replicas} {kind} devices and has {len(names)}: {_shorten(names)}. "
            "Restart the kernel and run the set-up cell first."
        )
    import keras

    versions = (("Python", platform.python_version()), ("TensorFlow", tf.__version__))
    return Machine(
        kind=kind,
        devices=tuple(names if kind == "logical CPU" else names[:replicas]),
        cores=usable_cores(),
        memory=psutil.virtual_memory().total,
        processor=_processor(),
        versions=(*versions, ("Keras", keras.__version__)),
    )


def usable_cores():
    """How many cores this process may use; a container or a pinned worker has fewer than the machine."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@functools.cache
def _processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()


def _check_count(replicas, most):
    if isinstance(replicas, bool) or not isinstance(replicas, int) or not 1 <= replicas <= most:
        raise ValueError(f"replicas must be a whole number from 1 to {most}, not {replicas!r}. Try 2, 4 or 8.")


def _short_name(device):
    return ":".join(device.name.rsplit(":", 2)[-2:])


def _shorten(names):
    return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"


def _html_list(title, lines):
    if not lines:
        return ""
    items = "".join(f"<li>{_code(line)}</li>" for line in lines)
    return f"<b>{title}</b><ul>{items}</ul>"


def _code(line):
    parts = line.split("`")
    return "".join(f"<code>{part}</code>" if i % 2 else part for i, part in enumerate(parts))
