"""A capture as a job: which events are operators of a device, which wait for input, which bring or build programs."""

import re
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from labutils.profile import intervals
from labutils.profile.space import Line

_OPERATOR = re.compile(r"^(?P<name>[^:]*):(?P<type>[A-Za-z_][A-Za-z0-9_]*)$")
_REPLICA = re.compile(r"(?:^|/)replica_(\d+)/")
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
_NEXT = re.compile(r"^Iterator(GetNext|GetNextAsOptional|GetNextSync)Op::DoCompute$|^(infeed|Infeed)\b")
_TRACING = re.compile(r"^tf\.function-graph_building$")
_COMPILING = re.compile(
    r"^(XlaCompile|XlaCompilationCache|Xla\w*Compile\w*|CompileGraph|backend_compile|PjRt\w*Compile)\b"
)
_CALLS = re.compile(r"^(PjitFunction|jit_?)\(?")
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
    """What a device did: when (ps), of which type, for which replica."""

    starts: np.ndarray
    ends: np.ndarray
    types: np.ndarray
    replicas: np.ndarray

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


@dataclass
class Host:
    """One host's part of the job, all moments in ps.

    waiting: somebody who is not a thread of tf.data waits for the next batch
    steps: (n, 2) the marked steps, `calls` the calls of the function that takes most time, for want of markers
    tracing: TensorFlow builds a graph; traced: the calls in which it does; compiling: XLA makes a program
    dispatch: eager operators are prepared
    eager: how many operators ran one by one, at which moments
    input_python: moments in which tf.data ran Python code
    """

    name: str
    devices: list
    waiting: np.ndarray
    steps: np.ndarray
    calls: np.ndarray
    called: str
    tracing: np.ndarray
    traced: np.ndarray
    compiling: np.ndarray
    dispatch: np.ndarray
    eager: np.ndarray
    input_python: np.ndarray
    input_work: np.ndarray
    on_cpu: bool
    facts: dict = field(default_factory=dict)

    @property
    def active(self):
        return [device for device in self.devices if device.ran]


def host_of(space, name):
    """The Host in a Space."""
    lines = [line for plane in space.hosts for line in plane.lines if len(line)]
    ours = [line for line in lines if not _is_input(line)]
    devices = [_device(plane) for plane in space.devices if not plane.name.startswith("/device:CUSTOM")]
    on_cpu = not any(device.ran for device in devices)
    eager = _eager(ours)
    if on_cpu:
        devices = [_host_device(ours, eager), *devices]
    calls, called = _calls(ours)
    functions = _moments(ours, lambda label: label == "EagerExecute")
    kernels = _moments(ours, lambda label: label == "EagerKernelExecute")
    python = [line for line in lines if line.name.startswith("tf_data_") and not line.name.startswith(_GET_NEXT)]
    return Host(
        name=name,
        devices=devices,
        waiting=_moments(ours, _NEXT.match),
        steps=_marked(ours, space),
        calls=calls,
        called=called,
        tracing=_moments(ours, _TRACING.match),
        traced=_traced(ours),
        compiling=_moments(ours, _COMPILING.match),
        dispatch=intervals.without(functions, kernels),
        eager=eager[0],
        input_python=_moments(python, lambda label: _python(label)),
        input_work=_moments(python, lambda label: _OPERATOR.match(label) is not None),
        on_cpu=on_cpu,
        facts={plane.name: plane.stats for plane in space.devices},
    )


_GET_NEXT = "tf_data_iterator_get_next"


def _is_input(line):
    """A thread of tf.data works for the input; only the one that a step waits in belongs to the step."""
    return line.name.startswith("tf_data_") and not line.name.startswith(_GET_NEXT)


def _python(label):
    found = _OPERATOR.match(label)
    return found is not None and found["type"] in ("PyFunc", "EagerPyFunc", "PyFuncStateless")


def _moments(lines, wanted):
    """When any event of such a name was on, on any of the lines."""
    found = [intervals.NONE]
    for line in lines:
        mask = line.where(wanted)
        if mask.any():
            found.append(intervals.union(line.starts[mask], line.ends[mask]))
    return intervals.merge(*found)


def _marked(lines, space):
    """The steps that the program marked: events with a number, on the thread that has most of them."""
    best = intervals.NONE
    for line in lines:
        places = [place for place, stats in line.stats.items() if "step_num" in stats]
        if len(places) > len(best):
            best = np.stack((line.starts[places], line.ends[places]), axis=1)
    if not len(best):
        for plane in space.devices:
            for line in plane.lines:
                if line.name in ("Steps", "Step") and len(line) > len(best):
                    best = np.stack((line.starts, line.ends), axis=1)
    return best[np.argsort(best[:, 0], kind="stable")]


def _calls(lines):
    """The calls of the compiled function, or JAX function, that took most time in all; and its name."""
    times, places = {}, {}
    for line in lines:
        marked = {place for place, stats in line.stats.items() if "tf_function_call" in stats}
        line_ends = line.ends
        jitted = np.flatnonzero(line.where(_CALLS.match))
        for place in sorted(marked | set(jitted.tolist())):
            label = line.label(place)
            times[label] = times.get(label, 0) + int(line.durations[place])
            places.setdefault(label, []).append((int(line.starts[place]), int(line_ends[place])))
    often = {label: time for label, time in times.items() if len(places[label]) >= 3} or times
    if not often:
        return intervals.NONE, ""
    best = max(often, key=often.get)
    return np.array(sorted(places[best]), np.int64), best


def _traced(lines):
    """When a call of a function began with building its graph."""
    found = [intervals.NONE]
    for line in lines:
        places = [
            place for place, stats in line.stats.items() if str(stats.get("tf_function_call")).startswith("traced")
        ]
        found.append(intervals.union(line.starts[places], line.ends[places]) if places else intervals.NONE)
    return intervals.merge(*found)


def _eager(lines):
    """Operators that Python ran one by one: their (n, 2) moments and their types. Functions and iterators are none."""
    starts, ends, types = [], [], []
    for line in lines:
        line_ends = line.ends
        for place, stats in line.stats.items():
            if "eager_op" not in stats or line.label(place) != "EagerExecute":
                continue
            if str(stats.get("is_func")) == "0" and not _WRAPPERS.match(str(stats["eager_op"])):
                starts.append(int(line.starts[place]))
                ends.append(int(line_ends[place]))
                types.append(str(stats["eager_op"]))
    moments = np.array([starts, ends], np.int64).T.reshape(-1, 2)
    order = np.argsort(moments[:, 0], kind="stable")
    return moments[order], np.array(types, object)[order]


def _host_device(lines, eager):
    """The CPU as the device of the job: operators inside of functions, and the kernels of those run one by one."""
    parts = [_operators(line) for line in lines]
    inside = intervals.union(eager[0][:, 0], eager[0][:, 1])
    kernels = intervals.both(_moments(lines, lambda label: label == "EagerKernelExecute"), inside)
    alone = Operators(
        kernels[:, 0], kernels[:, 1], np.full(len(kernels), "eager", object), np.zeros(len(kernels), np.int64)
    )
    return _made("CPU", [*parts, alone], summed=True)


def _device(plane):
    """A GPU or TPU: its streams, or the line of XLA's operators; lines that repeat them in another way are left out."""
    lines = [line for line in plane.lines if len(line) and line.name not in _DERIVED]
    xla = [line for line in lines if line.name.endswith("XLA Ops") and not line.name.startswith("Async")]
    streams = [line for line in lines if line.name.startswith("Stream")]
    return _made(plane.name.removeprefix("/device:"), [_kernels(line) for line in xla or streams or lines])


def _operators(line: Line):
    """The operators on a host's thread, which are called NAME:TYPE."""
    facts = []  # by the number of a name
    for label in line.labels:
        found = _OPERATOR.match(label)
        if not found or _WRAPPERS.match(found["type"]):
            facts.append(("", 0))
            continue
        replica = _REPLICA.search(found["name"])
        in_sum = found["type"] == "AddN" and "gradient_tape" not in found["name"]
        facts.append(("AddN of gradients" if in_sum else found["type"], int(replica[1]) if replica else 0))
    return _gathered(line, facts)


def _kernels(line: Line):
    return _gathered(line, [(label, 0) for label in line.labels])


def _gathered(line, facts):
    types = np.array([kind for kind, _ in facts] or [""], object)[line.names if len(facts) else slice(0, 0)]
    replicas = np.array([replica for _, replica in facts] or [0])[line.names if len(facts) else slice(0, 0)]
    kept = types != ""
    return Operators(line.starts[kept], line.ends[kept], types[kept], replicas[kept])


def _made(name, parts, summed=False):
    every = Operators(
        *(
            np.concatenate([getattr(part, what) for part in parts] or [np.zeros(0, np.int64)])
            for what in ("starts", "ends", "types", "replicas")
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


def _kind(label, replicated):
    if _COPY.match(label):
        return "copy"
    if _COLLECTIVE.search(label) or (replicated and label == "AddN of gradients"):
        return "communication"
    return "compute"
