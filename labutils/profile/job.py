"""A capture as a job: which events are operators of a device, which wait for input, which bring or build programs."""

import re
from dataclasses import dataclass, field

import numpy as np

from labutils.profile import intervals
from labutils.profile.operators import PYTHON, device_of, host_device, is_wrapper, operator_of

_NEXT = re.compile(r"^Iterator(GetNext|GetNextAsOptional|GetNextSync)Op::DoCompute$|^(infeed|Infeed)\b")
_TRACING = re.compile(r"^tf\.function-graph_building$")
_COMPILING = re.compile(
    r"^(XlaCompile|XlaCompilationCache|Xla\w*Compile\w*|CompileGraph|backend_compile|PjRt\w*Compile|(Cpu|Gpu)Compiler::|"
    r"JitCompiler::Compile)"
)
_CALLS = re.compile(r"^(PjitFunction|jit_?)\(?")


@dataclass
class Host:
    """One host's part of the job, all moments in ps.

    waiting: somebody who is not a thread of tf.data waits for the next batch
    steps: (n, 2) the marked steps, `calls` the calls of the function that takes most time, for want of markers
    tracing: TensorFlow builds a graph; traced: the calls in which it does; compiling: XLA makes a program
    dispatch: eager operators are prepared
    eager: how many operators ran one by one, at which moments
    input_python: moments in which tf.data ran Python code; model_python: in which an operator of the step did
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
    model_python: np.ndarray
    on_cpu: bool
    facts: dict = field(default_factory=dict)

    @property
    def active(self):
        return [device for device in self.devices if device.ran]


def host_of(space, name):
    """The Host in a Space."""
    lines = [line for plane in space.hosts for line in plane.lines if len(line)]
    ours = [line for line in lines if not _is_input(line)]
    devices = [device_of(plane) for plane in space.devices if not plane.name.startswith("/device:CUSTOM")]
    on_cpu = not any(device.ran for device in devices)
    eager = _eager(ours)
    if on_cpu:
        devices = [host_device(ours, _eager_kernels(ours, eager[0])), *devices]
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
        input_python=_moments(python, _python),
        input_work=_moments(python, lambda label: operator_of(label) is not None),
        model_python=_moments(ours, _python),
        on_cpu=on_cpu,
        facts={plane.name: plane.stats for plane in space.devices},
    )


_GET_NEXT = "tf_data_iterator_get_next"


def _is_input(line):
    """A thread of tf.data works for the input; only the one that a step waits in belongs to the step."""
    return line.name.startswith("tf_data_") and not line.name.startswith(_GET_NEXT)


def _python(label):
    found = operator_of(label)
    return found is not None and found[1] in PYTHON


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
            if str(stats.get("is_func")) == "0" and not is_wrapper(str(stats["eager_op"])):
                starts.append(int(line.starts[place]))
                ends.append(int(line_ends[place]))
                types.append(str(stats["eager_op"]))
    moments = np.array([starts, ends], np.int64).T.reshape(-1, 2)
    order = np.argsort(moments[:, 0], kind="stable")
    return moments[order], np.array(types, object)[order]


def _eager_kernels(lines, eager):
    """When the kernels of these eager operators ran."""
    inside = intervals.union(eager[:, 0], eager[:, 1])
    return intervals.both(_moments(lines, lambda label: label == "EagerKernelExecute"), inside)
