"""`bench` shows every figure in one table, also where one of them fails."""

import pytest

from labutils import benchmarks
from labutils.processes import Trouble


@pytest.fixture
def two(tmp_path):
    folder = tmp_path / "tests" / "benchmarks"
    folder.mkdir(parents=True)
    (folder / "bench_good.py").write_text("NAME = 'good'\ndef run():\n    return [('speed', '> 1', 2.0)]\n")
    (folder / "bench_bad.py").write_text("NAME = 'bad'\ndef run():\n    raise ValueError('no clock')\n")
    return tmp_path


def test_one_aligned_table(two, capsys):
    assert benchmarks.run(["good"], two) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["benchmark", "what", "promised", "measured"]
    assert lines[2].split() == ["good", "speed", ">", "1", "2.0"]
    assert lines[0].index("promised") == lines[2].index("> 1")


def test_a_benchmark_that_fails_is_a_row_of_the_table(two, capsys):
    assert benchmarks.run([], two) == 1
    text = capsys.readouterr().out
    assert "ValueError: no clock" in text and "speed" in text


def test_a_pattern_that_names_none(two):
    with pytest.raises(Trouble, match="There are bad, good"):
        benchmarks.find(["other"], two)
