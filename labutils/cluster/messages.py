"""Messages between us and the processes that we started: length first, then what cloudpickle made of the message.

Both ends are ours, on pipes that nobody else can open, so nothing is unpickled that we did not write.
"""

import pickle
import struct
import threading

import cloudpickle

_LENGTH = struct.Struct("<Q")


class Channel:
    """Sends messages to the binary file `sink` and receives them from the binary file `source`; either may be None."""

    def __init__(self, source=None, sink=None):
        self._source, self._sink = source, sink
        self._lock = threading.Lock()  # several threads of a worker have something to say

    def send(self, *message):
        """Send a tuple. Raises OSError where the other side is gone, and what cloudpickle raises."""
        self.send_bytes(cloudpickle.dumps(message))

    def send_bytes(self, data):
        """Send what `cloudpickle.dumps` made of a tuple."""
        with self._lock:
            self._sink.write(_LENGTH.pack(len(data)))
            self._sink.write(data)
            self._sink.flush()

    def receive(self):
        """The next message; EOFError where the other side has ended."""
        (length,) = _LENGTH.unpack(self._read(_LENGTH.size))
        return pickle.loads(self._read(length))

    def _read(self, size):
        data = self._source.read(size)
        if data is None or len(data) < size:
            raise EOFError
        return data
