"""Each chapter, run from the top: how long it takes, what memory it needs, how soon its sliders answer."""

import json
import statistics
import time

import nbformat
from nbclient import NotebookClient

from labutils.course import refresh

NAME = "chapters"
# Asked of the chapter's own kernel after its last cell: the peak memory, and the seconds of every slider's pictures.
PROBE = """
import json, psutil
from labutils.show.controls import Explorer
_seen = {name: thing.sweep() for name, thing in list(globals().items())
         if isinstance(thing, Explorer) and not name.startswith("_")}
_memory = psutil.Process().memory_info()
print(json.dumps({"sliders": _seen, "memory": getattr(_memory, "peak_wset", _memory.rss)}))
"""


def _run(path):
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=refresh.CELL_SECONDS,
        kernel_name="python3",
        resources={"metadata": {"path": str(path.parent)}},
        store_widget_state=False,
    )
    began = time.perf_counter()
    with client.setup_kernel():
        for index, cell in enumerate(notebook.cells):
            client.execute_cell(cell, index)
        seconds = time.perf_counter() - began
        probe = nbformat.v4.new_code_cell(PROBE)
        notebook.cells.append(probe)
        client.execute_cell(probe, len(notebook.cells) - 1)
    return seconds, json.loads(probe.outputs[-1]["text"])


def run():
    rows = []
    for path in (path for path in refresh.sources() if path.parent.name == "notebooks"):
        seconds, found = _run(path)
        rows.append((f"{path.stem}: from the top", "about 60 s", f"{seconds:.0f} s"))
        rows.append((f"{path.stem}: memory at its end", "< 2 GB", f"{found['memory'] / 1e9:.2f} GB"))
        for name, pictures in found["sliders"].items():
            middle, worst = (f"{each * 1e3:.0f} ms" for each in (statistics.median(pictures), max(pictures)))
            text = f"{middle}, at most {worst}, n = {len(pictures)}"
            rows.append((f"{path.stem}: slider {name}", "median < 100 ms", text))
    return rows
