"""What bounds a tf.data pipeline, anybody's, and what to try next.

analyse(dataset)               # in the last line of a cell: a table of stages, the bound, remedies, known traps
analyse(dataset, steps=1000)   # will it last for a training of 1000 steps?
"""

import math
from dataclasses import dataclass, field

import tensorflow as tf

from labutils.bench.units import format_si
from labutils.theory import checks
from labutils.theory.pipeline import Bound
from labutils.train.devices import usable_cores
from labutils.train.pipelines.analysis import findings, report, samples
from labutils.train.pipelines.analysis.case import Case, Remedy
from labutils.train.pipelines.analysis.chain import chain, samples_per_element, upstream
from labutils.train.pipelines.analysis.looking import Looker
from labutils.train.pipelines.analysis.remedies import remedies
from labutils.train.pipelines.analysis.steady import steady_work
from labutils.train.pipelines.analysis.untouched import traces, untouched
from labutils.train.pipelines.analysis.work import Work

AT_THE_LIMIT = 0.9  # of the machine's limit
_LABELS = 0.15  # share of the time for looks at labels and at two passes
_BUSY = 0.5  # cores used by other processes from which it is said


@dataclass(frozen=True)
class StageCost:
    """One stage: `seconds` of a thread for an element of the output, its `share` of all stages', `threads` of its own.

    `threads` is None where the stage runs in the thread that asks for its result. `stored`: only the first epoch runs
    it, the later ones find its result in a cache; it has no share.
    """

    name: str
    seconds: float
    share: float
    threads: int | None
    notes: tuple[str, ...] = ()
    stored: bool = False


@dataclass(frozen=True, repr=False)
class Analysis:
    """What `analyse` found. Rates are in elements/s; nan where nothing could be measured.

    rate: in the steady state; `samples` is how many samples an element holds, so that `.samples_rate` counts these
    first_latency: s from the start to the first element
    first_epoch_rate: while a cache fills; nan where no cache serves the later epochs
    stages: a StageCost each; bound: the theory's Bound, which names the stages and says why
    limit: what no arrangement of these stages can pass on this machine
    remedies: what to try, the highest expected rate first; findings: known traps; notes: what to know beside
    """

    rate: float
    samples: int
    first_latency: float
    first_epoch_rate: float
    stages: tuple[StageCost, ...]
    bound: Bound
    limit: float
    cores: int
    cardinality: int
    remedies: tuple[Remedy, ...] = ()
    findings: tuple = ()
    notes: tuple[str, ...] = ()
    work: Work | None = field(default=None, repr=False)

    @property
    def samples_rate(self):
        """Samples/s; the same as `rate` without batches."""
        return self.rate * self.samples

    @property
    def at_the_limit(self):
        """True within 10% of the machine's limit for this work."""
        return self.bound.rate >= AT_THE_LIMIT * self.limit

    def __repr__(self):
        return report.text(self)

    def _repr_html_(self):
        return report.html(self)


def analyse(dataset, *, seconds=3.0, steps=None, deadline=30.0):
    """Find out what bounds a `tf.data.Dataset`: an Analysis.

    It reads for about `seconds`, from the start, and waits at most `deadline` seconds for an element. `steps`: how many
    elements the training will ask for in all, to be held against how many there are. Ctrl-C ends it at any time.

    The dataset is left as it was: later epochs give the same elements in the same order. What is read are copies that
    share its data and its functions, with shuffles and caches of their own; a file cache is not written; variables
    (a tf.random.Generator) and the global random states of Python and NumPy are put back. What cannot be put back, and
    `notes` says so: what Python code changes by itself (a counter, a generator that can be read once), the order of a
    shuffled dataset that a function has captured, and a shuffle behind a stage of a kind unknown here.
    TypeError for what is no Dataset; ValueError for numbers that make no sense.
    """
    _check(dataset)
    seconds = checks.number("seconds", seconds, "give the time to look at the dataset, in s", positive=True)
    deadline = checks.number("deadline", deadline, "give the time to wait for an element, in s", positive=True)
    if steps is not None:
        steps = checks.count("steps", steps, "count the elements that the training asks for")
    nodes, cores, options = chain(dataset), usable_cores(), dataset.options()
    with untouched(nodes):
        look = Looker(nodes, options, seconds, deadline, cores).run(cache=findings.served_by(nodes, steps))
        found = [*_outcome(look, nodes, steps, deadline), *findings.from_stages(nodes, steps)]
        if look.elements and not look.error:
            share = _LABELS * seconds
            found += samples.small_buffers(nodes, share, deadline)
            found = _frozen_by_python(found, nodes, share, deadline)
    return _analysis(nodes, look, options, cores, found)


def _check(dataset):
    if isinstance(dataset, tf.data.Dataset):
        return
    kind = type(dataset).__name__
    if "Distributed" in kind:
        advice = "pass the dataset that was distributed, before experimental_distribute_dataset"
    elif hasattr(dataset, "get_next"):
        advice = "pass the dataset itself, not its iterator"
    else:
        advice = "make one, for example with tf.data.Dataset.from_tensor_slices or from_generator"
    raise TypeError(f"analyse takes a tf.data.Dataset, and this is a {kind}: {advice}.")


def _outcome(look, nodes, steps, deadline):
    """What the look itself ended with."""
    if look.error:
        yield findings.troubles(look, nodes, deadline)
    elif not look.elements:
        yield findings.empty(nodes)
    if look.ended and not look.error and steps is not None and nodes[-1].cardinality < 0 < look.elements < steps:
        yield findings.ran_out(look.elements, steps)


def _frozen_by_python(found, nodes, seconds, deadline):
    caches = samples.random_caches(nodes, seconds, deadline)
    return found + [findings.frozen([n.label for n in upstream(each) if n.python], seen=True) for each in caches]


def _analysis(nodes, look, options, cores, found):
    costs = look.cached_costs or look.costs
    notes = [*look.notes, *traces(nodes)]
    if look.others > _BUSY:
        notes.append(
            f"Other processes kept {look.others:.1f} of the cores busy meanwhile: the rate is what was left, the costs "
            "are those of the work itself."
        )
    plain = dict(
        rate=look.rate,
        samples=samples_per_element(nodes),
        first_latency=look.first,
        first_epoch_rate=look.first_epoch,
        cores=cores,
        cardinality=nodes[-1].cardinality,
    )
    if costs is None:
        stages = tuple(StageCost(node.label, math.nan, math.nan, None, _notes(node, look)) for node in nodes)
        if look.elements:
            notes.append("Too few elements came, or TensorFlow kept no figures, to tell what each stage costs.")
        bound = Bound(math.nan, (), "")
        return Analysis(**plain, stages=stages, bound=bound, limit=math.nan, findings=tuple(found), notes=tuple(notes))
    work = steady_work(nodes, look, costs, cores)
    efficiency = look.rate / work.bound.rate if look.rate > 0 and math.isfinite(work.bound.rate) else 1.0
    proposed, unclear = remedies(Case(tuple(nodes), work, look, options, efficiency)) if not look.error else ((), ())
    found += findings.from_look(nodes, work, look, options)
    if efficiency < 0.5 and look.others <= _BUSY:
        notes.append(
            f"The rate is {efficiency:.0%} of what the costs of the stages allow: threads wait for each other, or for "
            "something outside that was not seen."
        )
    return Analysis(
        **plain,
        stages=tuple(_stage_cost(node, work, look) for node in nodes),
        bound=work.bound,
        limit=work.limit,
        remedies=proposed,
        findings=tuple(found),
        notes=(*notes, *unclear),
        work=work,
    )


def _stage_cost(node, work, look):
    stored = node.label in look.stored
    stage = work.stage(node.label)
    seconds = look.costs.seconds.get(node.label, 0.0) if stored and look.costs else stage.cost
    share = math.nan if stored else stage.cost / work.seconds if work.seconds else 0.0
    return StageCost(node.label, seconds, share, stage.threads, _notes(node, look, work), stored)


def _notes(node, look, work=None):
    found = []
    if work and work.handing.get(node.label):
        found.append(f"and {format_si(work.handing[node.label], 's')} to hand out its calls")
    if node.python:
        found.append("calls Python")
    if node.draws:
        found.append("random")
    if node.label in look.waits:
        found.append("waits")
    if node.label in look.threads.added:
        found.append("parallel by tf.data")
    if node.label in look.stored:
        found.append("first epoch only")
    return tuple(found)
