"""A link with a dial: a TCP relay on loopback that lets bytes through as fast, and as late, as it is told."""

import contextlib
import queue
import socket
import threading
import time

HOST = "127.0.0.1"
_CHUNK = 16 << 10  # bytes: at 1 MB/s they take 16 ms, so a slow link still flows evenly
_PENDING = 64  # chunks on their way in one direction of one connection; then the sender must wait, as on a real link
_POLL = 0.1  # s between two looks at whether the relay was closed


class Relay:
    """Passes connections to `port` on to the port `target`, both on loopback, over a link with a dial.

    bandwidth: bytes/s in each direction, shared by all connections; None for no limit
    latency: seconds that a byte is on its way, in each direction
    Both may be changed at any time (`dial`). `close()` ends it; as a context manager it closes itself. ValueError for a
    bandwidth that is not above 0, or a latency below 0.
    """

    def __init__(self, target, bandwidth=None, latency=0.0):
        self.target = target
        self.dial(bandwidth, latency)
        self._free = [0.0, 0.0]  # when the link has sent off what it has taken, by direction
        self._lock, self._closed = threading.Lock(), threading.Event()
        self._sockets = set()
        self._listener = socket.create_server((HOST, 0))
        self._listener.settimeout(_POLL)
        self.port = self._listener.getsockname()[1]
        self._accepting = self._start(self._accept)

    def dial(self, bandwidth=None, latency=0.0):
        """Set the link: `bandwidth` in bytes/s, None for no limit, and `latency` in seconds."""
        if bandwidth is not None and not bandwidth > 0:
            raise ValueError(f"A bandwidth is a number of bytes/s above 0, or None for no limit; it was {bandwidth!r}.")
        if not latency >= 0:
            raise ValueError(f"A latency is a number of seconds from 0 up; it was {latency!r}.")
        self.bandwidth, self.latency = bandwidth, latency

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
        for direction, (source, sink) in enumerate(((near, far), (far, near))):
            chunks = queue.Queue(_PENDING)
            self._start(self._take, source, chunks, direction)
            self._start(self._give, source, sink, chunks)

    def _take(self, source, chunks, direction):
        """Read what comes, and note for each chunk when it will have arrived."""
        with contextlib.suppress(OSError):
            while data := source.recv(_CHUNK):
                chunks.put((self._sent(len(data), direction) + self.latency, data))
        chunks.put((0.0, b""))

    def _sent(self, size, direction):
        """When the link will have sent off `size` more bytes."""
        with self._lock:
            begin = max(time.monotonic(), self._free[direction])
            self._free[direction] = begin + (size / self.bandwidth if self.bandwidth else 0.0)
            return self._free[direction]

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
