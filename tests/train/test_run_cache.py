"""Results kept in a file: what another kernel wrote, what was cut off, and a folder that is not there."""

import math

import pytest

from labutils.train.run_cache import Store


@pytest.fixture(autouse=True)
def no_other_folder(monkeypatch):
    monkeypatch.delenv("LABUTILS_RUN_CACHE", raising=False)


def test_a_line_cut_off_costs_that_line_only_even_when_more_is_written_after_it(tmp_path):
    Store("key", tmp_path)["first"] = [1, math.inf]
    Store("key", tmp_path)["second"] = 2
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-3] + b"\xff")
    store = Store("key", tmp_path)
    assert "first" in store and "second" not in store and "other" not in Store("another", tmp_path)
    store["third"] = 3
    again = Store("key", tmp_path)
    assert (again["first"], again["third"]) == ([1, math.inf], 3) and "second" not in again


def test_two_kernels_add_to_one_file(tmp_path):
    long = [0.1] * 20_000  # longer than any buffer on the way
    one, other = Store("key", tmp_path), Store("key", tmp_path)
    one["a"], other["b"], one["c"] = long, 2, 3
    both = Store("key", tmp_path)
    assert both["a"] == long and both["b"] == 2 and both["c"] == 3


@pytest.mark.parametrize("value", [[[1, 2], [0.1, 1 / 3], "reached"], [[1], [math.inf], "diverged"], [[], [], "é"]])
def test_what_is_restored_equals_what_was_kept(tmp_path, value):
    store = Store("key", tmp_path)
    store["name"] = value
    assert store["name"] == Store("key", tmp_path)["name"] == value


def test_where_nothing_can_be_written_the_store_serves_this_visit(tmp_path):
    (tmp_path / "file").write_text("in the way")
    store = Store("key", tmp_path / "file" / "folder")
    store["name"] = 1
    assert store["name"] == 1 and "name" not in Store("key", tmp_path / "file" / "folder")


def test_the_folder_can_be_set_from_outside(tmp_path, monkeypatch):
    monkeypatch.setenv("LABUTILS_RUN_CACHE", str(tmp_path / "elsewhere"))
    Store("key", tmp_path)["name"] = 1
    assert [path.parent.name for path in tmp_path.rglob("*.jsonl")] == ["elsewhere"]
