"""The roofline: how fast a kernel can run at most, given its arithmetic intensity.

Williams, Waterman & Patterson 2009, "Roofline: An Insightful Visual Performance Model for Multicore
Architectures", CACM 52(4), pages 65 to 76.
"""

from labutils.theory import checks


def arithmetic_intensity(flops, nbytes):
    """Flop per byte of memory traffic, of a kernel that does `flops` operations and moves `nbytes` bytes.

    ValueError for negative operations, or bytes that are not above zero.
    """
    flops = checks.number("flops", flops, "count the additions and multiplications")
    nbytes = checks.number("nbytes", nbytes, "count the bytes read from and written to memory", positive=True)
    return flops / nbytes


def attainable_flops(intensity, peak_flops, memory_bandwidth):
    """Flop/s that a kernel can reach: min(peak_flops, intensity * memory_bandwidth).

    `intensity` in flop/byte, `peak_flops` in flop/s, `memory_bandwidth` in bytes/s (Williams et al. 2009,
    "The Roofline Model"). ValueError for a negative intensity, or a machine without flops or bandwidth.
    """
    intensity = checks.number("intensity", intensity, "give flop per byte, see arithmetic_intensity")
    peak_flops, memory_bandwidth = _machine(peak_flops, memory_bandwidth)
    return min(peak_flops, intensity * memory_bandwidth)


def ridge_point(peak_flops, memory_bandwidth):
    """Flop/byte from which on the peak, and no longer the memory, is the limit (Williams et al. 2009).

    ValueError for a machine without flops or bandwidth.
    """
    peak_flops, memory_bandwidth = _machine(peak_flops, memory_bandwidth)
    return peak_flops / memory_bandwidth


def _machine(peak_flops, memory_bandwidth):
    return (
        checks.number("peak_flops", peak_flops, "give the machine's peak in flop/s", positive=True),
        checks.number("memory_bandwidth", memory_bandwidth, "give memory bandwidth in bytes/s", positive=True),
    )
