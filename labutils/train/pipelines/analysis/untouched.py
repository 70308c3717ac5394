"""Leaves no trace of a look: puts back what functions of a pipeline have changed outside of it."""

import contextlib
import random

import numpy as np

_LARGEST = 1 << 20  # numbers in a variable that is kept: counters and random states are small


@contextlib.contextmanager
def untouched(nodes):
    """Keep the variables that the functions of the stages change, and the global random states of Python and NumPy."""
    variables = {id(each): each for node in nodes for function in node.functions for each in function.variables}
    kept = [(each, each.numpy()) for each in variables.values() if each.shape.num_elements() <= _LARGEST]
    python, numpy = random.getstate(), np.random.get_state()
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
        for variable, value in kept:
            variable.assign(value)


def traces(nodes):
    """Sentences about what a look may leave behind all the same."""
    python = [node.label for node in nodes if node.python]
    outside = [node.label for node in nodes if any(function.captures_dataset for function in node.functions)]
    found = []
    if python:
        found.append(
            f"The Python code of {', '.join(python)} was run for the look. What it changes by itself stays changed: a "
            "counter, a random generator of its own, a file or a socket that is read once."
        )
    if outside:
        found.append(
            f"{', '.join(outside)} reads a dataset made outside: if that one shuffles, its order goes on from where "
            "the look has left it."
        )
    return found
