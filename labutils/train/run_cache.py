"""Results of runs kept between visits: one file of JSON lines for each set of conditions, in `.cache/` by the course.

A line is written when its run is over. A line that was cut off by a killed kernel is not read, and nothing else
is lost: the next one begins with an end of line of its own. Delete the folder whenever you like: the runs are then
trained again.
"""

import json
import os
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / ".cache" / "runs"


class Store:
    """A mapping from names to JSON values, kept in the file of `key`. A folder that cannot be written is no error."""

    def __init__(self, key, folder=None):
        self.path = Path(os.environ.get("LABUTILS_RUN_CACHE") or folder or FOLDER) / f"{key[:32]}.jsonl"
        self._known = dict(_lines(self.path))

    def __contains__(self, name):
        return name in self._known

    def __getitem__(self, name):
        return self._known[name]

    def __setitem__(self, name, value):
        line = "\n" + json.dumps([name, value])
        self._known[name] = json.loads(line)[1]
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab", buffering=0) as file:
                file.write(line.encode())  # a single write, appended: two kernels do not mix their lines
        except OSError:
            pass  # a full disk or a read-only folder costs the second visit, not this one


def _lines(path):
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    for line in text.splitlines():
        try:
            name, value = json.loads(line)
        except (ValueError, TypeError):
            continue  # empty, or cut off in the middle
        yield name, value
