"""JupyterLab for the course: on loopback only, with a token, gone when the command ends."""

import argparse
import contextlib
import json
import os
import pathlib
import secrets
import socket
import sys
import time
import urllib.error
import urllib.request
import webbrowser

from labutils import environment, processes
from labutils.processes import Stopped, Trouble

HOST = "127.0.0.1"
FIRST, PORTS = 8888, 100
FIRST_PAGE = "notebooks/00_start_here.ipynb"
READY_DEADLINE = 90  # s; a first start on a slow disk takes about 20


def is_free(port):
    """Whether nobody listens on this port of loopback."""
    with socket.socket() as probe:
        if not processes.WINDOWS:  # as the server does: a port that was just given back is free
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


def choose_port(wanted=None):
    if wanted is not None:
        if not is_free(wanted):
            raise Trouble(f"Port {wanted} is in use on this machine: leave --port away or name another.")
        return wanted
    for port in range(FIRST, FIRST + PORTS):
        if is_free(port):
            return port
    raise Trouble(f"No port from {FIRST} to {FIRST + PORTS - 1} is free: name one with --port.")


def settings_folder(root):
    """JupyterLab's own settings for the course, so that a configuration of the learner's cannot open it to the
    network or take its token away; here too the question whether to fetch news from jupyter.org is answered: no."""
    folder = environment.folder_of(root) / "jupyter"
    pages = folder / "labconfig" / "page_config.json"
    pages.parent.mkdir(parents=True, exist_ok=True)
    pages.write_text(json.dumps({"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}))
    return folder


def command(root, port):
    """The command line of the server. It names no token: other users could read it there."""
    page = f"/lab/tree/{FIRST_PAGE}" if (root / FIRST_PAGE).is_file() else "/lab"
    flags = {
        "ServerApp.ip": HOST,
        "ServerApp.port": port,
        "ServerApp.port_retries": 0,
        "ServerApp.open_browser": False,
        "ServerApp.allow_remote_access": False,
        "ServerApp.root_dir": root,
        "LabApp.default_url": page,
    }
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # in a container; Jupyter refuses root unless told
        flags["ServerApp.allow_root"] = True
    return [sys.executable, "-m", "jupyterlab"] + [f"--{name}={value}" for name, value in flags.items()]


def address(root, port, token):
    page = f"lab/tree/{FIRST_PAGE}" if (root / FIRST_PAGE).is_file() else "lab"
    return f"http://{HOST}:{port}/{page}?token={token}"


def launch(root, port, token):
    """Start the server; its chatter goes to a file beside the environment."""
    log = environment.folder_of(root) / f"jupyterlab-{port}.log"
    variables = environment.child_environment(
        JUPYTER_TOKEN=token, JUPYTER_CONFIG_DIR=str(settings_folder(root)), TF_CPP_MIN_LOG_LEVEL="3"
    )
    with open(log, "wb") as file:
        return processes.launch(command(root, port), cwd=root, env=variables, stdout=file, stderr=file), log


def wait_until_ready(server, port, token, log):
    deadline = time.monotonic() + READY_DEADLINE
    request = urllib.request.Request(f"http://{HOST}:{port}/api/status", headers={"Authorization": f"token {token}"})
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # a company's proxy is not for loopback
    while time.monotonic() < deadline:
        if server.poll() is not None:
            lines = log.read_text(errors="replace").strip().splitlines() or ["nothing"]
            raise Trouble(f"JupyterLab ended as soon as it started (it said: {lines[-1]}). Its log is {log}.")
        with contextlib.suppress(OSError, urllib.error.URLError), direct.open(request, timeout=5):
            return
        time.sleep(0.1)
    raise Trouble(f"JupyterLab did not answer within {READY_DEADLINE} s. Its log is {log}.")


def open_browser(url):
    """Open a graphical browser where there is one; a text browser would take the terminal over."""
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False
    try:
        return webbrowser.open(url)
    except webbrowser.Error:
        return False


def serve(root, port=None, browser=True):
    """Run JupyterLab in the foreground until somebody ends it."""
    port, token = choose_port(port), secrets.token_hex(24)
    server, log = launch(root, port, token)
    try:
        wait_until_ready(server, port, token, log)
        url = address(root, port, token)
        opened = browser and open_browser(url)
        print("JupyterLab is open in your browser, at" if opened else "JupyterLab is ready. Open this address:")
        print(f"\n    {url}\n\nCtrl-C here ends it.", flush=True)
        code = server.wait()
        print(f"JupyterLab has ended{f' with exit code {code}; its log is {log}' if code else ''}.")
        return 1 if code else 0
    finally:
        processes.stop(server)


def main(arguments=None):
    reader = argparse.ArgumentParser(prog="python3 -m labutils start")
    reader.add_argument("--no-browser", action="store_true")
    reader.add_argument("--port", type=int)
    options = reader.parse_args(arguments)
    root = pathlib.Path(environment.root_folder())
    try:
        with processes.stopping_on_signals():
            return serve(root, options.port, browser=not options.no_browser)
    except Trouble as trouble:
        print(trouble, file=sys.stderr)
        return 1
    except Stopped:
        print("\nJupyterLab has ended. The same command opens it again.")
        return 0


if __name__ == "__main__":
    sys.exit(main())
