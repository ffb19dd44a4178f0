"""Who may ask a service: the token, the host and the origin of requests, and how many are connected."""
import json

from live_server import Client, served, wait_until

from hld.serve.limits import Limits


def test_the_token_is_needed_and_compared_as_a_whole(guarded, shop):
    client, _ = guarded
    token = client.token
    for header in ("", "Bearer", "Bearer ", f"Bearer {token}x", f"Bearer {token[:-1]}", f"Basic {token}", "Bearer ÿ"):
        status, headers, _ = client.ask("GET", "/v1/model", headers={"Authorization": header.encode("latin-1")})
        assert (status, headers["www-authenticate"]) == (401, "Bearer")
    for path in ("/healthz", "/readyz", "/openapi.json", "/"):
        assert client.ask("GET", path, headers={"Authorization": ""})[0] == 200
    assert client.ask("GET", "/metrics", headers={"Authorization": ""})[0] == 401
    assert client.json("POST", "/v1/reload")[1] == {"models": {"a": "kept", "b": "kept"}}


def test_pages_of_other_sites_are_refused(client, guarded):
    assert client.ask("GET", "/healthz", headers={"Host": "evil.example"})[0] == 403
    assert client.ask("GET", "/healthz", headers={"Host": "localhost:1"})[0] == 200
    assert client.ask("POST", "/v1/reset", headers={"Origin": "https://evil.example"})[0] == 403
    assert client.ask("POST", "/v1/reset", headers={"Origin": f"http://127.0.0.1:{client.port}"})[0] == 200
    assert guarded[0].ask("GET", "/healthz", headers={"Host": "models.example"})[0] == 200
    assert client.json("POST", "/v1/reload")[0] == 403


def test_more_connections_than_allowed_are_sent_away(shop):
    with served({"orders": shop["orders"]}, limits=Limits(workers=1, connections=2)) as (address, _):
        clients = [Client(address) for _ in range(3)]
        assert [client.ask("GET", "/healthz")[0] for client in clients[:2]] == [200, 200]
        status, headers, body = clients[2].ask("GET", "/healthz")
        assert (status, headers["retry-after"], headers["connection"]) == (503, "1", "close")
        assert json.loads(body)["error"]["field"] == "service"
        assert clients[0].ask("GET", "/healthz")[0] == 200
        assert 'hld_requests_total{endpoint="other",status="503"} 1.0' in clients[0].ask("GET", "/metrics")[2].decode()
        clients[0].close()
        wait_until(lambda: clients[2].ask("GET", "/healthz")[0] == 200)
        for client in clients:
            client.close()
