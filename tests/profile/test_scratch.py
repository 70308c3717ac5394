"""Captures that nobody wants to keep leave nothing behind, even after a kill."""

import os
import subprocess
import sys

CODE = """
import os, sys
from labutils.scratch import scratch_folder
folder = scratch_folder()
(folder / "capture").write_text("big")
print(folder, flush=True)
if sys.argv[1] == "killed":
    os.kill(os.getpid(), 9)
"""


def made_by_a_process(how, home):
    said = subprocess.run(
        [sys.executable, "-c", CODE, how], stdout=subprocess.PIPE, env=os.environ | {"TMPDIR": str(home)}, timeout=60
    )
    return said.stdout.decode().strip()


def test_it_goes_with_its_process(tmp_path):
    assert not os.path.exists(made_by_a_process("ended", tmp_path))


def test_what_a_killed_process_left_goes_with_the_next(tmp_path):
    left = made_by_a_process("killed", tmp_path)
    assert os.path.exists(left)
    made_by_a_process("ended", tmp_path)
    assert not os.path.exists(left)
