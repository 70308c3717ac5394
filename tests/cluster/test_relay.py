"""The link with a dial: bytes arrive as they were sent, no sooner than the dial says, and nothing is left behind."""

import contextlib
import os
import socket
import threading
import time

import pytest

from labutils.cluster.relay import HOST, Relay, Wire

SIZE = 200_000


@pytest.fixture
def echo():
    """A server that sends back whatever it gets: its port."""
    with socket.create_server((HOST, 0)) as listener:

        def serve(connection):
            with contextlib.suppress(OSError), connection:
                while data := connection.recv(1 << 16):
                    connection.sendall(data)

        def accept():
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]


def there_and_back(port, data):
    """What comes back, and the seconds until all of it has."""
    with socket.create_connection((HOST, port), timeout=20) as connection:
        start = time.monotonic()
        threading.Thread(target=connection.sendall, args=(data,), daemon=True).start()
        back = bytearray()
        while len(back) < len(data):
            more = connection.recv(1 << 16)
            assert more, f"the connection ended after {len(back)} of {len(data)} bytes"
            back += more
        return back, time.monotonic() - start


def test_bytes_arrive_as_they_were_sent(echo):
    data = os.urandom(SIZE)
    with Relay(echo) as relay:
        assert there_and_back(relay.port, data)[0] == data


def test_a_bandwidth_is_not_exceeded(echo):
    with Relay(echo, bandwidth=1e6) as relay:
        assert there_and_back(relay.port, bytes(SIZE))[1] > 0.95 * SIZE / 1e6


def test_a_latency_holds_in_both_directions(echo):
    with Relay(echo, latency=0.1) as relay:
        assert there_and_back(relay.port, b"x")[1] > 0.95 * 0.2


def test_connections_share_the_link(echo):
    with Relay(echo, bandwidth=1e6) as relay:
        took = []
        work = [
            threading.Thread(target=lambda: took.append(there_and_back(relay.port, bytes(SIZE // 2))[1])) for _ in "ab"
        ]
        for each in work:
            each.start()
        for each in work:
            each.join(20)
        assert len(took) == 2 and max(took) > 0.95 * SIZE / 1e6


def test_the_dial_turns_while_it_runs(echo):
    with Relay(echo, latency=0.2) as relay, socket.create_connection((HOST, relay.port), timeout=20) as connection:
        times = []
        for latency in (0.2, 0.0):
            relay.dial(latency=latency)
            start = time.monotonic()
            connection.sendall(b"x")
            assert connection.recv(1) == b"x"
            times.append(time.monotonic() - start)
        assert times[0] > 0.38 and times[1] < times[0]


def test_what_is_on_its_way_does_not_hold_up_what_follows(echo):
    """A link of high bandwidth and high latency holds many bytes at once; it is no buffer of fixed size."""
    size, latency, buffer = 8_000_000, 0.5, 1_000_000
    with Relay(echo, bandwidth=40e6, latency=latency) as relay:
        took = there_and_back(relay.port, bytes(size))[1]
    through_a_buffer = size / buffer * latency  # each buffer's content would leave only when the last has arrived
    assert 0.95 * (size / 40e6 + 2 * latency) < took < through_a_buffer


def test_two_relays_share_a_wire(echo):
    there, back = Wire(), Wire(bandwidth=1e6)
    with Relay(echo, wires=(there, back)) as one, Relay(echo, wires=(there, back)) as other:
        took = []
        work = [
            threading.Thread(target=lambda port=each.port: took.append(there_and_back(port, bytes(SIZE // 2))[1]))
            for each in (one, other)
        ]
        for each in work:
            each.start()
        for each in work:
            each.join(20)
    assert len(took) == 2 and max(took) > 0.95 * SIZE / 1e6
    assert there.sent == back.sent == SIZE


def _fill(connection):
    with contextlib.suppress(OSError):
        connection.sendall(bytes(20_000_000))


def test_closed_it_leaves_no_port_no_connection_and_no_thread(echo):
    before = {thread.ident for thread in threading.enumerate()}
    relay = Relay(echo, bandwidth=1e3)
    connection = socket.create_connection((HOST, relay.port), timeout=20)
    threading.Thread(target=_fill, args=(connection,), daemon=True).start()
    time.sleep(0.3)  # until the link is full
    relay.close()
    relay.close()
    with contextlib.suppress(ConnectionResetError), connection:
        while connection.recv(1 << 16):
            pass
    with socket.socket() as probe:
        assert probe.connect_ex((HOST, relay.port)) != 0
    deadline = time.monotonic() + 10
    ours = [thread for thread in threading.enumerate() if thread.name == "relay" and thread.ident not in before]
    while any(thread.is_alive() for thread in ours) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(thread.is_alive() for thread in ours)


def test_where_nobody_listens_the_relay_does_not_either():
    with socket.create_server((HOST, 0)) as probe:
        nobody = probe.getsockname()[1]
    with (
        Relay(nobody) as relay,
        contextlib.suppress(ConnectionResetError),
        socket.create_connection((HOST, relay.port), timeout=20) as connection,
    ):
        assert connection.recv(1) == b""


@pytest.mark.parametrize(("dial", "words"), [({"bandwidth": 0}, "above 0"), ({"latency": -1}, "from 0 up")])
def test_what_no_link_can_be_is_said(dial, words):
    with pytest.raises(ValueError, match=words):
        Relay(1, **dial)
