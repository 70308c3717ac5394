"""What communication costs: the alpha-beta model, in seconds, for each way to all-reduce.

A message of m bytes takes latency + m / bandwidth (Hockney's model, as used by Thakur, Rabenseifner & Gropp
2005, "Optimization of Collective Communication Operations in MPICH", IJHPCA 19(1), section "Cost Model"). A
round lasts as long as its longest message. Adding the numbers up is left out: it is far cheaper than moving
them. Roofline and memory stand in modules of their own and can be had from here too.
"""

from dataclasses import dataclass

from labutils.theory import checks, traffic
from labutils.theory.memory import TrainingMemory, training_memory
from labutils.theory.roofline import arithmetic_intensity, attainable_flops, ridge_point

__all__ = [
    "Link",
    "TrainingMemory",
    "all_reduce_time",
    "arithmetic_intensity",
    "attainable_flops",
    "bus_bandwidth",
    "messages_time",
    "ridge_point",
    "training_memory",
]


@dataclass(frozen=True)
class Link:
    """A link between two devices: `bandwidth` in bytes/s each way at once, `latency` in seconds a message.

    `bandwidth` may be math.inf for a link that costs nothing but latency. ValueError for zero or negative
    bandwidth, negative latency or NaN.
    """

    bandwidth: float
    latency: float = 0.0

    def __post_init__(self):
        hint = "give bytes per second, for example 1.25e9 for 10 Gbit/s"
        bandwidth = checks.number("bandwidth", self.bandwidth, hint, positive=True, infinite=True)
        latency = checks.number("latency", self.latency, "give seconds per message, for example 50e-6")
        object.__setattr__(self, "bandwidth", bandwidth)
        object.__setattr__(self, "latency", latency)

    def time(self, nbytes):
        """Seconds that one message of `nbytes` bytes takes: latency + nbytes / bandwidth."""
        return self.latency + nbytes / self.bandwidth


def all_reduce_time(nbytes, ranks, link, algorithm="ring", *, group_size=None, inner_link=None):
    """Seconds to all-reduce `nbytes` bytes per rank over `ranks` ranks; 0.0 for a single rank.

    ring              2 (n-1) latency + 2 (n-1)/n nbytes / bandwidth            (Patarasuk & Yuan 2009)
    tree              2 ceil(log2 n) (latency + nbytes / bandwidth)             (Thakur et al. 2005)
    halving_doubling  2 log2 p latency + 2 (p-1)/p nbytes / bandwidth, where p is the largest power of two
                      up to n; two whole messages more where p < n              (Thakur et al. 2005)
    hierarchical      a tree inside each node of `group_size` ranks over `inner_link` (default: `link`), and
                      a ring of the nodes over `link`

    ValueError for negative or unreadable bytes, ranks that are no whole number, an unknown algorithm.
    """
    nbytes = checks.number("nbytes", nbytes, "give the gradients' bytes, 4 per float32 parameter")
    ranks, group_size = traffic.check_ranks(ranks, algorithm, group_size)
    check_links(link, inner_link, algorithm)
    if algorithm == "ring":
        return _ring_time(nbytes, ranks, link)
    if algorithm == "tree":
        return _tree_time(nbytes, ranks, link)
    if algorithm == "halving_doubling":
        return _halving_doubling_time(nbytes, ranks, link)
    nodes = -(-ranks // group_size)
    inside = _tree_time(nbytes, min(group_size, ranks), inner_link or link)
    return inside + _ring_time(nbytes, nodes, link)


def bus_bandwidth(nbytes, ranks, seconds):
    """Bytes/s that a measured all-reduce drove through the busiest link: nbytes / seconds * 2 (n-1)/n.

    It can be held against the link's own bandwidth whatever the number of ranks. NVIDIA/nccl-tests,
    doc/PERFORMANCE.md. ValueError for negative bytes, a bad number of ranks, or seconds not above zero.
    """
    nbytes = checks.number("nbytes", nbytes, "give the bytes that each rank contributed")
    ranks = checks.count("ranks", ranks, "count the devices that took part, at least 1")
    seconds = checks.number("seconds", seconds, "give the measured time of one all-reduce", positive=True)
    return nbytes / seconds * (2 * (ranks - 1) / ranks)


def messages_time(messages, link):
    """Seconds that a list of Messages takes over `link`: each round as long as its longest message."""
    longest = {}
    for message in messages:
        longest[message.round] = max(message.nbytes, longest.get(message.round, 0))
    return sum(link.time(nbytes) for nbytes in longest.values())


def _ring_time(nbytes, ranks, link):
    return 2 * (ranks - 1) * link.time(nbytes / ranks)


def _tree_time(nbytes, ranks, link):
    return 2 * traffic.tree_depth(ranks) * link.time(nbytes)


def _halving_doubling_time(nbytes, ranks, link):
    power = traffic.power_of_two_below(ranks)
    levels = power.bit_length() - 1
    halves = sum(link.time(nbytes / 2**level) for level in range(1, levels + 1))
    fold = link.time(nbytes) if ranks > power else 0.0
    return 2 * (halves + fold)


def check_links(link, inner_link, algorithm):
    """Raise ValueError unless `link` is a Link, and `inner_link` one or None, fit for the algorithm."""
    for name, value in (("link", link), ("inner_link", inner_link)):
        if not isinstance(value, Link) and not (name == "inner_link" and value is None):
            raise ValueError(
                f"{name} must be a Link, but it is {value!r}: write for example Link(bandwidth=1.25e9, latency=50e-6)."
            )
    if inner_link is not None and algorithm != "hierarchical":
        raise ValueError(f"inner_link is given, but {algorithm} knows no nodes: leave it out or choose hierarchical.")
