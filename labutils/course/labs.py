"""Makes a lab from its solution: cells tagged `solution` become stubs, outputs and answers go."""

import ast
import copy
import re
from pathlib import Path

import nbformat

STUB = "..."
YOUR_TURN = "  # your turn"
FLAT = re.compile(r"= \((\.\.\.(?:, \.\.\.)+)\)$")  # a, b = (..., ...) reads better without its brackets


def lab_from(solution):
    """The lab notebook of a solution notebook; the solution is left as it is.

    Raises ValueError for a solution without any cell tagged `solution`: it would give its answers away.
    """
    lab = copy.deepcopy(solution)
    stubs = 0
    lab.cells = [cell for cell in lab.cells if "solution-only" not in tags(cell)]
    for cell in lab.cells:
        if cell.cell_type != "code":
            continue
        cell.outputs, cell.execution_count = [], None
        if "solution" in tags(cell):
            cell.source = stub(cell.source)
            cell.metadata["tags"] = [tag for tag in tags(cell) if tag != "solution"]
            stubs += 1
        cell.source = cell.source.replace(".require()", "")  # a lab says "not yet" where a solution must be right
        if not cell.metadata.get("tags"):
            cell.metadata.pop("tags", None)
    if not stubs:
        raise ValueError("No cell of this solution has the tag 'solution', so its lab would have nothing to do.")
    return lab


def stub(source):
    """The source of a solution cell without its answers.

    Imports, comments between statements, the heads of functions and classes and their docstrings stay; a function's
    body and the value of an assignment become `...`; other statements go.
    """
    lines = source.splitlines()
    kept, done = [], 0
    for node in ast.parse(source).body:
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        kept += [line for line in lines[done : first - 1] if not line.strip() or line.startswith("#")]
        kept += _stubbed(node, lines)
        done = node.end_lineno
    return "\n".join(kept).strip("\n")


def _stubbed(node, lines, indent=""):
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        shared = ";" in lines[node.end_lineno - 1]  # what follows on the same line may be an answer
        return [indent + ast.unparse(node)] if shared else lines[node.lineno - 1 : node.end_lineno]
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return [*_head(node, lines), f"{indent}    {STUB}{YOUR_TURN}"]
    if isinstance(node, ast.ClassDef):
        members = []
        for member in node.body:
            if part := _stubbed(member, lines, indent + "    "):
                members += ["", *part] if isinstance(member, ast.FunctionDef) else part
        return [*_head(node, lines), *(members or [f"{indent}    {STUB}{YOUR_TURN}"])]
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        shape = next((target for target in targets if isinstance(target, (ast.Tuple, ast.List))), None)
        blank = copy.copy(node)
        blank.value = _blanks(shape)
        return [indent + FLAT.sub(r"= \1", ast.unparse(blank)) + YOUR_TURN]
    return []


def _head(node, lines):
    """The lines of a function or class before its first statement, with its docstring and without its comments."""
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    body = node.body[0]
    if isinstance(body, ast.Expr) and isinstance(getattr(body.value, "value", None), str):
        return lines[first - 1 : body.end_lineno]
    if body.lineno == node.lineno:  # all on one line
        head = lines[node.lineno - 1].encode()[: body.col_offset].decode()  # offsets count bytes
        return [*lines[first - 1 : node.lineno - 1], head.rstrip()]
    head = lines[first - 1 : body.lineno - 1]
    while not head[-1].strip() or head[-1].strip().startswith("#"):
        head.pop()
    return head


def _blanks(target):
    """As many `...` as the target of an assignment unpacks."""
    if isinstance(target, (ast.Tuple, ast.List)):
        return ast.Tuple([_blanks(part) for part in target.elts], ast.Load())
    return ast.Constant(...)


def tags(cell):
    """A cell's tags."""
    return list(cell.metadata.get("tags", []))


def generate(root):
    """Write the lab of every solution under `root`/solutions into `root`/labs; returns the paths written."""
    written = []
    for path in sorted(Path(root, "solutions").glob("*_lab.ipynb")):
        lab = lab_from(nbformat.read(path, as_version=4))
        target = Path(root, "labs", path.name)
        target.parent.mkdir(exist_ok=True)
        write(lab, target)
        written.append(target)
    return written


def write(notebook, path):
    """Write a notebook with a stable form: the same content gives the same bytes."""
    text = nbformat.writes(notebook, version=4)
    Path(path).write_text(text if text.endswith("\n") else text + "\n", encoding="utf-8")
