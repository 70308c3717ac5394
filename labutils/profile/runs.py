"""Finding what to read: the newest run of a log directory, or the one that was named, with a file for each host."""

import gzip
import hashlib
import json
import os
import time
import zlib
from dataclasses import dataclass
from pathlib import Path

MOST_FOLDERS = 20_000  # that are looked into: a log directory is not a home directory
SUFFIXES = {".xplane.pb": "xplane", ".trace.json.gz": "trace", ".trace.json": "trace"}
PAGES = ("overview_page", "input_pipeline", "tensorflow_stats", "kernel_stats", "memory_profile", "pod_viewer")
SUFFIXES |= {f".{page}.pb": "page" for page in PAGES}
_STAMP = "%Y_%m_%d_%H_%M_%S"


class BadCapture(Exception):
    """What cannot be read, in one sentence: what is wrong, what was seen, what to do."""


@dataclass(frozen=True)
class File:
    """One file of a run: which `host` wrote it and its `kind`, "xplane", "trace" or "page"."""

    path: Path
    host: str
    kind: str
    suffix: str


@dataclass(frozen=True)
class Run:
    """One capture: its folder, and its files by host."""

    folder: Path
    files: tuple[File, ...]

    @property
    def name(self):
        return self.folder.name

    def of(self, kind):
        """The files of one kind, by host."""
        return tuple(file for file in self.files if file.kind == kind)


def find_runs(logdir):
    """All runs below a folder, a run's own folder or a single file included, the newest last. BadCapture if none."""
    top = _top(logdir)
    if top.is_file():
        file = _as_file(top)
        if file is None:
            raise BadCapture(
                f"{logdir} is no profile: those end in .xplane.pb. Name it, or the log directory around it."
            )
        return [Run(top.parent, (file,))]
    found, closed, seen = {}, [], set()
    for number, (folder, folders, names) in enumerate(
        os.walk(top, onerror=lambda error: closed.append(error.filename), followlinks=True)
    ):
        real = os.path.realpath(folder)
        folders[:] = sorted(name for name in folders if not name.startswith(".")) if real not in seen else []
        if real in seen:  # a link led back here
            continue
        seen.add(real)
        files = [file for name in sorted(names) if (file := _as_file(Path(folder) / name))]
        if files:
            found[Path(folder)] = Run(Path(folder), tuple(files))
        if number >= MOST_FOLDERS:
            raise BadCapture(
                f"Below {logdir} there are more than {MOST_FOLDERS} folders. Name the log directory itself."
            )
    if not found and closed:
        raise BadCapture(f"No profile can be found below {logdir}: the folder {closed[0]} cannot be read.")
    if not found:
        raise BadCapture(
            f"There is no profile below {logdir}: a log directory that holds one has files such as "
            "plugins/profile/RUN/HOST.xplane.pb. Capture a few steps first, with labutils.profile.capture."
        )
    return sorted(found.values(), key=_age)


def _top(logdir):
    """The folder or file that was named. BadCapture where there is none, or the name is no path."""
    try:
        if not str(logdir):
            raise BadCapture("The name of the log directory is empty. Name the folder that the profile was written to.")
        top = Path(logdir).expanduser()
        if top.exists():
            return top
    except (OSError, RuntimeError, ValueError, TypeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise BadCapture(f"{str(logdir)[:200]} cannot be opened: {why}. Name the log directory.") from None
    raise BadCapture(f"There is no folder {logdir}. Name the log directory that the profile was written to.")


def choose(logdir, run=None):
    """The newest run, or the one of that name; and the names of all there are. BadCapture where there is none."""
    runs = find_runs(logdir)
    names = [each.name for each in runs]
    if run is None:
        return runs[-1], names
    chosen = next((each for each in reversed(runs) if each.name == run), None)
    if chosen is None:
        raise BadCapture(f"There is no run {run} in {logdir}. There are: {', '.join(names[-10:])}.")
    return chosen, names


def distinct(files):
    """The files without those that are byte for byte copies of another, and the hosts of the copies."""
    seen, kept, copies = {}, [], []
    for file in files:
        try:
            print_ = _fingerprint(file.path)
        except OSError:  # whoever reads it says so
            kept.append(file)
            continue
        if print_ in seen:
            copies.append(f"{file.host} is a copy of {seen[print_]}")
        else:
            seen[print_] = file.host
            kept.append(file)
    return kept, copies


def load_trace(path):
    """The JSON of a trace file, packed or not. BadCapture where it is none."""
    try:
        raw = path.read_bytes()
        found = json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw)
        if not isinstance(found, dict) or not isinstance(found.get("traceEvents"), list):
            raise ValueError("it has no traceEvents")
        return found
    except (OSError, EOFError, ValueError, RecursionError, zlib.error) as error:
        raise BadCapture(f"{path.name} cannot be read as a trace: {error}. Copy it again, or capture anew.") from None


def _as_file(path):
    for suffix, kind in SUFFIXES.items():
        # Not a pipe or a device, which would be read for ever, and no link to nowhere.
        if path.name.endswith(suffix) and path.is_file():
            return File(path, path.name.removesuffix(suffix) or "host", kind, suffix)
    return None


def _age(run):
    """When it was captured: as its name says, or else as its files do."""
    try:
        stamp = time.mktime(time.strptime("_".join(run.name.split("_")[:6]), _STAMP))
    except (ValueError, OverflowError):
        stamp = max(_changed(file.path) for file in run.files)
    return stamp, run.name


def _changed(path):
    try:
        return path.stat().st_mtime
    except OSError:  # gone since it was found
        return 0.0


def _fingerprint(path):
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return path.stat().st_size, digest.digest()
