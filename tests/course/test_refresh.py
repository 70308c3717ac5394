"""What is stored in a notebook: one run's outputs, and nothing of the machine that ran it."""

from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from labutils.course import labs, refresh

ROOT = Path(__file__).resolve().parents[2]
SOURCES = refresh.sources()


def stream(name, text):
    return new_output("stream", name=name, text=text)


@pytest.fixture
def dirty():
    view = {refresh.WIDGET: {"model_id": "5f"}, "text/plain": "Explorer(n=1)", "image/png": "iVBORw0KGgo="}
    shown = new_output("display_data", data=view, metadata={"image/png": {"width": 640}})
    bar = new_output("display_data", data={refresh.WIDGET: {"model_id": "60"}, "text/plain": "IntProgress(value=3)"})
    cells = [
        new_markdown_cell("# Title", metadata={"editable": False}),
        new_code_cell(
            "view",
            metadata={"tags": ["nbval-ignore-output"], "collapsed": True, "execution": {"iopub": "2026"}},
            outputs=[stream("stderr", "W0000"), bar, shown, stream("stdout", "kept\n")],
        ),
    ]
    return new_notebook(
        cells=cells, metadata={"widgets": {}, "kernelspec": {"name": "venv", "display_name": "venv"}, "authors": []}
    )


def test_cleaned_keeps_only_the_course(dirty):
    clean = refresh.cleaned(dirty)
    assert clean.metadata == {"kernelspec": refresh.KERNELSPEC, "language_info": {"name": "python"}}
    assert [dict(cell.metadata) for cell in clean.cells] == [{}, {"tags": ["nbval-ignore-output"]}]
    shown, said = clean.cells[1].outputs
    assert set(shown.data) == {"text/plain", "image/png"} and shown.metadata == {}
    assert said.text == "kept\n"
    nbformat.validate(clean)


def test_cleaning_twice_changes_nothing(dirty):
    once = nbformat.writes(refresh.cleaned(dirty))
    assert nbformat.writes(refresh.cleaned(nbformat.reads(once, as_version=4))) == once


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_stored_notebooks_are_valid_and_clean(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    labs.write(refresh.cleaned(notebook), tmp_path / "clean.ipynb")
    assert (tmp_path / "clean.ipynb").read_bytes() == path.read_bytes(), "Run `python3 -m labutils refresh`."


def test_sources_are_chapters_and_solutions():
    assert {path.parent.name for path in SOURCES} == {"notebooks", "solutions"}
    assert len(SOURCES) == len(set(SOURCES)) and all(path.name[:2].isdigit() for path in SOURCES)


@pytest.mark.parametrize("numbers", [["77"], ["00", "77"], ["0"]])
def test_an_unknown_number_is_told_before_anything_runs(numbers, capsys, monkeypatch):
    monkeypatch.setattr(refresh, "executed", lambda path: pytest.fail(f"{path.name} was run"))
    assert refresh.main(numbers) == 2
    said = capsys.readouterr().out
    assert said.startswith(f"No chapter has the number {numbers[-1]}. There are 00, 01,")


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A course of one chapter that runs and one that does not, with a solution."""
    monkeypatch.setattr(refresh, "ROOT", tmp_path)
    (tmp_path / "notebooks/solutions").mkdir(parents=True)
    sources = {
        "notebooks/00_runs.ipynb": ["import os, sys\nprint(os.environ['PYTHONHASHSEED'], file=sys.stderr)", "6 * 7"],
        "notebooks/01_stops.ipynb": ["1 / 0"],
        "notebooks/solutions/00_runs_lab.ipynb": ["answer = 42"],
    }
    for name, cells in sources.items():
        notebook = new_notebook(cells=[new_code_cell(source) for source in cells])
        if "solutions" in name:
            notebook.cells[0].metadata["tags"] = ["solution"]
        labs.write(notebook, tmp_path / name)
    return tmp_path


def test_refresh_stores_outputs_and_makes_the_lab(course, capsys):
    assert refresh.main(["00"]) == 0
    silent, shown = nbformat.read(course / "notebooks/00_runs.ipynb", as_version=4).cells
    assert (silent.execution_count, silent.outputs) == (1, [])
    assert shown.outputs[0].data == {"text/plain": "42"}
    [stub] = nbformat.read(course / "notebooks/labs/00_runs_lab.ipynb", as_version=4).cells
    assert stub.source == "answer = ...  # your turn"
    assert capsys.readouterr().out.splitlines()[-1] == "make notebooks/labs/00_runs_lab.ipynb"


def test_a_chapter_that_stops_is_named_and_left_as_it_was(course, capsys):
    before = (course / "notebooks/01_stops.ipynb").read_bytes()
    assert refresh.main(["01"]) == 1
    assert "01_stops.ipynb stopped" in capsys.readouterr().out
    assert (course / "notebooks/01_stops.ipynb").read_bytes() == before
