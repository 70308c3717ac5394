"""How well more replicas pay: weak scaling (same batch per replica), strong scaling (same global batch)."""

from dataclasses import replace

from labutils.theory import checks
from labutils.theory.timeline import predict_step


def weak_efficiency(throughput, replicas, single_throughput):
    """Throughput over `replicas` times that of one replica, both in samples/s: 1.0 is ideal.

    The work grows with the replicas: Gustafson 1988, "Reevaluating Amdahl's Law", CACM 31(5). ValueError for
    throughputs that are not above zero or a bad number of replicas.
    """
    throughput = checks.number("throughput", throughput, "give samples/s of all replicas together", positive=True)
    single = checks.number("single_throughput", single_throughput, "give samples/s of one replica", positive=True)
    return throughput / (checks.count("replicas", replicas, "count the replicas, at least 1") * single)


def strong_efficiency(time, replicas, single_time):
    """Speed-up over `replicas`, from the seconds for the same work on many and on one: 1.0 is ideal.

    The work stays as it is: Amdahl 1967, "Validity of the single processor approach", AFIPS. ValueError for
    times that are not above zero or a bad number of replicas.
    """
    time = checks.number("time", time, "give the seconds on all replicas", positive=True)
    single = checks.number("single_time", single_time, "give the seconds on one replica", positive=True)
    return single / (checks.count("replicas", replicas, "count the replicas, at least 1") * time)


def weak_scaling(spec, replica_counts):
    """Predict the step for each number of replicas, the batch per replica kept: a list of Timelines.

    ValueError for a bad number of replicas.
    """
    return [predict_step(replace(spec, replicas=replicas)) for replicas in _counts(replica_counts)]


def strong_scaling(spec, replica_counts):
    """Predict the step for each number of replicas, spec's global batch kept: a list of Timelines.

    ValueError where the global batch does not divide by a number of replicas.
    """
    timelines = []
    for replicas in _counts(replica_counts):
        per_replica, left_over = divmod(spec.global_batch, replicas)
        if left_over:
            raise ValueError(
                f"a global batch of {spec.global_batch} does not divide by {replicas} replicas, {left_over} "
                f"samples are left over: choose a batch that is a multiple of {replicas}."
            )
        timelines.append(predict_step(replace(spec.with_batch(per_replica), replicas=replicas)))
    return timelines


def _counts(replica_counts):
    counts = [checks.count("replicas", count, "count the replicas, at least 1") for count in replica_counts]
    if not counts:
        raise ValueError("replica_counts is empty: give at least one number of replicas, for example [1, 2, 4].")
    return counts
