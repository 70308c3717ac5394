"""Log directories as found in the wild: links, pipes, closed folders, mangled traces, and names that are none."""

import gzip
import json
import os
import subprocess
import sys

import pytest

from labutils.profile import BadCapture, capture, diagnose
from labutils.profile.runs import find_runs

RUN = ("plugins", "profile", "run1")


def folder_of(tmp_path):
    folder = tmp_path.joinpath(*RUN)
    folder.mkdir(parents=True)
    return folder


def test_a_pipe_and_links_to_nowhere_are_no_captures(usual, tmp_path):
    folder = folder_of(tmp_path)
    os.mkfifo(folder / "pipe.xplane.pb")
    (folder / "gone.xplane.pb").symlink_to(tmp_path / "nowhere")
    (folder / "loop.xplane.pb").symlink_to(folder / "loop.xplane.pb")
    with pytest.raises(BadCapture, match="no profile below"):
        diagnose(tmp_path)
    usual().write(tmp_path, run="run1")
    assert diagnose(tmp_path, with_official=False).steps == 6


def test_linked_folders_are_followed_and_loops_end(usual, tmp_path):
    usual().write(tmp_path / "elsewhere")
    logs = tmp_path / "logs" / "plugins" / "profile"
    logs.mkdir(parents=True)
    (logs / "linked").symlink_to(next((tmp_path / "elsewhere").rglob("*.xplane.pb")).parent)
    (logs / "loop").symlink_to(tmp_path / "logs")
    assert [run.name for run in find_runs(tmp_path / "logs")] == ["linked"]


@pytest.mark.parametrize("name", ["", "x" * 5000, "~nobodyxx/logs", "a\0b", 7])
def test_names_that_are_no_folder(name):
    with pytest.raises(BadCapture):
        diagnose(name)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may read everything")
def test_a_closed_folder_is_named(usual, tmp_path):
    closed = usual().write(tmp_path).parent
    closed.chmod(0)
    try:
        with pytest.raises(BadCapture, match="cannot be read"):
            diagnose(tmp_path)
    finally:
        closed.chmod(0o755)


def event(**changed):
    return {"ph": "X", "pid": 1, "tid": 1, "ts": 1.0, "dur": 2.0, "name": "a:MatMul"} | changed


@pytest.mark.parametrize(
    "content",
    [
        gzip.compress(b"{}" * 500)[:30] + b"\x07" * 40,
        gzip.compress(b"[" * 200_000),
        *(
            gzip.compress(json.dumps({"traceEvents": [event(), event(**changed)]}).encode())
            for changed in ({"ts": float("nan")}, {"ts": 1e300}, {"dur": float("inf")}, {"ts": "soon"})
        ),
    ],
    ids=["damaged", "nested", "nan", "never", "endless", "words"],
)
def test_a_mangled_trace_gets_a_sentence(tmp_path, content):
    (folder_of(tmp_path) / "host.trace.json.gz").write_bytes(content)
    with pytest.raises(BadCapture):
        diagnose(tmp_path)


@pytest.mark.parametrize("changed", [{"args": [1]}, {"args": "x"}, {"pid": [1]}, {"ph": "M", "args": [1]}])
def test_a_trace_with_one_odd_event_is_read(tmp_path, changed):
    text = json.dumps({"traceEvents": [event(), event(**changed)]})
    (folder_of(tmp_path) / "host.trace.json").write_text(text)
    assert diagnose(tmp_path).confidence == "low"


def test_a_terminal_without_greek_and_a_reader_that_leaves(usual, tmp_path):
    usual().write(tmp_path)
    command = [sys.executable, "-m", "labutils.profile.command", str(tmp_path)]
    said = subprocess.run(command, capture_output=True, env=os.environ | {"PYTHONIOENCODING": "ascii"}, timeout=120)
    assert said.returncode == 0 and b"?" in said.stdout and not said.stderr
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    child.stdout.close()
    assert child.stderr.read() == b"" and child.wait(timeout=120) == 0
    child.stderr.close()


@pytest.mark.parametrize("names", [{"run": "/tmp/x"}, {"run": "a/../b"}, {"host": "a/b"}, {"run": ""}, {"host": ".."}])
def test_a_run_and_a_host_are_plain_names(tmp_path, names):
    with pytest.raises(ValueError, match="a plain name"):
        capture(lambda: None, tmp_path, warm_up=0, **names)
    assert not list(tmp_path.iterdir())


def test_a_bucket_is_no_folder():
    with pytest.raises(ValueError, match="a folder of this machine"):
        capture(lambda: None, "gs://bucket/logs", warm_up=0)
