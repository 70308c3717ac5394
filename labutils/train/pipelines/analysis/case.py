"""What the remedies of a pipeline are drawn from, and what a remedy is."""

from dataclasses import dataclass

from labutils.train.pipelines.analysis.chain import BATCHES

GAIN = 1.05  # expected speed-up from which a change is worth a line
SMALL_CALL = 100e-6  # s of a call below which what it costs to call at all is much of it


@dataclass(frozen=True)
class Remedy:
    """`change` says what to do, `code` the line to write, `rate` the elements/s to expect, `why` the reason."""

    name: str
    change: str
    code: str
    rate: float
    why: str


@dataclass(frozen=True)
class Case:
    """All that the remedies are drawn from.

    work: what the stages cost in the steady state; look: what was seen; efficiency: measured rate over the expected
    """

    nodes: tuple
    work: object
    look: object
    options: object
    efficiency: float = 1.0

    def rate(self, work):
        """Elements/s to expect of a changed pipeline, as far below the arithmetic as this one is."""
        return min(work.bound.rate * self.efficiency, max(work.limit, self.now))

    @property
    def now(self):
        """Elements/s of the pipeline as it is, by the same arithmetic."""
        return self.work.bound.rate * self.efficiency

    def cost(self, node):
        """Seconds of a stage for an element of the output."""
        return self.work.stage(node.label).cost

    def call(self, node):
        """Seconds of one call of a stage's function."""
        return self.cost(node) / max(self.costs.elements.get(node.label, 1.0), 1e-9)

    @property
    def costs(self):
        """The Costs of the steady state."""
        return self.look.cached_costs or self.look.costs


def call_of(node, *arguments):
    """The line that makes the stage, as far as it can be told, with more arguments."""
    own = node.function_name or (str(node.size) if node.kind in BATCHES else "")
    return f".{node.kind}({', '.join(each for each in (own, *arguments) if each)})"
