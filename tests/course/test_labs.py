"""A lab is its solution without the answers: it still runs, and it gives nothing away."""

import ast
import copy
from pathlib import Path

import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from labutils.course import labs

ROOT = Path(__file__).resolve().parents[2]
SOLUTIONS = sorted((ROOT / "notebooks/solutions").glob("*.ipynb"))
EXPRESSION = ["{0}", "f({0})", "[{0}, {0}]", "lambda x: x + {0}", "(\n    {0} +\n    {0}\n)", "'''{0}\n{0}'''"]
STATEMENT = [
    "import math",
    "from math import (\n    pi,\n    tau,\n)",
    "{name} = {value}",
    "{name}: float = {value}",
    "{name}, {name}_b = {value}, {value}",
    "{name}, ({name}_b, *{name}_c) = {value}, ({value}, 1)",
    "{name} = {name}_b, {name}_c = 1, {value}",
    "[{name}, {name}_b] = 1, {value}",
    "import math; {name} = {value}",
    "{name}_b = 1; {name} = {value}",
    "def {name}(x, y=1):\n    return {value}",
    "def {name}(x, y=1): return {value}",
    'def {name}(x, y=1):\n    """What it does."""\n    return {value}',
    "def {name}(\n    x,  # one\n    y=1,\n):\n    # the answer is {secret}\n    z = {value}\n    return z",
    "@cached\ndef {name}(x, y=1):\n\n    # {secret}\n    return {value}",
    'class {name}(list):\n    """What it is."""\n\n    def go(self):\n        return {value}\n\n    rate = {value}',
    "class {name}: rate = {value}",
    "{name} = 0\nfor i in range({value}):\n    {name} += i",
    "{name} = 0\nprint({value})",
]


@st.composite
def statements(draw):
    """(source, the names that it binds, its secret number) of a cell as an author might write it."""
    sources, names, secrets = [], [], []
    for number in range(draw(st.integers(1, 4))):
        name, secret = f"answer_{number}", str(draw(st.integers(10**6, 10**7)))
        value = draw(st.sampled_from(EXPRESSION)).format(secret)
        form = draw(st.sampled_from(STATEMENT))
        sources.append(form.format(name=name, value=value, secret=secret))
        names += [name] if "{name}" in form else []
        secrets.append(secret)
    between = draw(st.sampled_from(["\n", "\n\n\n", "\n# Write the next one here.\n"]))
    return between.join(sources), names, secrets


def bound(source):
    tree = ast.parse(source)
    defined = {node.name for node in tree.body if hasattr(node, "name")}
    return defined | {
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


@given(statements())
@settings(max_examples=200)
def test_a_stub_runs_binds_the_same_names_and_keeps_the_secret(cell):
    source, names, secrets = cell
    stub = labs.stub(source)
    assert not [secret for secret in secrets if secret in stub]
    assert set(names) <= bound(stub)
    exec(compile(stub, "stub", "exec"), {"cached": lambda function: function})  # unpacks, defines, raises nothing
    assert labs.stub(stub) == stub


def test_a_stub_keeps_what_helps():
    source = (
        "import numpy as np\n\n# Say it in bytes.\nsize = 4 * 10  # four bytes each\n\n\n"
        'def wave(n, cores=2):\n    """How many waves.\n\n    Rounded up.\n    """\n    return n\n\n\nwave(3)'
    )
    assert labs.stub(source) == (
        "import numpy as np\n\n# Say it in bytes.\nsize = ...  # your turn\n\n\n"
        'def wave(n, cores=2):\n    """How many waves.\n\n    Rounded up.\n    """\n    ...  # your turn'
    )


@pytest.fixture
def solution():
    cells = [
        new_markdown_cell("# Lab"),
        new_code_cell("given = 1", execution_count=1),
        new_code_cell("answer = 42", metadata={"tags": ["solution"]}, execution_count=2),
        new_code_cell("measured = 42.1", metadata={"tags": ["solution", "nbval-ignore-output"]}),
        new_code_cell("check(answer).require()", outputs=[new_output("stream", name="stdout", text="42")]),
        new_markdown_cell("It is 42.", metadata={"tags": ["solution-only"]}),
    ]
    return new_notebook(cells=cells)


def test_a_lab_has_the_stubs_and_nothing_of_the_run(solution):
    before = copy.deepcopy(solution)
    lab = labs.lab_from(solution)
    assert [cell.source for cell in lab.cells] == [
        "# Lab",
        "given = 1",
        "answer = ...  # your turn",
        "measured = ...  # your turn",
        "check(answer)",
    ]
    assert all(cell.execution_count is None and not cell.outputs for cell in lab.cells[1:])
    assert [dict(cell.metadata) for cell in lab.cells] == [{}, {}, {}, {"tags": ["nbval-ignore-output"]}, {}]
    assert solution == before, "the solution was changed"


def test_a_solution_without_tags_is_refused(solution):
    for cell in solution.cells:
        cell.metadata.pop("tags", None)
    with pytest.raises(ValueError, match="No cell of this solution"):
        labs.lab_from(solution)


def test_generate_writes_the_same_bytes_again(solution, tmp_path):
    (tmp_path / "solutions").mkdir()
    labs.write(solution, tmp_path / "solutions/07_xla_lab.ipynb")
    [path] = labs.generate(tmp_path)
    first = path.read_bytes()
    assert path == tmp_path / "labs/07_xla_lab.ipynb" and first.endswith(b"\n")
    assert labs.generate(tmp_path) == [path] and path.read_bytes() == first


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda path: path.stem)
def test_a_lab_is_what_its_solution_makes(path, tmp_path):
    made = tmp_path / "lab.ipynb"
    labs.write(labs.lab_from(nbformat.read(path, as_version=4)), made)
    stored = ROOT / "notebooks/labs" / path.name
    assert stored.read_bytes() == made.read_bytes(), f"Run `python3 -m labutils refresh {path.name[:2]}`."


def test_every_lab_has_a_solution():
    assert {path.name for path in (ROOT / "notebooks/labs").glob("*.ipynb")} == {path.name for path in SOLUTIONS}
    assert SOLUTIONS


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda path: path.stem)
def test_a_lab_gives_no_answer_away(path):
    lab = {cell.id: cell for cell in nbformat.read(ROOT / "notebooks/labs" / path.name, as_version=4).cells}
    answers = [cell for cell in nbformat.read(path, as_version=4).cells if "solution" in labs.tags(cell)]
    assert answers
    for cell in answers:
        stub = ast.parse(lab[cell.id].source)
        assert not [ast.unparse(part) for part in statements_of(stub) if not is_given(part)]
        for answer in ast.parse(cell.source).body:
            if isinstance(answer, ast.Assign):  # nor is it said elsewhere in the lab
                assert not [other.source for other in lab.values() if ast.unparse(answer) in other.source]


def statements_of(tree):
    holders = [node for node in ast.walk(tree) if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef))]
    return [statement for holder in holders for statement in holder.body]


def is_given(statement):
    """Whether a statement of a lab says nothing of its answer: an import, a head, a docstring, or `...`."""
    if isinstance(statement, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)):
        return True
    value = getattr(statement, "value", None)
    parts = value.elts if isinstance(value, ast.Tuple) else [value]
    said = [getattr(part, "value", None) for part in parts]
    return all(part is ... or (isinstance(statement, ast.Expr) and isinstance(part, str)) for part in said)
