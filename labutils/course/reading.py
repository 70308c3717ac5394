"""Reads the code of a notebook's cells without running it: what it imports, calls and states, what a thread prints."""

import ast
import builtins
import re

PRINTING = {"print", "display"}
QUESTIONS = {"predict", "reveal"}
PLAIN = set(dir(builtins)) | {"keys", "values", "items", "get"}  # picks a value out of what there is already
CHECKS = re.compile(r"ch\d\d$")


def tree_of(cell):
    """A code cell's syntax tree; magics become the calls that IPython makes of them."""
    from IPython.core.inputtransformer2 import TransformerManager

    return ast.parse(TransformerManager().transform_cell(cell.source))


def is_ignored(cell):
    """Whether the comparison with the stored output leaves this cell out."""
    return "nbval-ignore-output" in cell.metadata.get("tags", [])


def imports(tree):
    """The modules that are imported, in order."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    names = []
    for node in sorted(nodes, key=lambda node: node.lineno):
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
    return names


def called_names(tree):
    """The last part of the name of everything that is called."""
    return {_name(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}


def functions_in(tree):
    """Functions and methods by name, and lambdas that were given one."""
    found = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
            found |= {target.id: node.value for target in node.targets if isinstance(target, ast.Name)}
    return found


def states_something(cell):
    """Whether a compared cell says what must hold: an assertion, a truth value shown, or a check's verdict."""
    if is_ignored(cell):
        return False
    tree = tree_of(cell)
    if any(isinstance(node, ast.Assert) for node in ast.walk(tree)):
        return True
    shown = [node.value for node in tree.body if isinstance(node, ast.Expr) and _is_shown(node, tree.body[-1])]
    parts = [part for value in shown for part in ast.walk(value)]
    return any(isinstance(part, ast.Compare) or _is_verdict(part) for part in parts)


def asks_only(cell):
    """Whether a cell only asks for a prediction, or only reveals one: it measures and draws nothing."""
    names = called_names(tree_of(cell))
    return bool(QUESTIONS & names) and names <= QUESTIONS | PLAIN


def reachable_calls(tree, known, through):
    """The names called, at any depth, by what is handed to `through(function, ...)`; `known` are functions by name."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func) == through and node.args:
            names |= {name for part in _bodies(node.args[0], known) for name in called_names(part)}
    return names


def stray_output(tree, known=None):
    """(line, sentence) of every thread that prints; `known` are functions defined elsewhere."""
    known = (known or {}) | functions_in(tree)
    for line, function in _started(tree):
        for part in _bodies(function, known):
            if PRINTING & called_names(part) or _writes_to_stdout(part):
                sentence = "A thread prints: it lands under another cell. Let it fill a list that the cell reads."
                yield line, sentence
                break


def loose_sliders(tree):
    """The lines of sliders that would redraw while they move."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func).endswith("Slider"):
            settings = {keyword.arg: keyword.value for keyword in node.keywords}
            if getattr(settings.get("continuous_update"), "value", True) is not False:
                yield node.lineno


def _started(tree):
    """(line, function) of everything that a thread is started with."""
    pools = _pools(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and any(_name(base) == "Thread" for base in node.bases):
            yield from ((item.lineno, item) for item in node.body if getattr(item, "name", "") == "run")
        if not isinstance(node, ast.Call):
            continue
        if _name(node.func) in ("Thread", "Timer"):
            named = [keyword.value for keyword in node.keywords if keyword.arg in ("target", "function")]
            yield from ((node.lineno, function) for function in [*named, *node.args[1:2]])
        elif _name(node.func) in ("submit", "map") and node.args and _receiver(node.func) in pools:
            yield node.lineno, node.args[0]


def _pools(tree):
    """The names under which thread pools are known; None stands for one that was used where it was made."""
    names = {None}
    for node in ast.walk(tree):
        if isinstance(node, ast.withitem) and _makes_pool(node.context_expr):
            names.add(_name(node.optional_vars))
        if isinstance(node, ast.Assign) and _makes_pool(node.value):
            names |= {_name(target) for target in node.targets}
    return names


def _makes_pool(node):
    return isinstance(node, ast.Call) and _name(node.func) == "ThreadPoolExecutor"


def _receiver(function):
    value = getattr(function, "value", None)
    return None if _makes_pool(value) else _name(value) or "something"


def _bodies(function, known):
    """A function's syntax and that of all it calls by a known name."""
    waiting, seen = [function], []
    while waiting:
        part = waiting.pop()
        part = known.get(_name(part), part) if isinstance(part, (ast.Name, ast.Attribute)) else part
        if part in seen:
            continue
        seen.append(part)
        if not isinstance(part, (ast.Name, ast.Attribute)):
            waiting += [known[name] for name in called_names(part) if name in known]
            # partial(work, 3) hands on a function that it does not call by name
            handed = part.args if isinstance(part, ast.Call) else []
            waiting += [argument for argument in handed if _is_known(argument, known)]
    return seen


def _is_known(node, known):
    return isinstance(node, (ast.Name, ast.Attribute)) and _name(node) in known


def _writes_to_stdout(tree):
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    return any(node.attr in ("stdout", "stderr") and _name(node.value) == "sys" for node in nodes)


def _is_shown(node, last):
    return node is last or (isinstance(node.value, ast.Call) and _name(node.value.func) in PRINTING)


def _is_verdict(node):
    """`ch01.check(...)` or anything with `.require()`."""
    if not isinstance(node, ast.Call):
        return False
    return _name(node.func) == "require" or bool(CHECKS.match(_receiver(node.func) or ""))


def _name(node):
    if isinstance(node, ast.Attribute):
        return node.attr
    return getattr(node, "id", "")
