"""`python3 -m labutils doctor`: what this machine is and can show, what is missing and what mends it.

A check is a function that takes the course's folder and yields findings; add one to CHECKS. Standard library only, in
syntax that an old Python can read: the doctor must speak where nothing is installed. TensorFlow is only ever imported
in a child process with a deadline.
"""

import argparse
import collections
import json
import os
import platform
import shutil
import socket
import subprocess
import sys

from labutils import environment, installing, platforms, processes
from labutils.platforms import cores, gpus, memory_gb, processor
from labutils.processes import Trouble

OK, NOTE, WRONG = "ok", "note", "wrong"  # only what is wrong keeps the course from running
MEND = "python3 -m labutils start"
NEEDED_GB = 4.0

Finding = collections.namedtuple("Finding", "subject state text remedy facts")


def finding(subject, text, state=OK, remedy="", **facts):
    return Finding(subject, state, text, remedy, facts)


def runs_inside(root):
    """Whether the Python that runs is the environment's own, so that its packages are the course's."""
    return os.path.realpath(sys.prefix) == os.path.realpath(str(environment.folder_of(root)))


def check_machine(root):
    model, flags = processor()
    memory, count, cards = memory_gb(), cores(), gpus()
    yield finding(
        "machine",
        f"{platform.system()} {platform.release()} on {platform.machine()}, Python {platform.python_version()}",
        system=platform.platform(),
        python=platform.python_version(),
    )
    yield finding(
        "processor",
        "{}, {} usable core{}{}".format(
            model, count, "" if count == 1 else "s", ", " + " ".join(flags) if flags else ""
        ),
        model=model,
        cores=count,
        flags=flags,
    )
    state = NOTE if memory is not None and memory < 3.5 else OK
    yield finding(
        "memory",
        "unknown" if memory is None else f"{memory:.1f} GB",
        state,
        "Close other programs: chapters that start several processes need about 4 GB." if state == NOTE else "",
        gigabytes=memory,
    )
    yield finding("graphics cards", "; ".join(cards) or "none (no NVIDIA driver answers)", gpus=cards)


def check_shows(root):
    """What a learner may expect to see here, chapter by chapter."""
    count, flags, cards = cores(), processor()[1], gpus()
    yield finding("equality", "What happens in a data-parallel step: shown with 2, 4 and 8 replicas in one process.")
    if count < 2:
        yield finding(
            "scaling", "Real speed-up needs two cores or more: with one, scaling can only be predicted.", NOTE
        )
    else:
        yield finding(
            "scaling",
            f"Real scaling: up to {count} worker processes, each pinned to a core of its own."
            if hasattr(os, "sched_setaffinity")
            else f"Scaling with up to {count} worker processes; this system cannot pin them to cores, so figures "
            "spread more.",
        )
    native = [flag for flag in flags if "bf16" in flag]
    yield finding(
        "bfloat16",
        "The processor computes in bfloat16 itself ({}): mixed precision may be faster here.".format(", ".join(native))
        if native
        else "The processor has no bfloat16 of its own: expect mixed precision to save memory rather than time.",
    )
    yield finding(
        "many devices",
        f"{len(cards)} GPUs: the multi-GPU cells run on them."
        if len(cards) > 1
        else "No second GPU: the same cells run on processor cores, and the chapters say which conclusions change.",
    )


def check_python(root):
    sentence = platforms.unsuitable(platforms.this_python())
    yield finding(
        "Python",
        sentence or f"{platform.python_version()} suits TensorFlow {platforms.TENSORFLOW}",
        WRONG if sentence else OK,
    )


def check_environment(root):
    verdict = environment.judge(root)
    ready = verdict.state == environment.READY
    text = {"absent": "The environment .venv is not made yet."}.get(verdict.state, f".venv: {verdict.reason}.")
    # Unfinished may be a learner's own environment with all that is needed: the packages below decide.
    state = OK if ready else NOTE if verdict.state == environment.UNFINISHED else WRONG
    yield finding("environment", text, state, "" if ready else MEND, verdict=verdict.state)


def check_requirements(root):
    """Every requirement's version, as importlib.metadata of the Python that runs sees it."""
    from importlib import metadata

    if not runs_inside(root):
        return
    for name, wanted in environment.requirements(root).items():
        try:
            found = metadata.version(name)
        except metadata.PackageNotFoundError:
            found = None
        same = found is not None and wanted in (None, found)
        text = found if same else "{}, requirements.txt asks for {}".format(found or "missing", wanted or "any version")
        yield finding(name, text, OK if same else WRONG, "" if same else MEND, wanted=wanted, found=found)


def check_tensorflow(root):
    """Whether TensorFlow starts, and which devices it sees: in a child, for it can hang or be killed."""
    if not runs_inside(root) or "tensorflow" not in environment.requirements(root):
        return
    program = (
        "import json, tensorflow as tf; print(json.dumps([tf.__version__, "
        "[d.name for d in tf.config.list_physical_devices('GPU')]]))"
    )
    settings = environment.child_environment(TF_CPP_MIN_LOG_LEVEL="3")
    code, output = processes.ask([sys.executable, "-c", program], 180, env=settings, stderr=subprocess.DEVNULL)
    if code == 0:
        version, seen = json.loads(output.strip().splitlines()[-1])
        yield finding("TensorFlow starts", "{}, sees {}".format(version, ", ".join(seen) or "no GPU"), gpus=seen)
        if gpus() and not seen:
            yield finding(
                "GPU support",
                "This machine has a GPU that TensorFlow does not see.",
                NOTE,
                f"{environment.python_of(root)} -m pip install 'tensorflow[and-cuda]=={version}'",
            )
        return
    why = {None: "it gave no answer in 180 s", -4: "this processor lacks AVX, which it needs"}.get(
        code, f"exit code {code}"
    )
    yield finding("TensorFlow starts", f"no: {why}", WRONG, MEND)


def check_profile_tab(root):
    """Whether TensorBoard will find the plugin that makes its Profile tab: installed, announced, fit to be loaded."""
    from importlib import metadata

    if not runs_inside(root) or "xprof" not in environment.requirements(root):
        return
    offered = [each for each in metadata.entry_points(group="tensorboard_plugins") if each.name == "profile"]
    if not offered:
        text = "TensorBoard has no profile plugin: the package xprof is missing, or came without its announcement."
        yield finding("Profile tab", text, WRONG, MEND)
        return
    module = offered[0].value.partition(":")[0]
    settings = environment.child_environment(TF_CPP_MIN_LOG_LEVEL="3")
    code, output = processes.ask([sys.executable, "-c", f"import {module}"], 60, env=settings)
    last = ([line for line in output.splitlines() if line.strip()] or ["no answer in 60 s"])[-1]
    text = (
        f"{module} cannot be loaded: {last}"
        if code != 0
        else "TensorBoard finds its plugin; it appears with the first run"
    )
    yield finding("Profile tab", text, WRONG if code != 0 else OK, MEND if code != 0 else "")


def check_disk(root):
    free, made = installing.free_gigabytes(root), environment.judge(root).state == environment.READY
    enough = free > (0.5 if made else NEEDED_GB)
    yield finding(
        "disk",
        f"{free:.1f} GB free in {root}",
        OK if enough else NOTE if made else WRONG,
        "" if enough else f"Free some space: installing takes about {NEEDED_GB:.0f} GB.",
        gigabytes=free,
    )


def check_browser(root):
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    yield finding(
        "chromium",
        found or "not found; only the browser tests need it",
        OK if found else NOTE,
        "" if found else "sudo apt install chromium",
        path=found,
    )


def check_port(root):
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", 0))
        except OSError as problem:
            yield finding(
                "loopback",
                f"No port can be opened on 127.0.0.1: {problem.strerror}.",
                WRONG,
                "Allow Python to listen on 127.0.0.1 in your firewall.",
            )
            return
    with socket.socket() as probe:
        busy = probe.connect_ex(("127.0.0.1", 8888)) == 0
    yield finding("loopback", "port 8888 is in use: `start` takes the next free one" if busy else "port 8888 is free")


CHECKS = [
    check_machine,
    check_shows,
    check_python,
    check_environment,
    check_requirements,
    check_tensorflow,
    check_profile_tab,
    check_disk,
    check_browser,
    check_port,
]


def examine(root, checks=None):
    return [each for check in (CHECKS if checks is None else checks) for each in check(root)]


def report(findings):
    """The findings as lines for a learner; what is wrong comes once more at the end."""
    width = max(len(each.subject) for each in findings)
    signs = {OK: "  ", NOTE: "- ", WRONG: "X "}
    lines = [signs[each.state] + each.subject.ljust(width) + "  " + each.text for each in findings]
    wrong = [each for each in findings if each.state == WRONG]
    remedies = list(dict.fromkeys(each.remedy for each in findings if each.remedy and each.state != OK))
    lines += [""] + ["To mend: " + remedy for remedy in remedies]
    lines.append(
        "The course would not run here yet: {}.".format(", ".join(each.subject for each in wrong))
        if wrong
        else "The course runs here."
    )
    return "\n".join(lines)


def main(arguments=None):
    reader = argparse.ArgumentParser(prog="python3 -m labutils doctor")
    reader.add_argument("--json", action="store_true")
    options = reader.parse_args(arguments)
    try:
        findings = examine(environment.root_folder())
    except Trouble as trouble:
        print(trouble, file=sys.stderr)
        return 1
    good = all(each.state != WRONG for each in findings)
    if options.json:
        print(json.dumps({"runs": good, "findings": [each._asdict() for each in findings]}, indent=1))
    else:
        print(report(findings))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
