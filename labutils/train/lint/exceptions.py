"""What a raw exception means."""

import inspect
import re

from labutils.train.lint.check import check_training
from labutils.train.lint.finding import Finding

# (type, pattern in the message, trap, sentence). The first that fits is taken.
_KNOWN = (
    (
        "InternalError",
        r"joining a group with size\s*(\d+), but that group has size (\d+)",
        "replica-count-changed",
        "The replica count changed in this process: the all-reduce group has {1} replicas, and now {0} want to join. "
        "Restart the kernel, or use devices.mirrored, which may change its count freely.",
    ),
    (
        "CancelledError",
        r"Function was cancelled before it was started",
        "replica-count-changed",
        "An all-reduce was aborted before this step began: most likely the replica count changed in this process. "
        "Restart the kernel, or use devices.mirrored, which may change its count freely.",
    ),
    (
        "RuntimeError",
        r"Virtual devices cannot be modified",
        "devices-too-late",
        "TensorFlow had already started when the devices were asked for. Restart the kernel and run the first cell "
        "first; until then there is one replica, whatever the later cells say.",
    ),
    (
        "RuntimeError",
        r"Mixing different tf\.distribute\.Strategy objects",
        "optimizer-outside-scope",
        "The optimizer was created outside the strategy's scope, by itself or by a compile() outside. Create it, and "
        "call compile(), inside `with strategy.scope():`.",
    ),
    (
        "RuntimeError",
        r'Need to be inside "with strategy\.scope\(\)"',
        "model-outside-scope",
        "The model was created outside the strategy's scope, or the optimizer was built outside. Create the model, and "
        "build the optimizer, inside `with strategy.scope():`.",
    ),
    (
        "ValueError",
        r"`?colocate_vars_with`? must only be passed a variable created in this",
        "model-outside-scope",
        "The model was created outside the strategy's scope. Create it inside `with strategy.scope():`.",
    ),
    (
        "InvalidArgumentError",
        r"Trying to access resource .* located in device",
        "jit-compile-mirrored",
        'jit_compile=True does not work under a strategy. Drop jit_compile (leave it at "auto"); keep the strategy, '
        "and keep the precision policy if you set one.",
    ),
    (
        "InvalidArgumentError",
        r"Inputs to operation AddN.* must have the same size and shape",
        "uneven-first-batch",
        "The replicas cannot share the first batch equally. Take a global batch that the number of replicas divides.",
    ),
    (
        "AttributeError",
        r"has no attribute 'get_(scaled_loss|unscaled_gradients)'",
        "get-scaled-loss-gone",
        "Keras 3 has optimizer.scale_loss(loss) instead; apply_gradients unscales the gradients itself.",
    ),
    (
        "AlreadyExistsError",
        r"Another profiler is running",
        "second-profiler",
        "A profiler is running in this process already, most likely left on by an interrupted cell. Call "
        "tf.profiler.experimental.stop() once, and profile again.",
    ),
    (
        "AttributeError",
        r"has no attribute 'reset_states'",
        "reset-states-gone",
        "In Keras 3 it is reset_state(), without the s.",
    ),
    (
        "ImportError",
        r"keras\.optimizers\.legacy` is not supported",
        "legacy-optimizers-gone",
        "Keras 3 has no legacy optimizers. Take the one of the same name from keras.optimizers.",
    ),
    (
        "ValueError",
        r"Invalid filepath extension for saving",
        "save-without-extension",
        "model.save wants an extension in Keras 3: save to a name that ends in .keras.",
    ),
)


def recognise(exception, **job):
    """The `Finding` that an exception of TensorFlow or Keras amounts to, or None. See `explain`."""
    for error in _chain(exception):
        for kind, pattern, trap, sentence in _KNOWN:
            found = re.search(pattern, str(error), re.DOTALL)
            if found and kind in (one.__name__ for one in inspect.getmro(type(error))):
                named = _outside(job) if trap.endswith("-outside-scope") else None
                if named:
                    return named
                what, _, how = sentence.format(*found.groups()).partition(". ")
                return Finding(trap, f"{what}.", how, trap)
    return None


def _outside(job):
    """The object at hand that was created outside the scope: the message itself does not tell which it was."""
    findings = check_training(**job) if job else []
    return next((finding for finding in findings if finding.name.endswith("-outside-scope")), None)


def explain(exception, **job):
    """What an exception of TensorFlow or Keras means and what to do, in one or two sentences; None when unknown.

    Give `model=`, `optimizer=` or `strategy=` as for `check_training`, and an object that was created outside the
    scope is named.
    """
    finding = recognise(exception, **job)
    return str(finding) if finding else None


def _chain(exception):
    """The exception and those it came from, each once."""
    seen = []
    while exception is not None and exception not in seen:
        seen.append(exception)
        exception = exception.__cause__ or exception.__context__
    return seen
