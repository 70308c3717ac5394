"""Gradient accumulation: a large batch taken in pieces that fit the device, with one update at the end.

The gradient of a mean loss over a batch is the mean of its examples' gradients, so pieces of equal size may be
averaged and pieces of unequal size must be weighted by it. Layers that look across examples, such as batch
normalisation, see one piece at a time and do not come out the same.
"""

from dataclasses import dataclass

import numpy as np

from labutils.theory import checks


@dataclass(frozen=True)
class Accumulation:
    """A global batch as replicas * steps * micro_batch: `steps` pieces of `micro_batch` examples per replica.

    `caution` is a sentence where the pieces had to be smaller than the device allows, and empty otherwise.
    """

    replicas: int
    steps: int
    micro_batch: int
    caution: str = ""

    @property
    def global_batch(self):
        """Examples that one update is made of."""
        return self.replicas * self.steps * self.micro_batch


def accumulation(global_batch, largest_micro_batch, replicas=1):
    """Split `global_batch` evenly over replicas and then into the fewest equal pieces: an Accumulation.

    `largest_micro_batch` is what one device can take at once. ValueError, with the nearest batches that do,
    where the global batch does not divide by the replicas; and for numbers that are not whole from 1.
    """
    global_batch = checks.count("global_batch", global_batch, "give the examples that one update is made of")
    largest = checks.count("largest_micro_batch", largest_micro_batch, "give the examples that fit on one device")
    replicas = checks.count("replicas", replicas, "count the devices that share the batch")
    share, left_over = divmod(global_batch, replicas)
    if left_over:
        below = f"{share * replicas} or " if share else ""
        raise ValueError(
            f"global_batch is {global_batch}, which does not divide by {replicas} replicas, {left_over} examples are "
            f"left over: choose {below}{(share + 1) * replicas}."
        )
    fewest = -(-share // largest)
    steps = next(steps for steps in range(fewest, share + 1) if share % steps == 0)
    caution = ""
    if steps > fewest:
        even = fewest * largest * replicas
        caution = (
            f"{share} examples per replica do not divide into {fewest} equal pieces of at most {largest}, so it "
            f"takes {steps} of {share // steps}: a global batch of {even} would fill {fewest} pieces of {largest}."
        )
    return Accumulation(replicas, steps, share // steps, caution)


def mean_of_means(means, sizes=None):
    """The mean over all examples, from the means over pieces: gradients as arrays or losses as numbers.

    `sizes` are the examples in each piece and weight it; left out, the pieces are taken as equal. ValueError
    for no pieces, mixed lengths, or sizes that are not whole from 1.
    """
    means = [np.asarray(mean, float) for mean in means]
    if not means:
        raise ValueError("means must hold at least one piece, but it is empty: give the mean of each micro-batch.")
    if len({mean.shape for mean in means}) > 1:
        raise ValueError("means must all have one shape, but they differ: give the same gradient from each piece.")
    sizes = [1] * len(means) if sizes is None else list(sizes)
    if len(sizes) != len(means):
        raise ValueError(f"sizes must be one per piece, but there are {len(sizes)} for {len(means)}: give one each.")
    sizes = [checks.count("sizes", size, "count the examples in each piece") for size in sizes]
    return sum(size * mean for size, mean in zip(sizes, means, strict=True)) / sum(sizes)
