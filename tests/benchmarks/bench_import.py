"""How long the light packages take to import, and how soon a second start is ready."""

import subprocess
import sys
import time

from labutils import environment

NAME = "import and start"


def _seconds(command, repeats=5):
    """The least of several runs: anything above it is somebody else's work on the machine."""
    best = float("inf")
    for _ in range(repeats):
        started = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        best = min(best, time.perf_counter() - started)
    return best


def run():
    bare = _seconds([sys.executable, "-c", "pass"])
    rows = []
    for module in ("labutils", "labutils.theory", "labutils.bench"):
        spent = max(_seconds([sys.executable, "-c", f"import {module}"]) - bare, 0)
        rows.append((f"import {module}", "< 0.3 s", f"{spent:.3f} s"))
    started = time.perf_counter()
    state = environment.judge(environment.root_folder()).state
    rows.append((f"second start: judging .venv ({state})", "< 3 s", f"{time.perf_counter() - started:.2f} s"))
    return rows
