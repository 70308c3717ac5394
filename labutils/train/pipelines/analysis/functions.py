"""What the function of a stage does: its name, whether it calls Python, draws at random, changes variables."""

import functools
from dataclasses import dataclass

_PYTHON = {"PyFunc", "PyFuncStateless", "EagerPyFunc"}
_DRAWS = {  # operations that keep a random state of their own
    "Multinomial",
    "ParameterizedTruncatedNormal",
    "RandomGamma",
    "RandomPoisson",
    "RandomPoissonV2",
    "RandomShuffle",
    "RandomStandardNormal",
    "RandomUniform",
    "RandomUniformInt",
    "SampleDistortedBoundingBox",
    "SampleDistortedBoundingBoxV2",
    "TruncatedNormal",
}
_IDLE = {"Const", "Identity", "NoOp", "Placeholder"}
_WRITES = {"AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp", "RngReadAndSkip", "RngSkip"}
_COUNTED_DRAWS = {"RngReadAndSkip", "RngSkip", "StatefulUniform", "StatefulStandardNormalV2", "StatefulUniformInt"}


@dataclass(frozen=True)
class Function:
    """`operations` are the types of all operations in it, those of functions that it calls and nested datasets too.

    size: how many operations there are, without constants and the like
    draws: it draws random numbers that no element determines
    repeats: it does so from a fixed seed, which starts anew with every iterator: each epoch draws the same
    variables: those that it captured and changes
    captures_dataset: a dataset from outside is read within it
    """

    name: str
    operations: frozenset = frozenset()
    size: int = 0
    draws: bool = False
    repeats: bool = False
    variables: tuple = ()
    captures_dataset: bool = False

    @property
    def python(self):
        """True where it calls back into Python, as `numpy_function` and `py_function` do."""
        return bool(self.operations & _PYTHON)


def describe(wrapper):
    """The Function of one of TensorFlow's StructuredFunctionWrapper; only its name where it cannot be read."""
    name = name_of(getattr(wrapper, "_func", None))
    try:
        graph = wrapper.function.graph
        nodes = list(_operations(graph))
        kinds = frozenset(kind for kind, _ in nodes)
        writes = bool(kinds & _WRITES)
        # Keras' layers draw without state from a seed that they count up in a variable.
        counted = bool(kinds & _COUNTED_DRAWS) or (writes and any(kind.startswith("StatelessRandom") for kind in kinds))
        own = [seeded for kind, seeded in nodes if kind in _DRAWS]
        captured = any(tensor.dtype.name == "variant" for tensor in wrapper.function.captured_inputs)
        return Function(
            name=name,
            operations=kinds,
            size=sum(kind not in _IDLE for kind, _ in nodes),
            draws=bool(own) or counted,
            repeats=bool(own) and all(own) and not counted,
            variables=tuple(graph.variables) if writes or kinds & _COUNTED_DRAWS else (),
            captures_dataset=captured,
        )
    except Exception:  # TensorFlow's own objects, which may change their names: better a poorer report than none
        return Function(name)


def name_of(function):
    """What a reader calls it: `decode`, `lambda`, or the class of an object that can be called."""
    if isinstance(function, functools.partial):
        return name_of(function.func)
    name = getattr(function, "__name__", None) or type(function).__name__
    return name.strip("<>")


def generator_name(wrapper):
    """The name of the generator behind `from_generator`, dug out of its closures; "" where it is not found."""
    pending, seen = [getattr(wrapper, "_func", None)], set()
    while pending:
        function = pending.pop()
        for cell in getattr(function, "__closure__", None) or ():
            try:
                content = cell.cell_contents
            except ValueError:
                continue
            if hasattr(content, "_generator"):
                return name_of(content._generator)
            if callable(content) and id(content) not in seen:
                seen.add(id(content))
                pending.append(content)
    return ""


def _operations(graph):
    """(type, whether it has a fixed seed) of every operation of the graph and of the functions it calls."""
    for operation in graph.get_operations():
        drawn = operation.type in _DRAWS
        yield operation.type, drawn and bool(operation.get_attr("seed") or operation.get_attr("seed2"))
    for function in graph._functions.values():
        for node in function.cached_definition.node_def:
            yield node.op, bool(node.attr["seed"].i or node.attr["seed2"].i) if node.op in _DRAWS else False
