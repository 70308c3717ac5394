"""All-reduce, run message by message: afterwards every rank holds the same sum, bit for bit.

Each function takes a list with one array per rank (any shape, one integer or float type), leaves it
untouched and returns Reduced(arrays, messages). A rank works on its own copy; all that it learns from others
arrives in a message. In every round a rank sends at most one message and receives at most one.

All four send 2 (n - 1) S bytes in total for n ranks and arrays of S bytes. They differ in how evenly the
ranks share that work and in how many rounds it takes: see labutils.theory.traffic.
"""

from itertools import pairwise

from labutils.theory import checks
from labutils.theory.wire import Wire


def ring_all_reduce(arrays):
    """Sum over the ranks in a ring: 2 (n - 1) rounds, in each of which a rank sends 1/n of its array.

    Patarasuk & Yuan 2009, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 69(2),
    who also prove that no algorithm can send less per rank.
    Raises ValueError where the arrays cannot be summed.
    """
    wire = Wire(arrays)
    ranks = wire.ranks
    chunks = split_evenly(wire.elements, ranks)

    # Partial sums travel round the ring. At the end, rank r holds the full sum of chunk r + 1.
    for step in range(ranks - 1):
        for rank in range(ranks):
            wire.send(rank, (rank + 1) % ranks, chunks[(rank - step) % ranks])
        wire.add("reduce-scatter")

    # The full sums travel round the ring. At the end, every rank holds all of them.
    for step in range(ranks - 1):
        for rank in range(ranks):
            wire.send(rank, (rank + 1) % ranks, chunks[(rank + 1 - step) % ranks])
        wire.store("all-gather")

    return wire.reduced("ring")


def tree_all_reduce(arrays):
    """Sum up a binomial tree to rank 0, then back down it: 2 ceil(log2 n) rounds of whole arrays.

    The binomial trees of reduce and broadcast, one after the other: Thakur, Rabenseifner & Gropp 2005,
    "Optimization of Collective Communication Operations in MPICH", IJHPCA 19(1). Libraries that cut the array
    into pieces and keep all levels of the tree busy at once, as NCCL does, need less time than this one.
    Raises ValueError where the arrays cannot be summed.
    """
    wire = Wire(arrays)
    everybody = [range(wire.ranks)]
    _reduce_to_first(wire, everybody)
    _broadcast_from_first(wire, everybody)
    return wire.reduced("tree")


def halving_doubling_all_reduce(arrays):
    """Exchange ever smaller halves until each rank owns a piece of the sum, then gather it back the same way.

    Rabenseifner's algorithm: Thakur, Rabenseifner & Gropp 2005, "Reduce and Allreduce". For p ranks, a power
    of two, it takes 2 log2 p rounds and sends what the ring sends. For other numbers the surplus over the
    power of two is folded in before and out after, which costs two rounds of whole arrays.
    Raises ValueError where the arrays cannot be summed.
    """
    wire = Wire(arrays)
    power = 1 << (wire.ranks.bit_length() - 1)
    surplus = range(power, wire.ranks)
    whole = slice(0, wire.elements)

    if surplus:
        for rank in surplus:
            wire.send(rank, rank - power, whole)
        wire.add("fold in")

    owned = {rank: whole for rank in range(power)}
    given = []  # what each rank gave away, so that the way back can mirror it
    distance = power // 2
    while distance:
        given.append({rank: _halve(owned[rank], gives_upper=not rank & distance) for rank in owned})
        for rank, (_, away) in given[-1].items():
            wire.send(rank, rank ^ distance, away)
        wire.add("reduce-scatter")
        owned = {rank: kept for rank, (kept, _) in given[-1].items()}
        distance //= 2

    for level, halves in enumerate(reversed(given)):
        for rank, (kept, _) in halves.items():
            wire.send(rank, rank ^ (1 << level), kept)
        wire.store("all-gather")

    if surplus:
        for rank in surplus:
            wire.send(rank - power, rank, whole)
        wire.store("fold out")
    return wire.reduced("halving_doubling")


def hierarchical_all_reduce(arrays, group_size):
    """Reduce inside each node, run a ring among the nodes' leaders, broadcast inside each node.

    Ranks are dealt to nodes in order, `group_size` to a node; the last node may be smaller. Only the leaders
    use the (slow) link between nodes. The three phases of Goyal et al. 2017, "Accurate, Large Minibatch SGD",
    section 4.
    Raises ValueError where the arrays cannot be summed or `group_size` is not a whole number from 1.
    """
    wire = Wire(arrays)
    groups = node_groups(wire.ranks, group_size)
    _reduce_to_first(wire, groups)
    wire.all_reduce_among([group[0] for group in groups], ring_all_reduce)
    _broadcast_from_first(wire, groups)
    return wire.reduced("hierarchical")


ALGORITHMS = {
    "ring": ring_all_reduce,
    "tree": tree_all_reduce,
    "halving_doubling": halving_doubling_all_reduce,
    "hierarchical": hierarchical_all_reduce,
}


def split_evenly(elements, parts):
    """Return `parts` slices that cover `elements` elements, the first of them one longer where it must be."""
    size, longer = divmod(elements, parts)
    bounds = [part * size + min(part, longer) for part in range(parts + 1)]
    return [slice(start, stop) for start, stop in pairwise(bounds)]


def node_groups(ranks, group_size):
    """Return the ranks of each node as ranges, `group_size` to a node; ValueError unless it is at least 1."""
    size = checks.count("group_size", group_size, "give the number of ranks that share a node")
    return [range(first, min(first + size, ranks)) for first in range(0, ranks, size)]


def _reduce_to_first(wire, groups):
    """Sum each group's arrays into its first member: at distance 1, 2, 4, ... the later of two sends."""
    for distance in _tree_distances(groups):
        for group in groups:
            for place in range(distance, len(group), 2 * distance):
                wire.send(group[place], group[place - distance], slice(0, wire.elements))
        wire.add("reduce")


def _broadcast_from_first(wire, groups):
    """Copy each group's first array to its other members: the way of _reduce_to_first, backwards."""
    for distance in reversed(_tree_distances(groups)):
        for group in groups:
            for place in range(distance, len(group), 2 * distance):
                wire.send(group[place - distance], group[place], slice(0, wire.elements))
        wire.store("broadcast")


def _tree_distances(groups):
    """The distances 1, 2, 4, ... that lie inside the largest group."""
    largest = max(len(group) for group in groups)
    return [1 << level for level in range((largest - 1).bit_length())]


def _halve(chunk, gives_upper):
    """Cut a slice in two and return (kept, given away)."""
    middle = (chunk.start + chunk.stop + 1) // 2
    lower, upper = slice(chunk.start, middle), slice(middle, chunk.stop)
    return (lower, upper) if gives_upper else (upper, lower)
