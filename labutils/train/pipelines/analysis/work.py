"""What bounds a pipeline: the arithmetic of `theory.pipeline`, with Python's lock and the handing out of calls."""

from dataclasses import dataclass, field, replace

from labutils.theory import pipeline
from labutils.theory.pipeline import Bound

THE_LOCK = "Python's lock (GIL)"
_COUNTS = 0.1  # share of a thread's time from which a stage is named as its bound


@dataclass(frozen=True)
class Work:
    """The stages of a pipeline (`theory.pipeline.Stage`, seconds for an element of the output) on `cores` cores.

    python: the names of those that hold Python's lock while they work
    handing: seconds by name that a stage takes more because its calls are handed to other threads
    """

    stages: tuple
    cores: int
    python: frozenset = frozenset()
    handing: dict = field(default_factory=dict)

    @property
    def bound(self):
        """The Bound: its rate in elements/s, and the stages, costly ones only, whose thread sets it."""
        stages = tuple(replace(each, cost=each.cost + self.handing.get(each.name, 0.0)) for each in self.stages)
        found = pipeline.bound(stages, self.cores)
        held = [stage for stage in stages if stage.name in self.python and stage.cost and not stage.waits]
        seconds = sum(stage.cost for stage in held)
        if seconds and 1 / seconds < found.rate * 0.999 and (len(held) > 1 or (held[0].threads or 1) > 1):
            found = Bound(1 / seconds, tuple(stage.name for stage in held), THE_LOCK)
        return replace(found, stages=self._costly(found.stages))

    @property
    def limit(self):
        """Elements/s that no arrangement of these stages can pass."""
        return pipeline.limit(self.stages, self.cores)

    @property
    def seconds(self):
        """Seconds of one thread for an element, waiting included."""
        return sum(stage.cost for stage in self.stages)

    def stage(self, name):
        """The Stage of this name."""
        return next(stage for stage in self.stages if stage.name == name)

    def share(self, names):
        """The share of the seconds that these stages have."""
        return sum(self.stage(name).cost for name in names) / self.seconds if self.seconds else 0.0

    def with_stage(self, name, handing=None, **changes):
        """The same with one stage changed: its `cost`, its `threads`, what `handing` out its calls takes."""
        stages = tuple(replace(each, **changes) if each.name == name else each for each in self.stages)
        handed = self.handing if handing is None else {**self.handing, name: handing}
        return replace(self, stages=stages, handing=handed)

    def without(self, names, reading=0.0):
        """The same with these stages in a cache: they cost nothing, but `reading` it costs so many seconds."""
        stages = [replace(each, cost=0.0) if each.name in names else each for each in self.stages]
        handing = {name: seconds for name, seconds in self.handing.items() if name not in names}
        last = max(place for place, each in enumerate(stages) if each.name in names)
        stages.insert(last + 1, pipeline.Stage("cache (new)", reading))
        return replace(self, stages=tuple(stages), handing=handing)

    def in_tensorflow(self, name):
        """The same with the stage `name` no longer in Python: at the same cost, on all cores."""
        return replace(self.with_stage(name, threads=self.cores), python=self.python - {name})

    def _costly(self, names):
        costs = {stage.name: stage.cost for stage in self.stages if stage.name in names}
        most = sum(costs.values())
        return tuple(name for name in names if costs[name] >= _COUNTS * most and costs[name]) or names
