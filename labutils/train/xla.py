"""Programs that XLA has made: how many kernels they are, and their text, short enough to be read."""

import re
from dataclasses import dataclass

import tensorflow as tf

_INSTRUCTION = re.compile(
    r"^\s*(?P<root>ROOT )?%?(?P<name>[\w.\-]+) = (?P<type>\(.*?\)|\S+) (?P<op>[\w\-]+)\((?P<of>[^)]*)\)"
)
_COMPUTATION = re.compile(r"^(?P<entry>ENTRY )?%?(?P<name>[\w.\-]+) \(.*\{\s*$")
#: Instructions that name or hand on values: nothing runs for them.
_FREE = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "broadcast", "iota", "reshape"}


@dataclass(frozen=True)
class Instruction:
    """One line of a program: its `name`, the `operation`, the `type` it gives, and what it is made `of`."""

    name: str
    operation: str
    type: str
    of: str
    root: bool


@dataclass(frozen=True)
class Program:
    """A program: `entry`, its instructions in order, and `fused`, {name: instructions} of what runs as one kernel."""

    entry: tuple[Instruction, ...]
    fused: dict

    @property
    def kernels(self):
        """The instructions of the entry that something runs for."""
        return [each for each in self.entry if each.operation not in _FREE]

    def operations(self, kernel):
        """The names of the operations that run in this kernel: those fused into it, or its own."""
        called = self._called(kernel)
        return [each.operation for each in called if each.operation not in _FREE] or [kernel.operation]

    def _called(self, kernel):
        if kernel.operation not in ("fusion", "call"):
            return ()
        inside = self.fused.get(kernel.of, ())
        nested = [each for part in inside for each in self._called(part)]
        return [part for part in inside if part.operation not in ("fusion", "call")] + nested

    def __repr__(self):
        count = len(self.kernels)
        lines = [f"{count} kernel{'s' if count != 1 else ''}"]
        for number, kernel in enumerate(self.kernels, start=1):
            inside = self.operations(kernel)
            counts = {name: inside.count(name) for name in dict.fromkeys(inside)}
            told = ", ".join(name if many == 1 else f"{many} x {name}" for name, many in counts.items())
            lines.append(f"  {number}. {kernel.type.partition('{')[0]}  {told}")
        return "\n".join(lines)


def program(fn, *arguments):
    """The Program that XLA makes of a `tf.function` with jit_compile=True for these arguments.

    TypeError for a function that is not compiled by XLA; ValueError where XLA cannot compile it, with its reason.
    """
    if not getattr(fn, "_jit_compile", False):
        raise TypeError("Only a tf.function with jit_compile=True is compiled by XLA.")
    try:
        text = fn.experimental_get_compiler_ir(*arguments)(stage="optimized_hlo")
    except (ValueError, TypeError, tf.errors.OpError) as error:
        raise ValueError(f"XLA cannot compile this: {str(error).strip().splitlines()[0]}") from None
    return parse(text)


def parse(text):
    """The Program in a text of HLO."""
    parts, entry, current = {}, "", None
    for line in text.splitlines():
        opened = _COMPUTATION.match(line)
        if opened:
            current = parts.setdefault(opened["name"], [])
            entry = opened["name"] if opened["entry"] else entry
        elif line.startswith("}"):
            current = None
        elif current is not None and (found := _INSTRUCTION.match(line)):
            called = re.search(r"(?:calls|to_apply)=%?([\w.\-]+)", line)
            of = called[1] if called else found["of"]
            current.append(Instruction(found["name"], found["op"], found["type"], of, bool(found["root"])))
    return Program(tuple(parts.pop(entry, ())), {name: tuple(each) for name, each in parts.items()})
