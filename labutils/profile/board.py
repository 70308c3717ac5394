"""TensorBoard beside a notebook: started on loopback, shown in the page, gone when the kernel ends."""

import atexit
import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import ipywidgets as widgets

from labutils import processes

HOST = "127.0.0.1"
DEADLINE = 90  # s until it answers; an idle machine takes five
_LINK = "color: #0b57d0; text-decoration: underline"  # in a widget JupyterLab would show it as plain text
ATTEMPTS = 3  # another program may take the port that was free a moment ago
_open = {}  # {folder: Board} of this kernel: a cell that runs twice shows the board that is there


class Board:
    """A running TensorBoard: `address` to open in a browser, `close()` to end it; a notebook shows it in a frame."""

    def __init__(self, logdir, process, port):
        self.logdir, self.process, self.port = logdir, process, port

    @property
    def address(self):
        return f"http://{HOST}:{self.port}/#profile"

    @property
    def alive(self):
        return self.process.poll() is None

    def close(self):
        """End TensorBoard. A second call does nothing."""
        _open.pop(self.logdir, None)
        processes.stop(self.process, grace=3)

    def __repr__(self):
        return f"TensorBoard at {self.address}" if self.alive else "TensorBoard (closed)"

    def _repr_mimebundle_(self, include=None, exclude=None):
        # As a widget: a notebook that is opened later shows a line of text, and no frame of a server that is gone.
        bundle = dict(widgets.HTML(self.frame(), layout={"width": "100%"})._repr_mimebundle_())
        bundle["text/plain"] = repr(self)
        return bundle

    def frame(self):
        """The page in a frame, with a link to it, as HTML."""
        if not self.alive:
            return "<p>This TensorBoard has ended. Run the cell again to start another.</p>"
        return (
            f'<p><a href="{self.address}" target="_blank" rel="noopener" style="{_LINK}">'
            "Open TensorBoard in a page of its own</a></p>"
            f'<iframe src="{self.address}" width="100%" height="640" style="border: 1px solid #ccc"></iframe>'
        )


def open_board(logdir):
    """Start TensorBoard on the folder and wait until it answers: a Board, the one that runs already if there is one.

    It listens on loopback only and ends with this process. FileNotFoundError for no such folder, RuntimeError with the
    last lines of its log where it does not start.
    """
    folder = Path(logdir).expanduser().resolve()
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {logdir}: give the one that the captures were written to.")
    board = _open.get(folder)
    if board and board.alive:
        return board
    if board is None and not _open:
        atexit.register(close_boards)
    _open[folder] = _start(folder)
    return _open[folder]


def close_boards():
    """End every TensorBoard that this process has started."""
    for board in list(_open.values()):
        board.close()


def _start(folder):
    for _ in range(ATTEMPTS):
        with tempfile.TemporaryFile() as log:
            board = Board(folder, *_launch(folder, log))
            if _answers(board):
                return board
            ended = not board.alive
            board.close()
            log.seek(0)
            said = "\n".join(log.read().decode("utf-8", "replace").splitlines()[-8:])
        if not ended:
            break  # it runs and does not answer: another port will not help
    happened = "ended before it answered" if ended else f"did not answer within {DEADLINE} s"
    raise RuntimeError(f"TensorBoard {happened}. Its last words:\n{said or '(none)'}")


def _launch(folder, log):
    port = _free_port()
    flags = {"logdir": folder, "host": HOST, "port": port, "load_fast": "false"}
    command = [sys.executable, "-m", "tensorboard.main", *(f"--{name}={value}" for name, value in flags.items())]
    # No GPU for a program that only reads files.
    variables = os.environ | {"CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    return processes.launch(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=variables), port


def _free_port():
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return probe.getsockname()[1]


def _answers(board):
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # a proxy cannot see loopback
    deadline = time.monotonic() + DEADLINE
    while board.alive and time.monotonic() < deadline:
        with (
            contextlib.suppress(OSError),  # also urllib's own errors: it does not listen yet
            direct.open(f"http://{HOST}:{board.port}/data/plugins_listing", timeout=10) as answer,
        ):
            return answer.status == 200
        time.sleep(0.2)
    return False
