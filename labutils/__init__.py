"""The shared package of Four Beats: what the chapters measure, draw and check with.

Importing it loads nothing heavy. TensorFlow comes in with `labutils.train`.
"""

__version__ = "0.1.0"
