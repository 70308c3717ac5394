"""What TensorBoard's own overview page says of a capture, from xprof's converter, for the reader to compare."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from labutils import processes

DEADLINE = 6  # s
MOST_BYTES = 16 << 20  # of files: the converter takes many seconds over large ones
_CHILD = """
import json, sys
from xprof.convert.raw_to_tool_data import xspace_to_tool_data
page, _ = xspace_to_tool_data(sys.argv[1:], "overview_page", {})
json.dump({key: value for part in json.loads(page) for key, value in part.get("p", {}).items()}, sys.stdout)
"""


def overview(paths):
    """The overview page's sentence and step time: ({"statement": text, "step_time": s}, ""), or (None, why not).

    In a process of its own, since the converter is C++ and a mangled file may abort it; and on links in a folder of its
    own, since it leaves files beside what it reads.
    """
    if sum(path.stat().st_size for path in paths) > MOST_BYTES:
        return None, "the capture is too large for its converter to answer soon"
    with tempfile.TemporaryDirectory(prefix="labutils-overview-") as folder:
        links = [_link(path, Path(folder)) for path in paths]
        command = [sys.executable, "-c", _CHILD, *map(str, links)]
        variables = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
        child = processes.launch(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, env=variables
        )
        try:
            said = child.communicate(timeout=DEADLINE)[0]
        except subprocess.TimeoutExpired:
            return None, f"its converter took more than {DEADLINE} s"
        finally:
            processes.stop(child, grace=0.1)
            child.stdout.close()
    return _understood(said)


def _link(path, folder):
    link = folder / path.name
    try:
        link.symlink_to(path.resolve())
    except OSError:  # Windows asks for a right to make links
        link.write_bytes(path.read_bytes())
    return link


def _understood(said):
    try:
        page = json.loads(said)
        milliseconds = float(page.get("steptime_ms_average", "nan"))
        return {"statement": str(page.get("statement", "")).strip(), "step_time": milliseconds / 1e3}, ""
    except (ValueError, AttributeError):
        return None, "its converter could not read the capture"
