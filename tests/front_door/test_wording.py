"""One clear sentence for each foreseeable problem."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from labutils import __main__ as front_door
from labutils import environment, installing, platforms
from labutils.processes import Trouble, Unexplained

GOOD = platforms.Python((3, 12), "CPython", 64, False, "Linux", "x86_64", "glibc", "2.36", "")
MAC = GOOD._replace(system="Darwin", machine="arm64", libc="", libc_version="", macos="14.5")
WINDOWS = GOOD._replace(system="Windows", machine="AMD64", libc="", libc_version="")

# What pip really prints, shortened.
OFFLINE = """\
WARNING: Retrying (Retry(total=0, connect=None)) after connection broken by 'NewConnectionError('<pip._vendor.urllib3>:
Failed to establish a new connection: [Errno 111] Connection refused')': /simple/tensorflow/
ERROR: Could not find a version that satisfies the requirement tensorflow==2.21.0 (from versions: none)
ERROR: No matching distribution found for tensorflow==2.21.0
"""
NO_WHEEL = """\
ERROR: Could not find a version that satisfies the requirement tensorflow==2.21.0 (from versions: none)
ERROR: No matching distribution found for tensorflow==2.21.0
"""


@pytest.mark.parametrize(
    ("output", "code", "sentence"),
    [
        (OFFLINE, 1, "The package index could not be reached"),
        (NO_WHEEL, 1, "The package index has no tensorflow==2.21.0 for this Python"),
        (
            "ERROR: Could not install packages due to a [Errno 28] No space left on device",
            1,
            "The disk is full",
        ),
        ("OSError: [WinError 112] There is not enough space on the disk", 1, "The disk is full"),
        ("SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED]", 1, "could not be trusted"),
        ("pip._vendor.urllib3.exceptions.ReadTimeoutError: Read timed out.", 2, "could not be reached"),
        ("ERROR: ResolutionImpossible: for help visit", 1, "contradict each other"),
        ("ERROR: [Errno 13] Permission denied: '/x'", 1, "belongs to you"),
        ("PermissionError: [WinError 32] The process cannot access the file", 1, "belongs to you"),
        ("Collecting tensorflow", -9, "was killed, most likely because memory ran out"),
    ],
)
def test_what_pip_says_becomes_one_sentence(tmp_path, output, code, sentence):
    problem = installing.explain(output, code, tmp_path, "LOG")
    assert sentence in str(problem) and "LOG" in str(problem)
    assert "\n" not in str(problem)
    assert not isinstance(problem, Unexplained)


def test_what_nobody_foresaw_quotes_pip(tmp_path):
    problem = installing.explain("hello\nERROR: the moon is full\nbye", 1, tmp_path, "LOG")
    assert isinstance(problem, Unexplained)
    assert "the moon is full" in str(problem)


@pytest.mark.parametrize(
    "python", [GOOD, MAC, WINDOWS, GOOD._replace(machine="aarch64"), GOOD._replace(version=(3, 13))]
)
def test_pythons_that_suit(python):
    assert platforms.unsuitable(python) is None


@pytest.mark.parametrize(
    ("python", "words"),
    [
        (GOOD._replace(version=(3, 10)), "Python 3.10: the course needs Python 3.11 to 3.13"),
        (GOOD._replace(version=(3, 14)), "Python 3.14: the course needs"),
        (GOOD._replace(implementation="PyPy"), "PyPy"),
        (GOOD._replace(bits=32), "64-bit"),
        (GOOD._replace(free_threaded=True), "free-threaded"),
        (GOOD._replace(libc="", libc_version=""), "musl"),
        (GOOD._replace(libc_version="2.17"), "glibc 2.17"),
        (GOOD._replace(machine="ppc64le"), "x86_64 and aarch64"),
        (MAC._replace(machine="x86_64"), "Intel"),
        (MAC._replace(macos="11.7"), "macOS 11.7"),
        (WINDOWS._replace(machine="ARM64"), "ARM64"),
        (GOOD._replace(system="FreeBSD"), "FreeBSD"),
    ],
)
def test_pythons_that_do_not(python, words):
    sentence = platforms.unsuitable(python)
    assert sentence.startswith("TensorFlow 2.21 has no package for") and words in sentence
    assert "\n" not in sentence


def test_this_machine_suits():
    assert platforms.unsuitable(platforms.this_python()) is None


def test_the_table_of_platforms_belongs_to_the_pinned_tensorflow():
    pinned = environment.requirements(environment.root_folder())["tensorflow"]
    assert pinned.startswith(platforms.TENSORFLOW + "."), "look up the wheels of the new TensorFlow for platforms.py"


@pytest.mark.parametrize(
    "name", ["__init__", "__main__", "doctor", "environment", "installing", "platforms", "processes", "testing"]
)
def test_an_old_python_can_read_what_tells_its_owner_so(name):
    source = Path(front_door.__file__).with_name(f"{name}.py").read_text(encoding="utf-8")
    ast.parse(source, feature_version=(3, 7))


def test_the_front_door_needs_nothing_but_the_standard_library(course):
    code = "import labutils.__main__, labutils.testing, labutils.doctor, sys; print(*sys.modules)"
    command = [sys.executable, "-S", "-c", code]
    output = subprocess.run(command, cwd=course.root, capture_output=True, text=True, check=True).stdout
    foreign = {name.partition(".")[0] for name in output.split()} - sys.stdlib_module_names
    assert foreign <= {"labutils", "__main__", "__mp_main__", "sitecustomize", "usercustomize"}


def test_help_lists_just_what_exists(capsys):
    assert front_door.main([]) == 2
    text = capsys.readouterr().out
    for command in ("start", "test", "doctor", "diagnose", "bench", "refresh"):
        assert f"\n  {command} " in text or f"\n    {command} " in text


@pytest.mark.parametrize("port", ["0", "70000", "http", "-1"])
def test_a_port_that_is_none(port, capsys):
    with pytest.raises(SystemExit) as end:
        front_door.main(["start", f"--port={port}"])
    assert end.value.code == 2
    assert "a port is a number from 1 to 65535" in capsys.readouterr().err


def test_progress_names_the_stage_and_the_big_downloads():
    now, said = [0.0], []
    progress = installing.Progress(said.append, terminal=False, clock=lambda: now[0])
    for line in [
        "Collecting tensorflow==2.21.0 (from -r requirements.txt (line 2))",
        "  Downloading tensorflow-2.21.0-cp311-cp311-manylinux_2_27_x86_64.whl (572.4 MB)",
        "  Downloading six-1.17.0-py2.py3-none-any.whl (11 kB)",
    ]:
        progress.line(line)
    now[0] = 30.0
    progress.tick()
    progress.line("Installing collected packages: six, tensorflow")
    assert said == [
        "  downloading tensorflow-2.21.0 (572.4 MB) (0 s)",
        "  downloading tensorflow-2.21.0 (572.4 MB) (30 s)",
        "  installing 2 packages (30 s)",
    ]


def test_progress_rewrites_one_line_on_a_terminal(capsys):
    progress = installing.Progress(print, terminal=True, clock=lambda: 1.0)
    progress.line("  Downloading tensorflow-2.21.0-cp311-cp311-linux.whl (572.4 MB)")
    progress.line("Progress 286200000 of 572400000")
    progress.end()
    text = capsys.readouterr().out
    assert "50 %" in text and "\n" not in text and text.endswith("\r")


def test_a_course_that_was_only_updated_needs_no_network():
    have = {"pip": "23.2.1", "setuptools": "80.9.0"}
    assert "--no-build-isolation" in installing.pip_command("python", have)
    assert "--no-build-isolation" not in installing.pip_command("python", {"pip": "25.0", "setuptools": "65.5"})
    assert "raw" in installing.pip_command("python", {"pip": "24.1"})


def test_a_deadline_that_is_no_number(monkeypatch, tmp_path):
    monkeypatch.setenv("LABUTILS_INSTALL_DEADLINE", "soon")
    with pytest.raises(Trouble, match="must be a number of seconds, not 'soon'"):
        installing.install(["true"], tmp_path, tmp_path / "log", print)
