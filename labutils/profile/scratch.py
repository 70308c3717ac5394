"""A folder for captures that nobody wants to keep: it goes with the process that asked for it."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

import psutil

_PREFIX = "four-beats-captures-"


def scratch_folder():
    """A new empty folder, deleted when this process ends. Those that killed processes have left are deleted first."""
    home = Path(tempfile.gettempdir())
    for left in home.glob(f"{_PREFIX}*"):
        owner = left.name.removeprefix(_PREFIX).partition("-")[0]
        if owner.isdigit() and not psutil.pid_exists(int(owner)):
            shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=home))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
