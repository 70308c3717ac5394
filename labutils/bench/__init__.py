"""Clocks and statistics: how long something takes, which of two is faster, what each change was worth.

Loads no TensorFlow, and Matplotlib only when a picture is asked for.
"""

from labutils.bench.compare import Comparison, compare
from labutils.bench.journal import Journal, Trial
from labutils.bench.measure import Measurement, measure
from labutils.bench.units import format_ratio, format_si

__all__ = ["Comparison", "Journal", "Measurement", "Trial", "compare", "format_ratio", "format_si", "measure"]
