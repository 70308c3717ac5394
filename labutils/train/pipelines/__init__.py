"""Input pipelines: two workloads, a clock for them, the machine's limit, and an analysis of anybody's dataset."""

from labutils.train.pipelines import classic, photos
from labutils.train.pipelines.analysis import Analysis, analyse
from labutils.train.pipelines.limits import memory_bandwidth, one_core, stage_costs
from labutils.train.pipelines.standing import Standing, standing
from labutils.train.pipelines.throughput import Reading, as_written, epoch, read_once, spans

__all__ = [
    "Analysis",
    "Reading",
    "Standing",
    "analyse",
    "as_written",
    "classic",
    "epoch",
    "memory_bandwidth",
    "one_core",
    "photos",
    "read_once",
    "spans",
    "stage_costs",
    "standing",
]
