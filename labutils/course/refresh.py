"""For authors: runs notebooks and stores their outputs, makes labs from solutions, draws the still pictures."""

import os
import runpy
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from labutils.course import labs

ROOT = Path(__file__).resolve().parents[2]
CELL_SECONDS = 300
ENVIRONMENT = {"TF_CPP_MIN_LOG_LEVEL": "2", "PYTHONHASHSEED": "0", "CUDA_VISIBLE_DEVICES": "-1"}
WIDGET = "application/vnd.jupyter.widget-view+json"
KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}


def main(arguments):
    """Refresh the chapters whose number is given, or all; returns an exit code."""
    there = sorted({path.name[:2] for path in sources()})
    unknown = [number for number in arguments if number not in there]
    if unknown:
        print(f"No chapter has the number {' or '.join(unknown)}. There are {', '.join(there)}.")
        return 2
    chosen = [path for path in sources() if not arguments or path.name[:2] in arguments]
    for script in sorted((ROOT / "figures").glob("*.py")):
        print(f"draw {script.relative_to(ROOT)}", flush=True)
        runpy.run_path(str(script), run_name="__main__")
    for path in chosen:
        print(f"run  {path.relative_to(ROOT)}", flush=True)
        try:
            labs.write(executed(path), path)
        except CellExecutionError as error:
            print(f"{path.name} stopped: {error}")
            return 1
    for path in labs.generate(ROOT / "notebooks"):
        print(f"make {path.relative_to(ROOT)}", flush=True)
    return 0


def sources():
    """The notebooks whose outputs are stored: chapters and solutions."""
    return sorted((ROOT / "notebooks").glob("[0-9]*.ipynb")) + sorted((ROOT / "notebooks/solutions").glob("*.ipynb"))


def executed(path):
    """The notebook at `path`, run from the top in its own folder, with clean outputs."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=CELL_SECONDS,
        kernel_name="python3",
        resources={"metadata": {"path": str(path.parent)}},
        store_widget_state=False,
        record_timing=False,
    )
    client.execute(env=os.environ | ENVIRONMENT)
    return cleaned(notebook)


def cleaned(notebook):
    """Only what belongs to the course: no stderr, no widget state, no metadata beyond tags and the kernel's name."""
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNELSPEC, "language_info": {"name": "python"}})
    for cell in notebook.cells:
        kept = labs.tags(cell)
        cell.metadata = nbformat.from_dict({"tags": kept} if kept else {})
        if cell.cell_type == "code":
            cell.outputs = [_cleaned_output(output) for output in cell.outputs if not _passing(output)]
    return notebook


def _passing(output):
    """Whether an output is of the moment only: stderr, and a progress bar, of which nothing but its name would stay."""
    if output.get("name") == "stderr":
        return True
    return output.output_type == "display_data" and set(output.data) == {WIDGET, "text/plain"}


def _cleaned_output(output):
    if "data" in output:
        # A stored view without its kernel would show an error; the picture beside it stays.
        output["data"].pop(WIDGET, None)
        output["metadata"] = nbformat.from_dict({})
    return output


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
