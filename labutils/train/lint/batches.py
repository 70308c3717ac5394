"""How batches are split over replicas and how many are delivered. Arithmetic only."""

import math
from dataclasses import dataclass

from labutils.train.lint.finding import Finding, listed


@dataclass(frozen=True)
class BatchShare:
    """How a batch is split over replicas, and what that does to its gradient in Keras.

    `factors` holds, for each replica, what one of its rows weighs against what it should: Keras divides each
    replica's mean by the number of replicas, however many rows the replica has. `factor` is their sum over rows.
    """

    split: tuple[int, ...]

    @property
    def rows(self):
        """Rows in the whole batch."""
        return sum(self.split)

    @property
    def factors(self):
        """What a row on each replica weighs, 1.0 where it is right and 0.0 where there are no rows."""
        return tuple(self.rows / (len(self.split) * rows) if rows else 0.0 for rows in self.split)

    @property
    def factor(self):
        """What the whole batch's gradient weighs: the share of the replicas that have rows."""
        return sum(rows > 0 for rows in self.split) / len(self.split)


def split_batch(rows, replicas):
    """How TensorFlow splits a batch: equal parts, rounded up, until the rows run out.

    >>> split_batch(2, 4).split, split_batch(2, 4).factor
    ((1, 1, 0, 0), 0.5)
    """
    part = math.ceil(rows / replicas)
    return BatchShare(tuple(max(0, min(part, rows - part * replica)) for replica in range(replicas)))


def tail_of(samples, batch_size, replicas, drop_remainder):
    """The share of the last batch, or None when it is as large as the others or dropped."""
    if not samples or not batch_size or drop_remainder or samples % batch_size == 0:
        return None
    return split_batch(samples % batch_size, replicas)


def check_batches(samples, batch_size, replicas, tail, drop_remainder):
    findings = []
    first = min(batch_size or 0, samples or batch_size or 0)
    if first % replicas and not (drop_remainder and first < batch_size):
        down = batch_size // replicas * replicas
        findings.append(
            Finding(
                "uneven-first-batch",
                f"The first batch has {first} rows, which {replicas} replicas cannot share equally "
                f"({listed(split_batch(first, replicas).split)}): fit stops with an AddN shape error.",
                f"Take a global batch that {replicas} divides, such as {down or replicas}.",
                "uneven-first-batch",
            )
        )
    if tail and (tail.rows % replicas):
        findings.append(_uneven_tail(tail, replicas))
    return findings


def _uneven_tail(tail, replicas):
    weights = [factor for factor in tail.factors if factor]
    if tail.factor < 1:
        effect = f"gradients under-weighted x{tail.factor:g}"
    else:
        effect = f"its rows are weighted x{min(weights):.3g} to x{max(weights):.3g}"
    empty = tail.split.count(0)
    without = f" {empty} of the replicas {'gets' if empty == 1 else 'get'} no rows." if empty else ""
    return Finding(
        "uneven-last-batch",
        f"last batch of {tail.rows} over {replicas} replicas ({listed(tail.split)}): {effect}; "
        f"the loss displayed does not reveal it.{without}",
        f"Batch with drop_remainder=True, or make the number of rows divisible by {replicas}.",
        "uneven-last-batch",
    )


def check_delivery(samples, batch_size, steps, epochs, drop_remainder, repeat):
    if not (samples and batch_size and steps) or repeat:
        return []
    batches = samples // batch_size if drop_remainder else math.ceil(samples / batch_size)
    delivered, asked = _delivered(batches, steps, epochs), steps * epochs
    if delivered == asked:
        return []
    return [
        Finding(
            "input-ran-out",
            f"{asked} batches are expected ({steps} steps x {epochs} epochs) and {delivered} delivered: {samples} rows "
            f"give {batches} batches of {batch_size}. The epochs are shown as complete.",
            f"Set steps_per_epoch={batches}, and repeat() the dataset.",
            "input-ran-out",
        )
    ]


def _delivered(batches, steps, epochs):
    """Keras goes on where the last epoch stopped, and starts the data again once it has run out."""
    run, left = 0, batches
    for _ in range(epochs):
        run, left = run + min(steps, left), left - min(steps, left)
        left = left or batches
    return run
