"""Sockets of the service."""

import socket

import pytest

pytest.importorskip("starlette")

from hld.serve.server import opened_socket


def test_answers_are_sent_at_once():
    """Without TCP_NODELAY the second piece of an answer waits 40 ms for the client to confirm the first."""
    with (
        opened_socket("127.0.0.1", 0) as listening,
        socket.create_connection(listening.getsockname()),
    ):
        connection, _ = listening.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_an_address_that_is_taken_is_named():
    with opened_socket("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        with pytest.raises(OSError, match=f"cannot listen at 127.0.0.1 port {port}: "):
            opened_socket("127.0.0.1", port)


@pytest.mark.parametrize("port", [99999, 65536, -1])
def test_a_port_that_cannot_be_is_refused(port):
    """The system would take another one, 99999 - 65536 = 34463, without a word."""
    with pytest.raises(ValueError, match=f"`port` must be a whole number .* found {port}"):
        opened_socket("127.0.0.1", port)
