"""TensorBoard beside a notebook: it answers on loopback, it runs once, and it leaves nothing behind."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import psutil
import pytest

from labutils.profile import board


def answer(address, path):
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(address.split("#")[0] + path, timeout=30) as page:
        return page.read()


def gone(pid):
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == "zombie":
            return True
        time.sleep(0.1)
    return False


@pytest.fixture
def logdir(tmp_path):
    run = tmp_path / "plugins" / "profile" / "run1"
    run.mkdir(parents=True)
    (run / "host.xplane.pb").write_bytes(b"")
    yield tmp_path
    board.close_boards()


def test_it_serves_the_profile_tab_on_loopback_and_ends(logdir):
    shown = board.open_board(logdir)
    assert json.loads(answer(shown.address, "data/plugins_listing"))["profile"]["enabled"]
    assert f'<iframe src="{shown.address}"' in shown.frame()
    assert set(shown._repr_mimebundle_()) >= {"text/plain", "application/vnd.jupyter.widget-view+json"}
    listening = [
        place.laddr.ip for place in psutil.Process(shown.process.pid).net_connections() if place.status == "LISTEN"
    ]
    assert listening == ["127.0.0.1"]
    assert board.open_board(str(logdir)) is shown, "a cell that runs twice starts one TensorBoard"
    shown.close()
    assert gone(shown.process.pid) and "ended" in shown.frame()
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", shown.port)) != 0


def test_a_killed_kernel_takes_it_along(logdir):
    if not sys.platform.startswith("linux"):
        pytest.skip("only Linux tells a child that its parent was killed")
    code = (
        "import sys\nfrom labutils.profile import board\n"
        "print(board.open_board(sys.argv[1]).process.pid, flush=True)\ninput()"
    )
    kernel = subprocess.Popen([sys.executable, "-c", code, logdir], stdout=subprocess.PIPE, stdin=subprocess.PIPE)
    pid = int(kernel.stdout.readline())
    os.kill(kernel.pid, signal.SIGKILL)
    kernel.communicate()
    assert gone(pid)


def test_no_such_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        board.open_board(tmp_path / "nowhere")


def test_what_does_not_start_shows_its_last_words(logdir, monkeypatch):
    monkeypatch.setattr(board.sys, "executable", "/bin/false" if os.path.exists("/bin/false") else "/usr/bin/false")
    with pytest.raises(RuntimeError, match="ended before it answered"):
        board.open_board(logdir)
