"""Keeps TensorFlow's chatter out of a notebook: native lines, Python loggers, warnings it prints on stdout."""

import contextlib
import logging
import os
import sys
import tempfile


@contextlib.contextmanager
def silenced_stderr():
    """Send file descriptor 2 to a temporary file; on an exception, add its tail to the exception's notes.

    TensorFlow's C++ side writes to the descriptor itself, before any log level applies, so neither
    `contextlib.redirect_stderr` nor an environment variable reaches those lines.
    """
    with tempfile.TemporaryFile() as caught:
        sys.stderr.flush()
        kept = os.dup(2)
        os.dup2(caught.fileno(), 2)
        try:
            yield
        except Exception as error:
            caught.seek(0)
            tail = caught.read().decode(errors="replace").strip().splitlines()[-5:]
            if tail:
                error.add_note("TensorFlow wrote: " + " | ".join(tail))
            raise
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def import_tensorflow():
    """Import TensorFlow with every channel quiet; errors stay audible. Returns the module."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # native info and warnings off, errors on
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    with silenced_stderr():
        import tensorflow as tf

    # "INFO:tensorflow:Using MirroredStrategy ..." would be stored in a cell's output.
    tf.get_logger().setLevel(logging.ERROR)
    logging.getLogger("absl").setLevel(logging.ERROR)
    tf.autograph.set_verbosity(0)
    return tf
