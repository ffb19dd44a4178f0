"""Clients that do not read: cut off in time, with one line in the log, and counted; those that read slowly are not."""

import socket
from types import SimpleNamespace

import pytest
from live_server import Client, served, wait_until

pytest.importorskip("uvicorn")

from hld.apps.serve.limits import Limits
from hld.apps.serve.server import LEAST_READ, TimedProtocol

LIMITS = Limits(threads=1, head_seconds=0.5)


def test_a_client_that_leaves_the_last_bytes_unread_is_cut_off_too(shop, caplog, monkeypatch):
    """Fewer than 64 KiB do not stop the making of answers; a connection with 8 KB of them had stayed open for ever."""
    made = []

    def recorded(*seconds, **options):
        made.append(TimedProtocol(*seconds, **options))
        return made[-1]

    monkeypatch.setattr("hld.apps.serve.server.TimedProtocol", recorded)
    monkeypatch.setattr("hld.apps.serve.server.KEEP_SECONDS", 0.1)
    with served({"orders": shop["orders"]}, limits=LIMITS) as (address, _), socket.socket() as line:
        client = Client(address)
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        line.connect((client.host, client.port))
        wait_until(lambda: made)
        with caplog.at_level("WARNING"):
            while not made[0].transport.get_write_buffer_size():
                before = made[0].server_state.total_requests
                line.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                wait_until(lambda before=before: made[0].server_state.total_requests > before)
            assert made[0].flow.write_paused is False
            wait_until(lambda: made[0] not in made[0].connections, 10)
    assert [record.getMessage() for record in caplog.records] == [
        f"a client read less than {LEAST_READ} bytes of its answers in 0.5 s: its connection is closed"
    ]


@pytest.mark.parametrize(("method", "status"), [("POST", 404), ("GET", 200)])
def test_the_rest_of_a_body_that_is_answered_already_is_waited_for_no_longer_than_a_head(
    shop, method, status
):
    """One more byte of it had stopped all clocks: the connection had stayed open for ever."""
    path = "/healthz" if status == 200 else "/nothing"
    with served({"orders": shop["orders"]}, limits=LIMITS) as (address, _):
        client = Client(address)
        with socket.create_connection((client.host, client.port), 5) as line:
            line.sendall(
                f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nx".encode()
            )
            answer = b""
            while not answer.endswith(b"}"):
                answer += line.recv(4096)
            assert answer.startswith(f"HTTP/1.1 {status} ".encode())
            line.sendall(b"x")
            assert line.recv(1) == b""  # closed; nothing in five seconds is an error
        with socket.create_connection(
            (client.host, client.port), 5
        ) as line:  # who sends it may go on
            line.sendall(
                f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nx".encode()
            )
            assert line.recv(4096).startswith(f"HTTP/1.1 {status} ".encode())
            line.sendall(b"xGET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            answer = b""
            while part := line.recv(4096):
                answer += part
            assert b"HTTP/1.1 200 OK" in answer


class Line:
    """A transport with bytes that wait."""

    waiting, is_aborted = 10 * LEAST_READ, False

    def get_write_buffer_size(self):
        return self.waiting

    def abort(self):
        self.is_aborted = True


@pytest.mark.parametrize(("read", "is_aborted"), [(LEAST_READ, False), (LEAST_READ - 1, True)])
def test_a_client_that_reads_enough_is_waited_for(read, is_aborted):
    timers, protocol = [], object.__new__(TimedProtocol)
    protocol.seconds, protocol.transport = 3.0, Line()
    protocol.loop = SimpleNamespace(call_later=lambda *timer: timers.append(timer))
    for looks in range(3):
        protocol._look()
        assert protocol.transport.is_aborted == (is_aborted and looks > 0)
        if protocol.transport.is_aborted:
            break
        assert timers == [(3.0, protocol._look)] * (looks + 1)
        protocol.transport.waiting -= read
