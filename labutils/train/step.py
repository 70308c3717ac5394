"""The data-parallel step, built from its four phases, to be run whole or phase by phase."""

from dataclasses import dataclass
from functools import partial

import keras
import tensorflow as tf

from labutils.train.phase_clock import Lane, PhaseClock, stamped

PHASES = ("split", "compute", "all-reduce", "update")


@dataclass(frozen=True)
class PhaseTimes:
    """One step, timed phase by phase with every device synchronised in between.

    `split`, `compute`, `all_reduce` and `update` are seconds on the host's clock; `lanes` says when each
    replica was really at work inside them; `loss` is the global batch's mean loss before the update.
    """

    split: float
    compute: float
    all_reduce: float
    update: float
    loss: float
    lanes: tuple[Lane, ...]

    @property
    def seconds(self):
        """The phases by name, in order, in seconds."""
        return dict(zip(PHASES, (self.split, self.compute, self.all_reduce, self.update), strict=True))

    @property
    def total(self):
        """The sum of the four phases in seconds; a whole step is usually shorter: it waits once, not after each."""
        return self.split + self.compute + self.all_reduce + self.update


def typical(times):
    """The step of median length among several `PhaseTimes`: one that really happened, lanes and all."""
    if not times:
        raise ValueError("typical() needs at least one timed step. Call run_by_phase a few times first.")
    return sorted(times, key=lambda one: one.total)[(len(times) - 1) // 2]


class FourPhaseStep:
    """A training step as the field describes it: split, compute, all-reduce, update.

    `model` and `optimizer` must be created under `strategy.scope()`; `loss` is a Keras loss or a function
    of (labels, predictions) that returns one value per example. Each replica divides its summed loss by the
    *global* batch, so that the sum of the gradients over replicas is the gradient of the global mean, even
    where the batch splits unevenly.
    Raises ValueError for objects made outside the scope, for a scalar loss and for batches that do not fit.
    """

    def __init__(self, model, optimizer, loss, strategy):
        self.model, self.optimizer, self.strategy = model, optimizer, strategy
        self._loss = _per_example(keras.losses.get(loss))
        _check_scope(model, optimizer, strategy)
        with strategy.scope():
            optimizer.build(model.trainable_variables)
        self._weights = [variable.value for variable in model.trainable_variables]
        phases = dict(zip(PHASES, (self._split, self._compute, self._all_reduce, self._update), strict=True))
        self._pieces = {name: _compiled(partial(phase, self._stamping)) for name, phase in phases.items()}
        self._whole = _compiled(self._all_phases)
        self._rehearsed = set()

    def run(self, batch):
        """Train on one global batch (x, y) in one compiled piece; returns its mean loss, a float32 scalar."""
        return self._whole(*self._checked(batch))

    def run_by_phase(self, batch):
        """Train on one global batch (x, y), timing each phase with the devices synchronised; returns PhaseTimes.

        The first batch of a shape is rehearsed and undone before the clock starts: its times are a step's,
        not those of tracing and of first calls.
        """
        x, y = self._checked(batch)
        self._rehearse(x, y)
        clock = PhaseClock(self.strategy)
        losses = self._phase_by_phase(x, y, clock)
        loss = float(self.strategy.reduce("SUM", losses, axis=None))
        return PhaseTimes(*(clock.seconds[phase] for phase in PHASES), loss, tuple(clock.lanes))

    # The four phases. `on_replicas(work, *arguments)` runs `work` on every replica and returns (results, stamps).

    def _split(self, on_replicas, x, y):
        """Phase 1: give each replica its own share of the global batch, near-equal and in order."""
        replicas = self.strategy.num_replicas_in_sync
        return on_replicas(_take_mine, _shares(x, replicas), _shares(y, replicas))

    def _compute(self, on_replicas, x, y, global_batch):
        """Phase 2: forward and backward on every replica's share; gives its gradients and its part of the loss."""

        def forward_and_backward(x, y):
            with tf.GradientTape() as tape:
                predictions = self.model(x, training=True)
                loss = tf.reduce_sum(self._loss(y, predictions)) / tf.cast(global_batch, tf.float32)
                # Each replica would add the whole penalty: one share each makes the sum right.
                penalty = sum(self.model.losses) / self.strategy.num_replicas_in_sync
                objective = loss + penalty
            gradients = tape.gradient(objective, self._weights)
            _check_gradients(gradients, self._weights)
            return gradients, objective

        return on_replicas(forward_and_backward, x, y)

    def _all_reduce(self, on_replicas, gradients):
        """Phase 3: sum the gradients over the replicas, so that each holds the gradient of the global batch."""

        def reduce(gradients):
            return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, gradients)

        return on_replicas(reduce, gradients)

    def _update(self, on_replicas, gradients):
        """Phase 4: every replica applies the same gradient to its own copy of the weights."""

        def apply(gradients):
            with _already_summed(self.optimizer):
                self.optimizer.apply(gradients, self.model.trainable_variables)
            return [tf.identity(weight) for weight in self._weights]  # read back: a stamp then comes after

        return on_replicas(apply, gradients)

    def _all_phases(self, x, y):
        on_replicas = self._plain
        shares, _ = self._split(on_replicas, x, y)
        (gradients, losses), _ = self._compute(on_replicas, *shares, _size(x))
        gradients, _ = self._all_reduce(on_replicas, gradients)
        self._update(on_replicas, gradients)
        return self.strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)

    def _plain(self, work, *arguments):
        return self.strategy.run(work, args=arguments), None

    def _stamping(self, work, *arguments):
        return self.strategy.run(stamped(work), args=arguments)

    def _phase_by_phase(self, x, y, clock):
        """Run the four compiled pieces under `clock`; returns each replica's part of the loss."""
        shares = clock.run("split", self._pieces["split"], x, y)
        gradients, losses = clock.run("compute", self._pieces["compute"], *shares, _size(x))
        gradients = clock.run("all-reduce", self._pieces["all-reduce"], gradients)
        clock.run("update", self._pieces["update"], gradients)
        return losses

    def _rehearse(self, x, y):
        """Run all pieces once for a batch of this shape, and put every variable back as it was."""
        key = (x.shape, x.dtype, y.shape, y.dtype)
        if key in self._rehearsed:
            return
        variables = [v.value for v in (*self.model.variables, *self.optimizer.variables)]
        copies = [copy for v in variables for copy in self.strategy.experimental_local_results(v)]
        kept = [copy.numpy() for copy in copies]
        try:
            self._phase_by_phase(x, y, PhaseClock(self.strategy))
        finally:
            for copy, value in zip(copies, kept, strict=True):
                copy.assign(value)
        self._rehearsed.add(key)

    def _checked(self, batch):
        try:
            x, y = batch
        except (TypeError, ValueError):
            raise ValueError(
                f"A batch is a pair (x, y) of inputs and labels, not {type(batch).__name__}. Pass step.run((x, y))."
            ) from None
        x, y = tf.convert_to_tensor(x), tf.convert_to_tensor(y)
        for name, part in (("x", x), ("y", y)):
            if part.shape.rank == 0 or part.shape[0] == 0:
                raise ValueError(f"{name} has shape {tuple(part.shape)}: a global batch needs at least one example.")
        if x.shape[0] != y.shape[0]:
            raise ValueError(f"x has {x.shape[0]} examples and y has {y.shape[0]}. Each example needs one label.")
        if x.shape[0] < self.strategy.num_replicas_in_sync:
            raise ValueError(
                f"A global batch of {x.shape[0]} leaves some of the {self.strategy.num_replicas_in_sync} replicas "
                "without an example. Use a larger batch, or drop the remainder."
            )
        return x, y


def _compiled(function):
    # No autograph: nothing here branches on a tensor, and errors then point at these lines.
    return tf.function(function, autograph=False, reduce_retracing=True)


def _shares(values, replicas):
    """Cut `values` along the batch into `replicas` near-equal parts; the first ones get one more."""
    size = _size(values)
    sizes = [(size + replicas - 1 - index) // replicas for index in range(replicas)]
    return tf.split(values, sizes, num=replicas)


def _take_mine(shares_x, shares_y):
    me = int(tf.get_static_value(tf.distribute.get_replica_context().replica_id_in_sync_group))
    return tf.identity(shares_x[me]), tf.identity(shares_y[me])


def _size(values):
    return tf.shape(values)[0]


class _already_summed:
    """Keras sums the gradients over replicas inside `apply`; phase 3 has done so, and twice would be too far."""

    def __init__(self, optimizer):
        self._optimizer = optimizer

    def __enter__(self):
        self._kept = self._optimizer._all_reduce_sum_gradients
        self._optimizer._all_reduce_sum_gradients = lambda pairs: pairs

    def __exit__(self, *_):
        self._optimizer._all_reduce_sum_gradients = self._kept


def _per_example(loss):
    """The loss as a function that gives one float32 value per example."""
    # A Keras loss object averages when it is called; its `call` is the part before that.
    values_of = loss.call if isinstance(loss, keras.losses.Loss) else loss

    def per_example(labels, predictions):
        values = tf.cast(values_of(labels, predictions), tf.float32)
        if values.shape.rank == 0:
            raise ValueError(
                "This loss returns one number for the whole share of a replica. Return one value per example "
                "instead: the step sums them and divides by the global batch."
            )
        return tf.reduce_mean(tf.reshape(values, [_size(values), -1]), axis=1) if values.shape.rank > 1 else values

    return per_example


def _check_scope(model, optimizer, strategy):
    if getattr(optimizer, "inner_optimizer", None) is not None:
        raise ValueError(
            "FourPhaseStep trains in one precision and does not scale the loss. "
            f"Pass the inner optimizer instead of {type(optimizer).__name__}."
        )
    if not model.built:
        raise ValueError("The model has no weights yet. Start it with keras.Input(...) so that they are created.")
    outside = [v.path for v in model.variables if not strategy.extended.variable_created_in_scope(v.value)]
    if outside:
        raise ValueError(
            f"The model was created outside this strategy's scope (its weight {outside[0]!r} was). "
            "Create it under `with strategy.scope():`."
        )
    if optimizer._distribution_strategy is not strategy:
        raise ValueError(
            f"The optimizer {optimizer.name!r} was created outside this strategy's scope. "
            "Create it under `with strategy.scope():`."
        )


def _check_gradients(gradients, weights):
    missing = [weight.name for gradient, weight in zip(gradients, weights, strict=True) if gradient is None]
    if missing:
        raise ValueError(
            f"The loss does not depend on {', '.join(missing)}. Freeze it (trainable=False) or use it in the model."
        )
