"""A link with a dial: a TCP relay on loopback that lets bytes through as fast, and as late, as it is told."""

import contextlib
import queue
import socket
import threading
import time

HOST = "127.0.0.1"
_CHUNK = 16 << 10  # bytes: at 1 MB/s they take 16 ms, so a slow link still flows evenly
_LARGE = 256 << 10  # bytes at a time where the link is fast, as each chunk costs Python's time
_FAST = 50e6  # bytes/s from which it is
_AHEAD = 0.05  # s of work that a link takes on; then the sender must wait, as on a real link
_PENDING = 256  # chunks that wait for a receiver who does not take them
_POLL = 0.1  # s between two looks at whether the relay was closed


class Wire:
    """One direction of a link: what is sent over it shares its `bandwidth`, and arrives `latency` seconds later.

    bandwidth: bytes/s; None for no limit. latency: seconds that a byte is on its way.
    sent: the bytes that it has taken so far
    ValueError for a bandwidth that is not above 0, or a latency below 0.
    """

    def __init__(self, bandwidth=None, latency=0.0):
        self._lock = threading.Lock()
        self._free = 0.0  # when it has sent off what it has taken
        self.sent = 0
        self.dial(bandwidth, latency)

    def dial(self, bandwidth=None, latency=0.0):
        """Set it, also while it is in use: `bandwidth` in bytes/s, None for no limit, and `latency` in seconds."""
        if bandwidth is not None and not bandwidth > 0:
            raise ValueError(f"A bandwidth is a number of bytes/s above 0, or None for no limit; it was {bandwidth!r}.")
        if not latency >= 0:
            raise ValueError(f"A latency is a number of seconds from 0 up; it was {latency!r}.")
        self.bandwidth, self.latency = bandwidth, latency

    @property
    def chunk(self):
        """How many bytes to take at a time."""
        return _CHUNK if self.bandwidth and self.bandwidth < _FAST else _LARGE

    @property
    def ahead(self):
        """Seconds that it needs for what it has taken and not sent off yet, beyond what it may take on."""
        return self._free - time.monotonic() - _AHEAD

    def take(self, size):
        """Take `size` more bytes; the moment (`time.monotonic`) at which the last of them will arrive."""
        with self._lock:
            self.sent += size
            begin = max(time.monotonic(), self._free)
            self._free = begin + (size / self.bandwidth if self.bandwidth else 0.0)
            return self._free + self.latency


class Relay:
    """Passes connections to `port` on to the port `target`, both on loopback, over a link with a dial.

    bandwidth: bytes/s in each direction, shared by all connections; None for no limit
    latency: seconds that a byte is on its way, in each direction
    wires: (there, back), two Wires to be used instead, which other relays may share
    Both may be changed at any time (`dial`). `close()` ends it; as a context manager it closes itself. ValueError for a
    bandwidth that is not above 0, or a latency below 0.
    """

    def __init__(self, target, bandwidth=None, latency=0.0, wires=None):
        self.target = target
        self.wires = wires or (Wire(bandwidth, latency), Wire(bandwidth, latency))
        self._lock, self._closed = threading.Lock(), threading.Event()
        self._sockets = set()
        self._listener = socket.create_server((HOST, 0))
        self._listener.settimeout(_POLL)
        self.port = self._listener.getsockname()[1]
        self._accepting = self._start(self._accept)

    def dial(self, bandwidth=None, latency=0.0):
        """Set both directions: `bandwidth` in bytes/s, None for no limit, and `latency` in seconds."""
        for wire in self.wires:
            wire.dial(bandwidth, latency)

    def close(self):
        """Close the port and every connection through it. A second call does nothing."""
        self._closed.set()
        _shut(self._listener)
        self._accepting.join(10 * _POLL)  # as long as it waits for somebody, the port is not given back
        with self._lock:
            sockets, self._sockets = self._sockets, set()
        for each in sockets:
            _shut(each)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _start(self, work, *arguments):
        thread = threading.Thread(target=work, args=arguments, daemon=True, name="relay")
        thread.start()
        return thread

    def _accept(self):
        while not self._closed.is_set():
            try:
                near, _ = self._listener.accept()
            except TimeoutError:
                continue
            except OSError:
                return  # closed
            self._start(self._connect, near)

    def _connect(self, near):
        try:
            far = socket.create_connection((HOST, self.target), timeout=10)
        except OSError:  # nobody listens there: neither does the relay, then
            near.close()
            return
        for each in (near, far):
            each.settimeout(None)
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            self._sockets |= {near, far}
        if self._closed.is_set():
            self.close()
        for wire, (source, sink) in zip(self.wires, ((near, far), (far, near)), strict=True):
            chunks = queue.Queue(_PENDING)
            self._start(self._take, source, chunks, wire)
            self._start(self._give, source, sink, chunks)

    def _take(self, source, chunks, wire):
        """Read what comes, and note for each chunk when it will have arrived."""
        with contextlib.suppress(OSError):
            while data := source.recv(wire.chunk):
                chunks.put((wire.take(len(data)), data))
                if (ahead := wire.ahead) > 0:
                    self._closed.wait(ahead)
        chunks.put((0.0, b""))

    def _give(self, source, sink, chunks):
        """Hand each chunk on when its time has come; at the end say so to the other side."""
        arrives, data = chunks.get()
        try:
            while data:
                if (early := arrives - time.monotonic()) > 0:
                    self._closed.wait(early)
                sink.sendall(data)
                arrives, data = chunks.get()
            sink.shutdown(socket.SHUT_WR)
        except OSError:  # the receiver is gone, or the relay was closed: the sender shall know, and not wait for room
            _shut(source)
            while data:
                _, data = chunks.get()


def _shut(connection):
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
