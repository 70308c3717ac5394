"""Options that keep tf.data from rewriting a pipeline: it adds stages and threads that nobody wrote."""

import tensorflow as tf


def nothing_added():
    """tf.data.Options without a prefetch at the end, threads for a plain `map` and fused stages; tuning as it was."""
    options = tf.data.Options()
    options.experimental_optimization.apply_default_optimizations = False
    options.experimental_optimization.inject_prefetch = False
    return options
