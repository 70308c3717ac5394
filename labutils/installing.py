"""Running pip so that a learner can follow it, and saying in one sentence why it failed.

Standard library only, in syntax that an old Python can read.
"""

import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from labutils import processes
from labutils.processes import Trouble, Unexplained

BIG = 20  # MB: a smaller download is over before it could be read
SETUPTOOLS = (77, 0)  # as in pyproject.toml
NEWS_EVERY = 20  # s between two signs of life where the terminal cannot rewrite a line

# Looked for in this order: without a network pip also says that it found no matching version.
CAUSES = [
    ("disk", r"\[Errno 28\]|No space left on device|\[WinError 112\]|not enough space on the disk|Disk quota exceeded"),
    ("certificate", r"CERTIFICATE_VERIFY_FAILED|SSLCertVerificationError"),
    (
        "network",
        r"NewConnectionError|ConnectTimeoutError|ReadTimeoutError|Read timed out|Max retries exceeded|ProxyError|"
        r"Temporary failure in name resolution|getaddrinfo failed|Name or service not known|Connection refused|"
        r"Network is unreachable|Connection (?:aborted|broken|reset)|IncompleteRead|Retrying \(Retry",
    ),
    ("missing", r"No matching distribution found for ([^\s(]+)"),
    ("conflict", r"ResolutionImpossible|conflicting dependencies"),
    ("permission", r"\[Errno 13\]|Permission denied|\[WinError (?:5|32)\]|Read-only file system"),
    ("memory", r"MemoryError|Cannot allocate memory"),
]


def free_gigabytes(folder):
    return shutil.disk_usage(str(folder)).free / 1e9


def _free_space(root):
    places = sorted({str(root), tempfile.gettempdir()})
    return " and ".join(f"{free_gigabytes(place):.1f} GB free in {place}" for place in places)


def explain(output, exit_code, root, log):
    """The exception that says in one sentence why pip ended with this output and exit code."""
    log = f"The whole log is in {log}."
    for cause, pattern in CAUSES:
        found = re.search(pattern, output)
        if found:
            return Trouble(_sentence(cause, found, root) + " " + log)
    if exit_code in (-9, 137):
        return Trouble(
            "The installation was killed, most likely because memory ran out: close other "
            "programs, then run the same command again. " + log
        )
    errors = [line for line in output.splitlines() if line.lower().startswith("error")]
    last = (errors or output.strip().splitlines() or ["no output"])[-1]
    return Unexplained(f"pip could not install requirements.txt (it said: {last}). {log}")


def _sentence(cause, found, root):
    if cause == "disk":
        return (
            f"The disk is full ({_free_space(root)}): the course needs about 4 GB while it installs. Free some "
            "space, then run the same command again."
        )
    if cause == "certificate":
        return (
            "The package index could not be trusted (CERTIFICATE_VERIFY_FAILED), as happens behind a company "
            "proxy: give pip its certificate (PIP_CERT=/path/to/ca.pem), then run the same command again."
        )
    if cause == "network":
        return (
            f"The package index could not be reached (pip saw: {found.group(0)}). Check the network or proxy, then "
            "run the same command again: it goes on where it stopped."
        )
    if cause == "missing":
        return (
            "The package index has no {} for this Python ({}) and machine: `python3 -m labutils doctor` says "
            "what this machine is.".format(found.group(1), ".".join(map(str, sys.version_info[:3])))
        )
    if cause == "conflict":
        return "The pins in requirements.txt contradict each other or a pip constraint of yours."
    if cause == "permission":
        return (
            f"A file could not be written ({found.group(0)}): make sure that {root} belongs to you and that no "
            "JupyterLab of this course is running, then run the same command again."
        )
    return "Memory ran out during the installation: close other programs, then run the same command again."


class Progress:
    """Condenses pip's lines to what a learner wants to know: which stage, which big download, still alive."""

    def __init__(self, say, terminal=None, clock=time.monotonic):
        self.say, self.clock = say, clock
        self.terminal = sys.stdout.isatty() if terminal is None else terminal
        self.started = self.told = clock()
        self.stage, self.width = "looking for packages", 0

    def line(self, text):
        """Take one line of pip's output."""
        download = re.match(r"\s*Downloading (\S+) \(([\d.]+) (MB|GB)\)", text)
        raw = re.match(r"Progress (\d+) of (\d+)", text)
        if download:
            name = "-".join(download.group(1).rsplit("/", 1)[-1].split("-")[:2])
            self.stage = f"downloading {name} ({download.group(2)} {download.group(3)})"
            if download.group(3) == "GB" or float(download.group(2)) >= BIG:
                self.news()
        elif raw and int(raw.group(2)) > BIG * 1e6:
            share = f" {100 * int(raw.group(1)) / int(raw.group(2)):.0f} %"
            self.stage = re.sub(r"( \d+ %)?$", share, self.stage, count=1)
        elif text.startswith("Collecting "):
            self.stage = "looking for " + text.split()[1]
        elif text.startswith("Installing collected packages:"):
            count = text.count(",") + 1
            self.stage = f"installing {count} package{'' if count == 1 else 's'}"
            self.news()
        self.tick()

    def tick(self):
        """Called often; speaks only where there is something to show."""
        if self.terminal:
            text = f"  {self.stage} ({self.clock() - self.started:.0f} s)"
            text = text[: shutil.get_terminal_size().columns - 1]
            sys.stdout.write("\r" + text.ljust(self.width))
            sys.stdout.flush()
            self.width = len(text)
        elif self.clock() - self.told > NEWS_EVERY:
            self.news()

    def news(self):
        if not self.terminal:
            self.told = self.clock()
            self.say(f"  {self.stage} ({self.told - self.started:.0f} s)")

    def end(self):
        if self.terminal:
            sys.stdout.write("\r" + " " * self.width + "\r")
            sys.stdout.flush()


def pip_environment():
    """The learner's own settings for pip (index, proxy, cache) without those that would install elsewhere."""
    kept = {
        k: v
        for k, v in os.environ.items()
        if k not in ("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PYTHONHOME", "PYTHONPATH", "PIP_QUIET", "PIP_LOG")
    }
    return dict(kept, PIP_USER="0", PYTHONUNBUFFERED="1", PYTHONIOENCODING="utf-8")


def _at_least(version, wanted):
    numbers = re.match(r"(\d+)\.(\d+)", version or "")
    return bool(numbers) and (int(numbers.group(1)), int(numbers.group(2))) >= wanted


def pip_command(python, present):
    """pip's command line, given {name: version} of what the environment holds already."""
    command = [str(python), "-m", "pip", "install", "--no-input", "--disable-pip-version-check"]
    # From 24.1 on pip tells, line by line, how far a download is.
    command += ["--progress-bar", "raw" if _at_least(present.get("pip"), (24, 1)) else "off"]
    # With the setuptools that pyproject.toml asks for at hand, an update of the course alone needs no network.
    if _at_least(present.get("setuptools"), SETUPTOOLS):
        command.append("--no-build-isolation")
    return [*command, "-r", "requirements.txt"]


def install(command, root, log, say, hold=None):
    """Install requirements.txt with the given pip command. `hold` is a file descriptor that pip shall keep open."""
    limit = processes.seconds_from("LABUTILS_INSTALL_DEADLINE", 7200)
    options = {} if hold is None or processes.WINDOWS else {"pass_fds": [hold]}
    child = processes.launch(
        command,
        cwd=str(root),
        env=pip_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        **options,
    )
    try:
        output = _follow(child, log, Progress(say), limit)
        code = processes.wait(child, 30)
    finally:
        if child.returncode is None:
            processes.stop(child)
    if code != 0:
        raise explain(output, code, root, log)


def _follow(child, log, progress, limit):
    """Read pip's output to its end, into the log and the progress display."""
    lines, output = queue.Queue(), []
    threading.Thread(target=_read, args=(child.stdout, lines), daemon=True).start()
    deadline = time.monotonic() + limit
    try:
        with open(str(log), "w", encoding="utf-8") as file:
            while True:
                if time.monotonic() > deadline:
                    raise Trouble(
                        f"The installation did not end within {limit / 60:.0f} minutes and was stopped: check the "
                        f"network, then run the same command again. The log is {log}."
                    )
                try:
                    line = lines.get(timeout=1)
                except queue.Empty:
                    progress.tick()
                    continue
                if line is None:
                    return "".join(output)
                file.write(line)
                if not line.startswith("Progress "):
                    output.append(line)
                progress.line(line)
    finally:
        progress.end()


def _read(stream, lines):
    with stream:
        for line in iter(stream.readline, b""):
            lines.put(line.decode("utf-8", "replace"))
    lines.put(None)
