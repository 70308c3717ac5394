"""Replicas that share cores: when each would compute, if every one of them kept one core busy."""

from labutils.theory import checks
from labutils.theory.timeline import Event


def share_cores(replicas, cores, compute_time):
    """Events of `replicas` equal pieces of work of `compute_time` seconds each, on `cores` cores.

    Each piece occupies one core; a piece waits until a core is free. Raises ValueError for counts below one
    and for negative times.
    """
    replicas = checks.count("replicas", replicas, "count the pieces of work, at least 1")
    cores = checks.count("cores", cores, "count the cores they share, at least 1")
    seconds = checks.number("compute_time", compute_time, "give the seconds of one piece of work")
    starts = [replica // cores * seconds for replica in range(replicas)]
    return tuple(Event(replica, "compute", start, start + seconds) for replica, start in enumerate(starts))


def shared_time(replicas, cores, compute_time):
    """Seconds until the last of the `replicas` is done: ceil(replicas / cores) waves. Errors as for share_cores."""
    return max(event.end for event in share_cores(replicas, cores, compute_time))
