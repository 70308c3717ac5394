"""A bounded look at a pipeline: its rate as it runs, the seconds until the first element, and what its stages cost."""

import contextlib
import math
import shutil
import tempfile
from dataclasses import dataclass, field

from labutils.train.pipelines.analysis import accounting, copies
from labutils.train.pipelines.analysis.accounting import Costs, Unclear
from labutils.train.pipelines.analysis.chain import upstream
from labutils.train.pipelines.analysis.copies import NotCopied
from labutils.train.pipelines.analysis.reading import Blocked, Failed, Reader
from labutils.train.pipelines.analysis.threads import Threads, arranged

_FAST = 2e-3  # s of an element below which asking for each of them from Python would show
_PULL = 0.02  # s that one pull of many fast elements lasts
_LONG = 0.2  # s from which the operating system's count of other processes' time says something
_SOON = 200  # elements after which it is not looked further for the stage that raises
_WAITS = 0.25  # share of the time without work from which it is looked for
_CANDIDATE = 0.15  # share of the time from which a stage may be the one that waits


@dataclass
class Look:
    """What was seen; nan and None for what could not be.

    first: s until the first element; rate: elements/s later on, in the epochs that a full cache serves, if it has one
    first_epoch: elements/s while the cache fills
    elements: that came in one pass, all there are where `ended`
    costs, cached_costs: of the stages, without a cache and behind a full one
    stored: labels of the stages that only the first epoch runs
    waits: labels of the stages that mostly wait
    error: the Blocked or Failed that ended the look; failed_in: the label of the stage that raised, where known
    cpu: s of processor time for an element, as it runs in the steady state; used: cores at work on it
    others: cores that other processes kept busy meanwhile
    """

    first: float = math.nan
    rate: float = math.nan
    first_epoch: float = math.nan
    elements: int = 0
    ended: bool = False
    threads: Threads = field(default_factory=lambda: Threads({}))
    costs: Costs | None = None
    cached_costs: Costs | None = None
    stored: frozenset = frozenset()
    waits: frozenset = frozenset()
    error: Exception | None = None
    failed_in: str = ""
    cpu: float = math.nan
    used: float = math.nan
    others: float = 0.0
    notes: list = field(default_factory=list)


class Looker:
    """Looks at the pipeline of `nodes` for about `seconds`; each element may take `deadline` seconds to come."""

    def __init__(self, nodes, options, seconds, deadline, cores):
        self.nodes, self.last, self.options = nodes, nodes[-1], options
        self.seconds, self.deadline, self.cores = seconds, deadline, cores
        self.look = Look()

    def run(self, cache=None):
        """The Look. `cache` is the stage that serves all epochs but the first, if there is one."""
        look = self.look
        written = next((node for node in self.nodes if copies.is_written(node)), None)
        if written:
            look.stored = frozenset(each.label for each in upstream(written))
        try:
            self._as_it_runs(share=0.2 if cache else 0.5)
            if look.elements:
                self._account(share=0.2 if cache else 0.3)
            if cache and look.costs and not look.error:
                self._behind(cache)
        except Blocked as error:
            look.error = error
        return look

    def _as_it_runs(self, share):
        look, seconds = self.look, share * self.seconds
        try:
            dataset = copies.fresh(self.last, _without_cache)
        except NotCopied as error:
            dataset = self.last.dataset
            look.notes.append(
                f"{error}: the dataset itself was read, so that a shuffle goes on from another seed, and a cache may "
                "be filled."
            )
        dataset = dataset.with_options(self.options)
        reader = self._first_pass(dataset, 0.3 * seconds)
        if look.elements and not look.error:
            try:
                reader = self._steady(dataset, reader, 0.7 * seconds)
            except Failed:
                reader = self._first_pass(dataset, self.seconds)  # to see which element it was
        if not look.ended:
            look.elements, look.ended = reader.elements, reader.ended
        self._note(reader)
        if look.error:
            look.failed_in = self._failing()

    def _note(self, reader):
        """Keep what the reader of the steady state has seen, and let go of it."""
        look, spent = self.look, reader.spent
        look.rate = reader.rate if reader.count else 1 / reader.first
        look.others = spent.others / spent.wall if spent.wall > _LONG else 0.0
        look.cpu = spent.cpu / reader.count if reader.count else math.nan
        look.used = spent.cpu / spent.wall if spent.wall else math.nan
        if not look.threads.count:
            look.threads = arranged(self.nodes, reader.model, self.options, self.cores)
        reader.close()

    def _failing(self):
        """The label of the first stage that raises by itself, where it does so soon; "" otherwise."""
        look, suspects = self.look, [node for node in self.nodes if node.functions]
        for node in suspects[:-1]:
            reader = None
            try:
                reader = Reader(accounting.one_thread(node)[0])
                reader.read(0.2 * self.seconds / len(suspects), self.deadline, least=min(look.elements + 2, _SOON))
            except Failed:
                return node.label
            except (Blocked, NotCopied):
                return ""
            finally:
                if reader:
                    reader.close()
        return suspects[-1].label if len(suspects) == 1 else ""

    def _first_pass(self, dataset, seconds):
        """Read from the start, one element at a time: the Reader, and what there is to say about the first pass."""
        look, reader = self.look, Reader(dataset)
        try:
            reader.read(seconds, self.deadline)
        except Failed as error:
            look.error = error
        finally:
            look.first, look.elements, look.ended = reader.first, reader.elements, reader.ended
        return reader

    def _steady(self, dataset, reader, seconds):
        """Read on for the steady rate, with another Reader where the first is too slow or at its end; the last one."""
        each = self._each(1 / reader.rate if reader.rate > 0 else reader.first, reader)
        if reader.ended and reader.elements:  # a prefetch had most of it ready: only epoch upon epoch shows the rate
            reader.close()
            reader = Reader(dataset.repeat(), each)
        elif each > 1 and reader.first < 0.1 * self.seconds:
            reader.close()
            reader = Reader(dataset, each)
        return reader.read(seconds, self.deadline)

    def _each(self, seconds, reader):
        """How many elements one pull should take, where each takes `seconds`."""
        if not seconds < _FAST:
            return 1
        # A pull that asks for more than a pass has gives nothing, and the pass may end right after what has been read.
        return max(1, min(reader.elements // 4, math.ceil(_PULL / seconds)))

    def _account(self, share):
        look = self.look
        at_a_time = max(look.threads.count.values(), default=1)
        sequential = at_a_time / look.rate <= self.seconds * share
        with contextlib.suppress(NotCopied, Unclear):
            look.costs = self._costs(self.last, share * self.seconds, sequential)
            look.waits = self._waiting(look.costs, sequential)

    def _costs(self, node, seconds, sequential=True, cached=None):
        dataset, left_out = accounting.one_thread(node, sequential=sequential, cached=cached)
        probe = Reader(dataset, again=True, accounts=True)
        with contextlib.suppress(Blocked, Failed):  # what came before tells enough
            probe.read(seconds / 4, self.deadline)
            each = self._each(1 / probe.rate if probe.rate > 0 else probe.first, probe)
            if each > 1:
                probe.close()
                probe = Reader(dataset, each, again=True, accounts=True)
            probe.read(3 * seconds / 4, self.deadline)
        probe.close()
        return accounting.costs(node, probe, left_out, sequential)

    def _waiting(self, costs, sequential):
        """The labels of the stages that mostly wait: found by looking at the pipeline up to each costly stage."""
        if costs.waiting < _WAITS * costs.total:
            return frozenset()
        costly = [node for node in self.nodes if costs.seconds.get(node.label, 0.0) > _CANDIDATE * costs.total]
        if len(costly) < 2:
            return frozenset(node.label for node in costly)
        found, before = set(), 0.0
        for node in costly:
            waiting = costs.waiting
            if node is not costly[-1]:
                part = self._costs(node, 0.1 * self.seconds, sequential)
                waiting = part.waiting * costs.elements.get(node.label, 1.0)
            if waiting - before > costs.seconds[node.label] / 2:
                found.add(node.label)
            before = max(before, waiting)
        return frozenset(found)

    def _behind(self, cache):
        """Fill a cache of our own with some elements, and look at what is behind it."""
        look = self.look
        folder = tempfile.mkdtemp(prefix="analyse-") if cache.cache_file else None
        try:
            cached = self._filled(cache, folder)
            dataset = copies.fresh(self.last, lambda node, inputs: cached if node is cache else None)
            look.first_epoch = look.rate
            dataset = dataset.with_options(self.options)
            reader = Reader(dataset).read(0.08 * self.seconds, self.deadline)
            self._note(self._steady(dataset, reader, 0.17 * self.seconds))
            look.stored = frozenset(each.label for each in upstream(cache))
            with contextlib.suppress(Unclear):
                look.cached_costs = self._costs(self.last, 0.15 * self.seconds, cached=(cache.label, cached))
        except NotCopied as error:
            look.notes.append(f"{error}: what is behind the cache could not be looked at apart.")
        finally:
            if folder:
                shutil.rmtree(folder, ignore_errors=True)

    def _filled(self, cache, folder):
        look = self.look
        counted = look.costs.elements
        per_output = next((counted[each.label] for each in reversed(upstream(cache)) if each.label in counted), 1.0)
        outputs = max(1.0, 0.2 * self.seconds * look.rate)
        source = copies.fresh(cache.inputs[0], _without_cache).take(math.ceil(outputs * per_output))
        name = {"filename": f"{folder}/cache"} if folder else {}
        cached = copies.remade(cache, [source], **name)
        Reader(cached.with_options(self.options)).read(0, self.deadline, least=math.inf).close()
        return cached.repeat()


def _without_cache(node, inputs):
    """A look that ends early would leave a cache half full; it goes without, as the first epoch nearly does."""
    return inputs[0] if node.kind == "cache" else None
