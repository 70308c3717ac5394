"""Operators of a capture and its devices: what computed, communicated or copied, when, and for which replica."""

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np

from labutils.profile import intervals

_OPERATOR = re.compile(r"^(?P<name>[^:]*):(?P<type>[A-Za-z_][A-Za-z0-9_]*)$")
PYTHON = ("PyFunc", "EagerPyFunc", "PyFuncStateless")  # operators that call back into Python: not the device's work
_REPLICA = re.compile(r"(?:^|/)replica_(\d+)/")
_UPDATES = re.compile(r"(?:^|/)update_(\d+)(?:_\d+)?/")  # an optimizer under a strategy: the update of replica N
#: A program that XLA made, as it runs on the CPU: TensorFlow's, and JAX's.
_XLA = re.compile(r"^(CpuExecutable::ExecuteAsyncOnStream|ThunkExecutor::Execute|(Tfrt|PjRt)Cpu\w*::Execute\w*)$")
_WRITES = re.compile(r"^(Assign(Add|Sub)?Variable|ResourceApply|ResourceScatter)")
#: Operators that call others, hand values on or fetch the batch: their time is not the device's.
_WRAPPERS = re.compile(
    r"^(Iterator|Optional|MultiDeviceIterator|RemoteCall|(Stateful)?PartitionedCall|Stateless|While$|If$|Case$|NoOp|_Arg|"
    r"_Retval|_Device|Identity|Const|Placeholder|XlaLaunch|Prefetch|.*Dataset)"
)
#: Collectives by operator, by GPU kernel and by XLA instruction.
_COLLECTIVE = re.compile(
    r"collective|nccl|rccl|all-?_?reduce|all-?_?gather|reduce-?_?scatter|all-?_?to-?_?all|send-done|recv-done|"
    r"RecvTensor",
    re.IGNORECASE,
)
_COPY = re.compile(
    r"^Memcpy(?P<way>H2D|HtoD|D2H|DtoH|D2D|DtoD|P2P)|^(hipM|cudaM|m)emcpy(?P<way2>HtoD|DtoH)", re.IGNORECASE
)
_DERIVED = {
    "Steps",
    "Step",
    "TensorFlow Name Scope",
    "Framework Name Scope",
    "Source code",
    "XLA Modules",
    "XLA TraceMe",
}


@dataclass
class Operators:
    """What a device did: when (ps), of which type, for which replica, and whether it was the update of variables."""

    starts: np.ndarray
    ends: np.ndarray
    types: np.ndarray
    replicas: np.ndarray
    updates: np.ndarray

    def __len__(self):
        return len(self.starts)

    def busy(self, mask=slice(None)):
        return intervals.union(self.starts[mask], self.ends[mask])


@dataclass
class Device:
    """A device of the job: the moments it computed, communicated and copied; `collectives`, most time first."""

    name: str
    operators: Operators
    compute: np.ndarray
    communication: np.ndarray
    copies: np.ndarray
    collectives: tuple = ()

    @property
    def ran(self):
        return len(self.operators) > 0


def operator_of(label):
    """(name, type) of an event called NAME:TYPE, as TensorFlow's operators are; None for any other."""
    found = _OPERATOR.match(label)
    return (found["name"], found["type"]) if found else None


def is_wrapper(kind):
    """Whether operators of this type call others, hand values on or fetch the batch."""
    return _WRAPPERS.match(kind) is not None


def host_device(lines, kernels):
    """The CPU as the device of the job: operators inside of functions, and the `kernels` of those run one by one."""
    replicated = any(_REPLICA.search(label) for line in lines for label in line.labels)
    parts = [_operators(line, replicated) for line in lines]
    none = np.zeros(len(kernels), np.int64)
    alone = Operators(kernels[:, 0], kernels[:, 1], np.full(len(kernels), "eager", object), none, none > 0)
    return _made("CPU", [*parts, alone], summed=True)


def device_of(plane):
    """A GPU or TPU: its streams, or the line of XLA's operators; lines that repeat them in another way are left out."""
    lines = [line for line in plane.lines if len(line) and line.name not in _DERIVED]
    xla = [line for line in lines if line.name.endswith("XLA Ops") and not line.name.startswith("Async")]
    streams = [line for line in lines if line.name.startswith("Stream")]
    return _made(plane.name.removeprefix("/device:"), [_kernels(line) for line in xla or streams or lines])


def _made(name, parts, summed=False):
    every = Operators(
        *(
            np.concatenate([getattr(part, what) for part in parts] or [np.zeros(0, np.int64)])
            for what in ("starts", "ends", "types", "replicas", "updates")
        )
    )
    replicated = summed and len(every) and every.replicas.max() > 0
    kinds = {kind: _kind(kind, replicated) for kind in set(every.types.tolist())}
    of = np.array([kinds[kind] for kind in every.types.tolist()], object)
    found = {
        kind: every.busy(of == kind) if len(every) else intervals.NONE for kind in ("compute", "communication", "copy")
    }
    return Device(name, every, found["compute"], found["communication"], found["copy"], _collectives(every, of))


def _collectives(every, of):
    """The types of communication, those first that took most time in all."""
    times, ours = Counter(), of == "communication"
    for kind, length in zip(every.types[ours], (every.ends - every.starts)[ours], strict=True):
        times[kind] += int(length)
    return tuple(kind for kind, _ in times.most_common())


def _operators(line, replicated):
    """The operators on a host's thread; `replicated`: those of several replicas."""
    facts = []  # (type, replica, whether it updates), by the number of a name
    for label in line.labels:
        found = _OPERATOR.match(label)
        if not found and _XLA.match(label):
            facts.append(("XLA program", 0, False))
            continue
        if not found or _WRAPPERS.match(found["type"]) or found["type"] in PYTHON:
            facts.append(("", 0, False))
            continue
        updates = _UPDATES.search(found["name"]) if replicated else None
        replica = _REPLICA.search(found["name"]) or updates
        in_sum = found["type"] == "AddN" and "gradient_tape" not in found["name"]
        kind = "AddN of gradients" if in_sum else found["type"]
        writes = updates is not None or _WRITES.match(kind) is not None
        facts.append((kind, int(replica[1]) if replica else 0, writes))
    return _gathered(line, facts)


def _kernels(line):
    return _gathered(line, [(label, 0, False) for label in line.labels])


def _gathered(line, facts):
    kinds, replicas, updates = zip(*(facts or [("", 0, False)]), strict=True)
    which = line.names if len(facts) else slice(0, 0)
    kinds = np.array(kinds, object)[which]
    kept = kinds != ""
    replicas, updates = np.array(replicas)[which][kept], np.array(updates)[which][kept]
    return Operators(line.starts[kept], line.ends[kept], kinds[kept], replicas, updates)


def _kind(label, replicated):
    if _COPY.match(label):
        return "copy"
    if _COLLECTIVE.search(label) or (replicated and label == "AddN of gradients"):
        return "communication"
    return "compute"
