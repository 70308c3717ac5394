"""What a learner may write behind `test`, and what that means."""

import pytest

from labutils import testing
from labutils.processes import Trouble


@pytest.fixture
def tree(tmp_path):
    for name in [
        "tests/bench/test_measure.py",
        "tests/theory/test_cost.py",
        "tests/benchmarks/bench_import.py",
        "tests/test_hygiene.py",
        "notebooks/01_four_phases.ipynb",
        "notebooks/02_mirrored.ipynb",
        "notebooks/labs/01_four_phases_lab.ipynb",
        "notebooks/solutions/01_four_phases_lab.ipynb",
        "notebooks/.ipynb_checkpoints/01_four_phases-checkpoint.ipynb",
    ]:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    return tmp_path


FIRST = [
    "notebooks/01_four_phases.ipynb",
    "notebooks/labs/01_four_phases_lab.ipynb",
    "notebooks/solutions/01_four_phases_lab.ipynb",
]


@pytest.mark.parametrize(
    ("patterns", "paths"),
    [
        ([], []),
        (["bench"], ["tests/bench"]),
        (["labs"], ["notebooks/labs"]),
        (["01"], FIRST),
        (["01_four"], FIRST),
        (["hygiene"], ["tests/test_hygiene.py"]),
        (["mirrored"], ["notebooks/02_mirrored.ipynb"]),
        (["tests/theory/test_cost.py"], ["tests/theory/test_cost.py"]),
        (["tests/theory/test_cost.py::test_a[1]"], ["tests/theory/test_cost.py::test_a[1]"]),
        (["notebooks"], ["notebooks"]),
        (["bench", "01", "bench"], ["tests/bench", *FIRST]),
    ],
)
def test_a_pattern_names(tree, patterns, paths):
    assert testing.resolve(patterns, tree, cwd=tree) == paths


def test_a_path_counts_from_where_the_learner_stands(tree):
    assert testing.resolve(["test_cost.py"], tree, cwd=tree / "tests" / "theory") == ["tests/theory/test_cost.py"]
    assert testing.resolve([str(tree / "tests")], tree, cwd="/") == ["tests"]


def test_a_pattern_that_names_nothing_lists_what_exists(tree):
    with pytest.raises(Trouble) as trouble:
        testing.resolve(["99"], tree, cwd=tree)
    assert "'99'" in str(trouble.value)
    assert "bench, theory, labs, solutions" in str(trouble.value)
    assert "01, 02" in str(trouble.value)


def test_a_path_outside_the_course_is_nothing(tree):
    with pytest.raises(Trouble):
        testing.resolve(["/etc/passwd"], tree, cwd=tree)


def test_a_wrong_pattern_is_told_before_anything_is_installed(course):
    (course.root / "tests" / "bench").mkdir(parents=True)
    code, output = course.run("labutils", "test", "nonsense")
    assert code == 1
    assert output.startswith("Nothing to test is called 'nonsense'")
    assert not course.venv.exists()


def test_what_stands_after_two_dashes_goes_to_pytest():
    command = testing.command(["tests/bench"], ["-k", "median"])
    assert command[-3:] == ["tests/bench", "-k", "median"]
    assert command[command.index("--dist") + 1] == "loadscope"
