"""The TensorFlow side: devices, data, models and the step.

Importing this package imports TensorFlow, quietly. It must come before any `import tensorflow`
of a notebook, or TensorFlow's start-up lines land in the learner's first cell.
"""

from labutils.train._quiet import import_tensorflow as _import_tensorflow

_import_tensorflow()
