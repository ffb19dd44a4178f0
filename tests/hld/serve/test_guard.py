"""Who may ask a service: the token, the host and the origin of requests, and how many are connected."""

import asyncio
import json
from types import SimpleNamespace

import pytest
from hostile_requests import raw
from live_server import Client, served, wait_until

from hld.serve.guard import HEADERS, OPEN, Guard, same_token
from hld.serve.limits import Limits
from hld.serve.numbers import Numbers


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


def test_pages_of_other_sites_are_refused(client):
    own, other = f"Origin: http://localhost:{client.port}", "Origin: https://evil.example"
    for origins, status in (([own], 200), ([other], 403), ([own, other], 403), ([other, own], 403)):
        head = "\r\n".join([f"Host: localhost:{client.port}", *origins, "Connection: close"])
        answer = raw(
            f"http://localhost:{client.port}/",
            f"POST /v1/reset HTTP/1.1\r\n{head}\r\n\r\n".encode(),
        )
        assert answer.startswith(b"HTTP/1.1 %d" % status), origins


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


def asked(path="/v1/test", *, token=None, full=False, **headers):
    """Status and headers of the answer of a guard around an application, the refused field, and what was counted."""
    sent, numbers = (
        [],
        Numbers(SimpleNamespace(loaded={}, errors={}), SimpleNamespace(num_busy=0, capacity=1)),
    )

    async def answer(scope, receive, send):
        scope["endpoint"] = SimpleNamespace(path=path)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"own", b"1")]})

    def refuse(refusal):
        async def send_it(scope, receive, send):
            names = [(key.encode(), value.encode()) for key, value in refusal.headers.items()]
            start = {"type": "http.response.start", "status": refusal.status, "headers": names}
            await send({**start, "field": refusal.field})

        return send_it

    async def send(message):
        sent.append(message)

    guard = Guard(answer, refuse, token, numbers)
    guard.is_full = lambda: full
    scope = {
        "type": "http",
        "path": path,
        "headers": [(key.encode(), value.encode("latin-1")) for key, value in headers.items()],
    }
    asyncio.run(guard(scope, None, send))
    counted = {
        (one.labels["endpoint"], one.labels["status"])
        for family in numbers.requests.collect()
        for one in family.samples
        if one.name.endswith("_total")
    }
    return sent[0]["status"], sent[0]["headers"], sent[0].get("field"), counted


@pytest.mark.parametrize(
    ("headers", "field"),
    [
        ({"host": "localhost:80", "origin": "http://localhost:80"}, None),
        ({"host": "localhost:80", "origin": "HTTP://LOCALHOST:80"}, None),
        ({"host": "localhost:80", "origin": "http://localhost"}, "origin"),
        ({"host": "localhost:80", "origin": "http://evil.example"}, "origin"),
        ({"host": "localhost:80", "origin": "null"}, "origin"),
        ({"host": "localhost:80", "origin": ""}, "origin"),
    ],
)
def test_only_the_own_page_is_answered(headers, field):
    status, _, found, _ = asked(**headers)
    assert (status, found) == (200 if field is None else 403, field)


@pytest.mark.parametrize("path", [*sorted(OPEN), "/v1/test", "/metrics", "/nothing"])
def test_with_a_token_all_that_tells_of_data_needs_it(path):
    for header, is_right in (
        ("Bearer s\u00e9cret", False),
        ("Bearer secret", True),
        ("bearer  secret ", True),
        ("Basic secret", False),
        ("secret", False),
        ("", False),
    ):
        status, headers, field, _ = asked(path, token="secret", host="a", authorization=header)
        if is_right or path in OPEN:
            assert (status, field) == (200, None)
        else:
            assert (status, field) == (401, "authorization")
            assert (b"WWW-Authenticate", b"Bearer") in headers


def test_every_answer_has_the_headers_for_browsers_and_is_counted_once():
    for options, status, name in (
        ({"host": "localhost"}, 200, "/v1/test"),
        ({"host": "x", "origin": "y"}, 403, "other"),
        ({"host": "localhost", "full": True}, 503, "other"),
    ):
        found, headers, _, counted = asked(**options)
        assert found == status
        assert headers[-len(HEADERS) :] == list(HEADERS)
        assert counted == {(name, str(status))}


def test_what_is_no_request_goes_through_and_a_client_that_is_gone_is_counted():
    seen, numbers = (
        [],
        Numbers(SimpleNamespace(loaded={}, errors={}), SimpleNamespace(num_busy=0, capacity=1)),
    )

    async def app(scope, receive, send):
        if scope["type"] == "http":
            raise OSError("gone")
        seen.append(scope["type"])

    guard = Guard(app, None, "secret", numbers)
    asyncio.run(guard({"type": "lifespan"}, None, None))
    assert seen == ["lifespan"]
    guard = Guard(app, None, None, numbers)
    with pytest.raises(OSError, match="gone"):
        asyncio.run(guard({"type": "http", "path": "/", "headers": []}, None, None))
    assert b'hld_requests_total{endpoint="other",status="0"} 1.0' in numbers.text()


def test_tokens_are_read_from_headers():
    assert same_token("BEARER \u00fc", "\u00fc")
    assert not same_token("Bearer secret2", "secret")
