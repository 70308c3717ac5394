"""What the devices do: compute, communicate, copy, wait for the slowest of them, or nothing at all."""

import re
from collections import Counter

import numpy as np

from labutils.profile import intervals
from labutils.profile.evidence import NOTICED, PS, Found, s

_MATRIX = re.compile(r"MatMul|Conv[123]D|^Einsum|gemm|Cijk|conv|cutlass|wgrad|dgrad", re.IGNORECASE)
_NARROW = re.compile(r"half|fp16|bf16|f16|h884|16816|1688|BBS_BH|HHS_BH|int8|s8", re.IGNORECASE)


def _communication(job):
    if job.share("communication") < NOTICED:
        return None
    kinds = [kind for device in job.host.active for kind in device.collectives]
    which = ", ".join(kind[:40] for kind in dict.fromkeys(kinds[:2]))
    return Found(
        "communication-bound",
        job.share("communication"),
        f"For {s(job.segments['communication'])} of the step ({job.share('communication'):.0%}) a collective ({which}) "
        "is under way and nothing computes.",
    )


def _straggling_replica(job):
    busy = busy_by_replica(job)
    if len(busy) < 2:
        return None
    table = np.stack(list(busy.values()))  # replicas by steps
    usual = np.median(table, axis=1)
    slowest = int(np.argmax(usual))
    others = float(np.median(np.delete(usual, slowest)))
    lost = (usual[slowest] - others) / PS
    same = int((np.argmax(table, axis=0) == slowest).sum())
    if usual[slowest] < 1.5 * others or lost < 0.15 * job.step_time or same < 0.7 * table.shape[1]:
        return None
    return Found(
        "straggling-replica",
        lost / job.step_time,
        f"{list(busy)[slowest]} computes {s(usual[slowest] / PS)} of every step, the usual other one {s(others / PS)}; "
        f"it is the slowest in {same} of {table.shape[1]} steps.",
    )


def busy_by_replica(job):
    """{replica: how long it computed in each step}: replicas of one process, or devices."""
    active = job.host.active
    if len(active) > 1:
        return {device.name: intervals.within(device.compute, job.windows) for device in active}
    if not active or not active[0].operators.replicas.max(initial=0):
        return {}
    operators, found = active[0].operators, {}
    for replica in np.unique(operators.replicas).tolist():
        busy = operators.busy(operators.replicas == replica)
        found[f"replica {replica}"] = intervals.within(busy, job.windows)
    return found


def _copies(job):
    exposed = [
        intervals.without(device.copies, intervals.merge(device.communication, _kernels_of(device)))
        for device in job.host.active
    ]
    took = float(np.mean([job.usual(each) for each in exposed])) if exposed else 0.0
    if took < NOTICED * job.step_time:
        return None
    return Found(
        "host-to-device-copies",
        took / job.step_time,
        f"Copies to or from the device take {s(took)} of the step ({took / job.step_time:.0%}) in which nothing "
        "computes.",
    )


def _kernels_of(device):
    kernels = intervals.without(device.operators.busy(), device.copies)
    return intervals.merge(device.compute, kernels)


def _full_precision(job):
    if job.share("compute") < 0.4:
        return None
    time, matrix, narrow = 0, 0, 0
    for device in job.host.active:
        lengths = device.operators.ends - device.operators.starts
        for kind, length in zip(device.operators.types.tolist(), lengths.tolist(), strict=True):
            time += length
            matrix += length if _MATRIX.search(kind) else 0
            narrow += length if _MATRIX.search(kind) and _NARROW.search(kind) else 0
    if not time or matrix < 0.6 * time or narrow > 0.2 * matrix:
        return None
    return Found(
        "full-precision",
        job.share("compute") * matrix / time * 0.5,
        f"Matrix products and convolutions are {matrix / time:.0%} of the operators' time, and none is known to "
        "compute in 16 bits.",
    )


def _idle_devices(job):
    idle = [device.name for device in job.host.devices if not device.ran and not job.host.on_cpu]
    if not idle:
        return None
    which = idle[0] if len(idle) == 1 else f"{len(idle)} devices ({idle[0]} to {idle[-1]})"
    return Found("idle-devices", 0.0, f"On {which} not one operator ran.")


def _busy(job):
    if job.share("compute") < 0.5:
        return None
    kinds = Counter()
    for device in job.host.active:
        lengths = device.operators.ends - device.operators.starts
        for kind, length in zip(device.operators.types.tolist(), lengths.tolist(), strict=True):
            kinds[kind] += length
    whole = sum(kinds.values()) or 1
    most = ", ".join(f"{kind[:30]} {time / whole:.0%}" for kind, time in kinds.most_common(3))
    return Found(
        "busy-device",
        job.share("compute"),
        f"The device computes for {s(job.segments['compute'])} of {s(job.step_time)} ({job.share('compute'):.0%}); "
        f"most of it is {most}.",
    )


def straggling_host(jobs):
    """One host that computes, or waits for its input, far longer than the others, which wait for it in collectives."""
    if len(jobs) < 2:
        return None
    own = np.array([job.segments["compute"] + job.segments["input"] + job.segments["gaps"] for job in jobs])
    slowest = int(np.argmax(own))
    others = float(np.median(np.delete(own, slowest)))
    step_time = float(np.mean([job.step_time for job in jobs]))
    lost = float(own[slowest]) - others
    if own[slowest] < 1.5 * others or lost < 0.15 * step_time:
        return None
    return Found(
        "straggling-host",
        lost / step_time,
        f"{jobs[slowest].host.name} works {s(float(own[slowest]))} of every step, the usual other host "
        f"{s(others)}, and then waits for it.",
    )


LOOKS = (_communication, _straggling_replica, _copies, _full_precision, _idle_devices, _busy)
