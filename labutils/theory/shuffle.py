"""What a shuffle buffer does to the order of the data."""

import numpy as np

from labutils.theory import checks


def shuffle_order(samples, buffer, seed=0):
    """The order in which `samples` elements leave a shuffle buffer of `buffer` elements: an array of their places.

    tf.data's rule (Dataset.shuffle): fill the buffer, then hand out one of its elements at random and put the next
    one in its place. So an element leaves at most `buffer` - 1 places early. ValueError for counts below one.
    """
    samples = checks.count("samples", samples, "count the elements of the dataset")
    size = min(samples, checks.count("buffer", buffer, "count the elements that the buffer holds"))
    random = np.random.default_rng(seed)
    held, left = list(range(size)), []
    for following, slot in zip(range(size, samples), random.integers(size, size=samples - size), strict=True):
        left.append(held[slot])
        held[slot] = following
    return np.array(left + list(random.permutation(held)))
