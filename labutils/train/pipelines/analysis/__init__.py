"""What bounds anybody's tf.data pipeline, and what to try next: `analyse(dataset)`."""

from labutils.train.pipelines.analysis.analysis import Analysis, StageCost, analyse

__all__ = ["Analysis", "StageCost", "analyse"]
