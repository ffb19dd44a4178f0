"""Who may ask a service: the token, the host and the origin of requests, and how many are connected."""

import json
import socket

import pytest
from hostile_requests import raw
from live_server import Client, served, wait_until

from hld.apps.serve.guard import HEADERS
from hld.apps.serve.limits import Limits
from hld.apps.serve.server import opened_socket


def test_the_token_is_needed_and_compared_as_a_whole(guarded, shop):
    client, _ = guarded
    token = client.token
    for header in (
        "",
        "Bearer",
        "Bearer ",
        f"Bearer {token}x",
        f"Bearer {token[:-1]}",
        f"Basic {token}",
        "Bearer ÿ",
    ):
        status, headers, _ = client.ask(
            "GET", "/v1/model", headers={"Authorization": header.encode("latin-1")}
        )
        assert (status, headers["www-authenticate"]) == (401, "Bearer")
    for path in ("/healthz", "/readyz", "/openapi.json", "/"):
        assert client.ask("GET", path, headers={"Authorization": ""})[0] == 200
    assert client.ask("GET", "/metrics", headers={"Authorization": ""})[0] == 401
    assert client.json("POST", "/v1/reload")[1] == {"models": {"a": "kept", "b": "kept"}}


HOSTS = {
    "localhost:1": 200,
    "127.0.0.1": 200,
    "[::1]:8000": 200,
    "LocalHost": 200,
    "": 400,
    "evil.example": 400,
    "localhost.evil.example": 400,
    "127.0.0.1.evil.example:80": 400,
    "localhost:80@evil.example": 400,
    "localhost:evil.example": 400,
    "localhost@evil.example": 400,
    "::1": 400,
}


def test_without_a_token_only_names_of_this_machine_are_answered(client, guarded):
    """By Starlette, of which versions before 1.7 take `localhost:80@evil.example` for localhost."""
    for host, status in HOSTS.items():
        assert client.ask("GET", "/healthz", headers={"Host": host})[0] == status, host
        if host:
            assert guarded[0].ask("GET", "/healthz", headers={"Host": host})[0] == 200, host
    assert client.json("POST", "/v1/reload")[0] == 403


def test_only_the_own_page_is_answered(client):
    """Whatever of several `Origin` headers is another one's."""
    own, other = f"http://localhost:{client.port}", "https://evil.example"
    cases = [(one, 200) for one in ([], [own], [own.upper()], [own, own])]
    cases += [
        (one, 403)
        for one in ([other], [own, other], [other, own], ["null"], [""], ["http://localhost"])
    ]
    for origins, status in cases:
        lines = [f"Host: localhost:{client.port}", *(f"Origin: {one}" for one in origins)]
        head = "\r\n".join(["GET /healthz HTTP/1.1", *lines, "Connection: close", "", ""])
        assert raw(own + "/", head.encode()).startswith(b"HTTP/1.1 %d" % status), origins


def test_every_answer_has_the_headers_for_browsers(client):
    for path, host in (("/healthz", "localhost"), ("/nothing", "localhost"), ("/", "evil.example")):
        found = client.ask("GET", path, headers={"Host": host})[1]
        assert {found[name.decode()] for name, _ in HEADERS} == {
            value.decode() for _, value in HEADERS
        }


def test_a_request_of_two_lengths_is_refused(client):
    """A proxy in front may believe the other one, and take the rest of a body for a request."""
    lengths = "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    head = f"POST /v1/reset HTTP/1.1\r\nHost: localhost\r\n{lengths}"
    answer = raw(f"http://localhost:{client.port}/", head.encode())
    assert answer.startswith(b"HTTP/1.1 400")
    assert b"connection: close" in answer.lower()


def test_more_connections_than_allowed_are_sent_away(shop):
    with served({"orders": shop["orders"]}, limits=Limits(workers=1, connections=2)) as (
        address,
        _,
    ):
        clients = [Client(address) for _ in range(3)]
        assert [client.ask("GET", "/healthz")[0] for client in clients[:2]] == [200, 200]
        status, headers, body = clients[2].ask("GET", "/healthz")
        assert (status, headers["retry-after"], headers["connection"]) == (503, "1", "close")
        assert json.loads(body)["error"]["field"] == "service"
        assert clients[0].ask("GET", "/healthz")[0] == 200
        assert (
            'hld_requests_total{endpoint="other",status="503"} 1.0'
            in clients[0].ask("GET", "/metrics")[2].decode()
        )
        clients[0].close()
        wait_until(lambda: clients[2].ask("GET", "/healthz")[0] == 200)
        for client in clients:
            client.close()


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
