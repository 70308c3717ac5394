"""Making and mending `.venv`: what goes wrong is said in one sentence, and nothing half-made is taken for done."""

import errno
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

import pytest

from labutils import environment, installing, platforms, processes
from labutils.environment import READY, UNFINISHED
from labutils.processes import Trouble


def test_from_nothing_and_then_at_once(offline):
    said = []
    python = environment.prepare(offline.root, said.append)
    assert offline.state() == READY
    assert subprocess.run([python, "-c", "import tiny"], timeout=30).returncode == 0
    assert "Making" in said[0] and "ready" in said[-1]

    def forbidden(*_, **__):
        raise AssertionError("a second start must not run pip")

    started = time.monotonic()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(installing, "install", forbidden)
        environment.prepare(offline.root, said.append)
    assert time.monotonic() - started < 2


def test_changed_requirements_are_installed(offline):
    offline.light_venv(stamped=False)
    environment.prepare(offline.root)
    offline.require("tiny==2.0")
    environment.prepare(offline.root)
    assert environment.installed(offline.root)["tiny"] == "2.0"
    assert offline.state() == READY


@pytest.fixture
def quick_venv(monkeypatch):
    """Environments without a pip of their own are made in a moment."""
    monkeypatch.setattr(environment, "VENV", ["venv", "--without-pip"])


def test_a_broken_one_of_ours_is_made_anew(offline, quick_venv, monkeypatch):
    offline.light_venv()
    environment.python_of(offline.root).unlink()
    (offline.venv / "lib" / "rubbish").write_text("")
    made = []
    monkeypatch.setattr(environment, "_fill", lambda root, *_: made.append(root))
    environment.prepare(offline.root)
    assert made and environment.python_of(offline.root).exists()
    assert not (offline.venv / "lib" / "rubbish").exists()
    assert offline.state() == UNFINISHED  # nothing was installed, so nothing says that it is done


def test_somebody_elses_environment_is_kept_when_it_is_broken(offline, quick_venv, monkeypatch):
    offline.light_venv(stamped=False)
    (offline.venv / environment.MARKER).unlink()
    (offline.venv / "mine.txt").write_text("keep me")
    environment.python_of(offline.root).unlink()
    monkeypatch.setattr(environment, "_fill", lambda *_: None)
    said = []
    environment.prepare(offline.root, said.append)
    assert (offline.root / ".venv-old" / "mine.txt").read_text() == "keep me"
    assert any(".venv-old" in line for line in said)


def test_somebody_elses_working_environment_is_completed_in_place(offline):
    offline.light_venv(stamped=False)
    (offline.venv / environment.MARKER).unlink()
    (offline.venv / "mine.txt").write_text("keep me")
    environment.prepare(offline.root)
    assert offline.state() == READY
    assert (offline.venv / "mine.txt").exists()


def test_a_folder_of_somebody_elses_files_is_never_touched(offline):
    offline.venv.mkdir()
    (offline.venv / "thesis.txt").write_text("years of work")
    with pytest.raises(Trouble, match="move it away"):
        environment.prepare(offline.root)
    assert os.listdir(offline.venv) == ["thesis.txt"]


def test_a_package_that_does_not_start_leaves_no_stamp(offline, monkeypatch):
    offline.light_venv(stamped=False)
    monkeypatch.setattr(environment, "SMOKE", [("tiny", "raise SystemExit('tiny is broken')")])
    monkeypatch.setattr(environment, "_make", lambda *_: None)
    monkeypatch.setattr(installing, "install", lambda *_: None)
    monkeypatch.setattr(environment, "differences", lambda root: [])
    with pytest.raises(Trouble, match="tiny is installed but does not start"):
        environment.prepare(offline.root)
    assert offline.state() == UNFINISHED


def test_without_a_network_one_sentence(course):
    course.light_venv(stamped=False)
    code, output = course.run(
        "labutils", "start", PIP_NO_INDEX="0", PIP_FIND_LINKS="", PIP_INDEX_URL="http://127.0.0.1:9", PIP_RETRIES="1"
    )
    assert code == 1
    last = output.strip().splitlines()[-1]
    assert last.startswith("The package index could not be reached") and "install.log" in last
    assert course.state() == UNFINISHED


def test_a_pin_that_the_index_lacks(course):
    course.light_venv(stamped=False)
    course.require("tiny==9.9")
    code, output = course.run("labutils", "start")
    assert code == 1
    assert "The package index has no tiny==9.9" in output.strip().splitlines()[-1]


def test_a_full_disk_one_sentence(offline, monkeypatch):
    offline.light_venv(stamped=False)
    pip = "print('ERROR: Could not install packages: [Errno 28] No space left on device'); raise SystemExit(1)"
    real = installing.install
    monkeypatch.setattr(installing, "install", lambda _, *given: real([sys.executable, "-c", pip], *given))
    with pytest.raises(Trouble, match=r"The disk is full .*GB free"):
        environment.prepare(offline.root)
    assert offline.state() == UNFINISHED


def test_a_disk_that_fills_while_we_write_ourselves(offline, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(environment, "_make", full)
    with pytest.raises(Trouble, match="The disk is full"):
        environment.prepare(offline.root)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written(offline):
    offline.root.chmod(0o555)
    try:
        with pytest.raises(Trouble, match="could not be written"):
            environment.prepare(offline.root)
    finally:
        offline.root.chmod(0o755)


def test_a_python_that_is_too_old(offline, monkeypatch):
    old = platforms.this_python()._replace(version=(3, 9))
    monkeypatch.setattr(platforms, "this_python", lambda: old)
    with pytest.raises(Trouble, match=r"no package for Python 3.9: the course needs Python 3.11 to 3.13"):
        environment.prepare(offline.root)
    assert not offline.venv.exists()


def test_a_python_without_its_venv_module(offline, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "ensurepip" else object())
    with pytest.raises(Trouble, match="its module ensurepip is missing: install"):
        environment.prepare(offline.root)
    assert not offline.venv.exists()


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_installation_is_not_taken_for_done(course, signum):
    course.light_venv(stamped=False)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # an index that takes the call and never answers
        index = f"http://127.0.0.1:{silent.getsockname()[1]}/simple"
        child = course.popen("labutils", "start", PIP_NO_INDEX="0", PIP_FIND_LINKS="", PIP_INDEX_URL=index)
        silent.settimeout(30)
        call = silent.accept()[0]
        child.send_signal(signum)
        output = child.communicate(timeout=30)[0]
        assert course.nothing_runs()
        call.close()
    assert "Traceback" not in output
    if signum != signal.SIGKILL:
        assert child.returncode == 128 + signum
        assert output.strip().endswith("run the same command again to go on.")
    assert course.state() == UNFINISHED
    code, _ = course.run("labutils", "bench")  # the next command goes on where this one stopped
    assert code == 0 and course.state() == READY


HOLDER = """
import sys, time
from labutils import processes
with processes.locked(sys.argv[1], print):
    print("held", flush=True)
    time.sleep(60)
"""


def hold_lock(course):
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(course.root)], stdout=subprocess.PIPE, cwd=course.root)
    assert holder.stdout.readline().strip() == b"held"
    return holder


def test_two_starts_at_once_the_second_has_a_deadline(offline, monkeypatch):
    offline.light_venv(stamped=False)
    holder = hold_lock(offline)
    monkeypatch.setenv("LABUTILS_LOCK_DEADLINE", "0.5")
    said = []
    try:
        with pytest.raises(Trouble, match="Another command has been preparing"):
            environment.prepare(offline.root, said.append)
    finally:
        holder.kill()
        holder.communicate()
    assert "waiting" in said[0]


def test_a_lock_dies_with_its_holder(offline):
    holder = hold_lock(offline)
    holder.kill()
    holder.communicate()
    started = time.monotonic()
    with processes.locked(offline.root, print):
        assert time.monotonic() - started < 5


def test_two_starts_at_once_install_once(course):
    course.light_venv(stamped=False)
    shutil.copy(environment.__file__, course.root / "labutils")
    (course.root / "tests" / "benchmarks").mkdir(parents=True)
    both = [course.popen("labutils", "bench") for _ in range(2)]
    outputs = [child.communicate(timeout=60)[0] for child in both]
    assert [child.returncode for child in both] == [0, 0], outputs
    assert sum("The environment is ready" in output for output in outputs) == 1
