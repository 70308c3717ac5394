"""`start` really serves JupyterLab: on loopback, with a token, and gone when the command ends."""

import json
import os
import re
import signal
import socket
import urllib.error
import urllib.request

import psutil
import pytest

from labutils import server
from labutils.processes import Trouble


@pytest.fixture
def taken():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_a_port_in_use_is_told(taken):
    with pytest.raises(Trouble, match=f"Port {taken} is in use"):
        server.choose_port(taken)


def test_a_port_that_nobody_asked_for_is_the_next_free_one(taken, monkeypatch):
    monkeypatch.setattr(server, "FIRST", taken)
    assert taken < server.choose_port() < taken + server.PORTS


def test_the_command_line_tells_no_token(course):
    assert not any("token" in word for word in server.command(course.root, 8888))


def test_without_a_display_no_text_browser_takes_the_terminal(monkeypatch):
    monkeypatch.setattr(server.sys, "platform", "linux")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr(server.webbrowser, "open", lambda url: pytest.fail("a browser was opened"))
    assert server.open_browser("http://127.0.0.1") is False


def get(url, token=None, data=None):
    request = urllib.request.Request(url, data=data, headers={"Authorization": f"token {token}"} if token else {})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10) as answer:
        return json.load(answer)


def started(course, **more):
    """`start --no-browser` in a complete course; (process, base address, token)."""
    course.light_venv()
    course.notebook("00_start_here.ipynb", ("1 + 1", []))
    port = free_port()
    child = course.popen("labutils", "start", "--no-browser", "--port", str(port), **more)
    said = []
    for line in child.stdout:
        said.append(line)
        found = re.search(r"(http://127\.0\.0\.1:\d+)/lab/tree/notebooks/00_start_here\.ipynb\?token=(\w+)", line)
        if found:
            return child, *found.groups()
    raise AssertionError("".join(said))


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGKILL])
def test_it_serves_and_leaves_nothing(course, tmp_path, signum):
    # A learner's own configuration that would open the course to everybody must not count.
    (tmp_path / "jupyter_server_config.py").write_text("c.ServerApp.ip = '0.0.0.0'\nc.IdentityProvider.token = ''\n")
    child, base, token = started(course, JUPYTER_CONFIG_DIR=str(tmp_path), JUPYTER_TOKEN="")
    with pytest.raises(urllib.error.HTTPError, match="403"):
        get(f"{base}/api/contents")
    assert get(f"{base}/api/contents/notebooks/00_start_here.ipynb", token)["type"] == "notebook"
    kernel = get(f"{base}/api/kernels", token, data=b"{}")
    assert kernel["id"]
    family = psutil.Process(child.pid).children(recursive=True)
    listening = [c for p in [psutil.Process(child.pid), *family] for c in p.net_connections() if c.status == "LISTEN"]
    assert {c.laddr.ip for c in listening} == {"127.0.0.1"}
    assert len(family) >= 2  # the server and the kernel

    child.send_signal(signum)
    output = child.communicate(timeout=30)[0]
    assert "Traceback" not in output
    if signum != signal.SIGKILL:
        assert child.returncode == 0
        assert "JupyterLab has ended" in output
    _, alive = psutil.wait_procs(family, timeout=15)
    assert not [process for process in alive if process.status() != psutil.STATUS_ZOMBIE]
    assert course.nothing_runs()


def test_a_server_that_ends_at_once_is_told(course, monkeypatch):
    course.light_venv()
    monkeypatch.setattr(server, "command", lambda *_: [server.sys.executable, "-c", "print('no such page'); exit(3)"])
    with pytest.raises(Trouble, match="no such page"):
        server.serve(course.root, browser=False)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="POSIX only")
def test_an_unknown_option_is_a_usage_error(course):
    code, output = course.run("labutils", "start", "--prot", "1")
    assert code == 2 and "--prot" in output
