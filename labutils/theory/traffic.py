"""What an all-reduce sends: bytes of each rank and rounds, by formula, exact to the byte.

Every algorithm of labutils.theory.collectives sends 2 (n - 1) S bytes in total for n ranks and arrays of S
bytes. The formulas here say how that work is shared, also where the array does not divide by the ranks.
"""

from labutils.theory import checks

ALGORITHMS = ("ring", "tree", "halving_doubling", "hierarchical")


def bytes_sent(elements, ranks, algorithm="ring", *, itemsize=4, group_size=None):
    """Bytes that each rank sends to all-reduce `elements` elements of `itemsize` bytes: a list of ints.

    `group_size` (ranks per node) is for "hierarchical" alone. ValueError for counts that cannot be.
    Where it divides, a ring rank sends 2 (n - 1) / n S, the least possible (Patarasuk & Yuan 2009).
    """
    elements = checks.count("elements", elements, "give the array's number of elements", least=0)
    itemsize = checks.count("itemsize", itemsize, "give the bytes of one element, 4 for float32")
    ranks, group_size = check_ranks(ranks, algorithm, group_size)
    if algorithm == "ring":
        sent = _ring(elements, ranks)
    elif algorithm == "tree":
        sent = _tree(elements, ranks)
    elif algorithm == "halving_doubling":
        sent = _halving_doubling(elements, ranks)
    else:
        sent = _hierarchical(elements, ranks, group_size)
    return [count * itemsize for count in sent]


def total_bytes(elements, ranks, *, itemsize=4):
    """Bytes that all ranks together send, 2 (n - 1) S whichever the algorithm. ValueError for bad counts."""
    elements = checks.count("elements", elements, "give the array's number of elements", least=0)
    itemsize = checks.count("itemsize", itemsize, "give the bytes of one element, 4 for float32")
    ranks, _ = check_ranks(ranks, "ring", None)
    return 2 * (ranks - 1) * elements * itemsize


def rounds(ranks, algorithm="ring", *, group_size=None):
    """Rounds that the all-reduce takes, each at least one latency long: an int. ValueError for bad counts.

    Thakur, Rabenseifner & Gropp 2005; for the ring Patarasuk & Yuan 2009.
    """
    ranks, group_size = check_ranks(ranks, algorithm, group_size)
    if algorithm == "ring":
        return 2 * (ranks - 1)
    if algorithm == "tree":
        return 2 * tree_depth(ranks)
    if algorithm == "halving_doubling":
        power = power_of_two_below(ranks)
        return 2 * (power.bit_length() - 1) + (2 if ranks > power else 0)
    nodes = -(-ranks // group_size)
    return 2 * tree_depth(min(group_size, ranks)) + 2 * (nodes - 1)


def check_ranks(ranks, algorithm, group_size):
    """Return (ranks, group_size) as ints (None if unused); ValueError where they do not fit the algorithm."""
    checks.one_of("algorithm", algorithm, ALGORITHMS)
    ranks = checks.count("ranks", ranks, "count the devices that take part, at least 1")
    if algorithm == "hierarchical":
        if group_size is None:
            raise ValueError("hierarchical needs group_size, which is None: give the number of ranks per node.")
        return ranks, checks.count("group_size", group_size, "give the number of ranks that share a node")
    if group_size is not None:
        raise ValueError(
            f"group_size is {group_size!r}, but {algorithm} knows no nodes: leave it out or choose hierarchical."
        )
    return ranks, None


def tree_depth(ranks):
    """Levels of a binomial tree over `ranks` ranks: ceil(log2 ranks), without rounding errors."""
    return (ranks - 1).bit_length()


def power_of_two_below(ranks):
    """The largest power of two that is not above `ranks`."""
    return 1 << (ranks.bit_length() - 1)


def _ring(elements, ranks):
    """All chunks but one in each of two trips round the ring: chunk r + 1 at first, chunk r + 2 later."""
    if ranks == 1:
        return [0]
    size, longer = divmod(elements, ranks)
    chunk = [size + (index < longer) for index in range(ranks)]
    return [2 * elements - chunk[(rank + 1) % ranks] - chunk[(rank + 2) % ranks] for rank in range(ranks)]


def _tree(elements, ranks):
    """The whole array once up (all but rank 0) and once down to each child."""
    return [elements * ((rank > 0) + _children(rank, ranks)) for rank in range(ranks)]


def _children(rank, ranks):
    """Children of a rank in the binomial tree: rank + 1, + 2, + 4, ... below its own lowest set bit."""
    lowest_bit = rank & -rank if rank else 1 << tree_depth(ranks)
    return sum(rank + (1 << level) < ranks for level in range(lowest_bit.bit_length() - 1))


def _halving_doubling(elements, ranks):
    """elements + s_1 + ... + s_(L-1), where s_k is what the rank still owns after k of the L halvings.

    The way in sends elements - s_L, the way back s_L + ... + s_1. A surplus rank sends all it has, once.
    """
    power = power_of_two_below(ranks)
    levels = power.bit_length() - 1
    sent = []
    for rank in range(power):
        owned, total = elements, 0
        for level in range(levels):
            total += elements if level == 0 else owned
            keeps_upper = rank >> (levels - 1 - level) & 1
            owned = owned // 2 if keeps_upper else (owned + 1) // 2
        sent.append(total + (elements if rank < ranks - power else 0))
    return sent + [elements] * (ranks - power)


def _hierarchical(elements, ranks, group_size):
    """A tree inside each node, and what a ring of the leaders sends on top of that."""
    leaders = range(0, ranks, group_size)
    sent = []
    for first in leaders:
        sent += _tree(elements, min(group_size, ranks - first))
    for leader, count in zip(leaders, _ring(elements, len(leaders)), strict=True):
        sent[leader] += count
    return sent
