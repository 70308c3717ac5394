"""Makes a lab from its solution: cells tagged `solution` become stubs, outputs and answers go."""

import ast
import copy
from pathlib import Path

import nbformat

STUB = "..."
YOUR_TURN = "  # your turn"


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

    Imports, comments between statements, function signatures and docstrings stay; a function's body and the
    value of an assignment become `...`; other statements go.
    """
    lines = source.splitlines()
    kept, done = [], 0
    for node in ast.parse(source).body:
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        kept += [line for line in lines[done : first - 1] if not line.strip() or line.startswith("#")]
        kept += _stubbed(node, lines, first)
        done = node.end_lineno
    return "\n".join(kept).strip("\n")


def _stubbed(node, lines, first):
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return lines[first - 1 : node.end_lineno]
    if isinstance(node, ast.FunctionDef):
        head = node.body[0]
        documented = isinstance(head, ast.Expr) and isinstance(getattr(head.value, "value", None), str)
        end = head.end_lineno if documented else head.lineno - 1
        return [*lines[first - 1 : end], " " * head.col_offset + STUB + YOUR_TURN]
    if isinstance(node, ast.Assign):
        targets = " = ".join(ast.unparse(target) for target in node.targets)
        count = len(node.targets[0].elts) if isinstance(node.targets[0], ast.Tuple) else 1
        return [f"{targets} = {', '.join([STUB] * count)}{YOUR_TURN}"]
    return []


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
