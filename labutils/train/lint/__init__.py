"""A linter for a mirrored training job: what is wrong with it, said before it runs or after it failed.

`check_training` looks at the objects and the numbers of a job, `check_update_scale` takes one step to see how far
it goes, `explain` puts a raw exception into words. A finding names the trap of the registry it belongs to.
"""

from labutils.train.lint.batches import BatchShare, split_batch
from labutils.train.lint.check import check_training
from labutils.train.lint.exceptions import explain, recognise
from labutils.train.lint.finding import Finding
from labutils.train.lint.scale import check_update_scale

__all__ = ["BatchShare", "Finding", "check_training", "check_update_scale", "explain", "recognise", "split_batch"]
