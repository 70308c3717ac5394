"""Folders for what nobody wants to keep: they go with the process that asked for them."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

import psutil


def scratch_folder(kind="captures"):
    """A new empty folder, deleted when this process ends. Those that killed processes have left are deleted first."""
    home, prefix = Path(tempfile.gettempdir()), f"four-beats-{kind}-"
    for left in home.glob(f"{prefix}*"):
        owner = left.name.removeprefix(prefix).partition("-")[0]
        if owner.isdigit() and not psutil.pid_exists(int(owner)):
            shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-", dir=home))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
