"""Threads that compute for requests: no more than allowed at a time, and none is waited for too long."""
import json

from live_server import Client, csv_bytes, served

from hld.serve.limits import Limits

CSV = b"colour,visits,income\nred,1,2.5\n"


def test_a_full_pool_sends_clients_away(guarded, monkeypatch):
    client, service = guarded
    monkeypatch.setattr(service.pool, "num_busy", service.pool.capacity)
    status, headers, body = client.ask("POST", "/v1/test", CSV, "text/csv", model="a")
    assert (status, headers["retry-after"]) == (503, "1")
    assert json.loads(body)["error"]["field"] == "service"
    assert client.ask("GET", "/healthz")[0] == 200


def test_work_that_takes_too_long_is_answered(shop):
    limits = Limits(workers=1, seconds=1e-4)
    with served({"orders": shop["orders"]}, limits=limits) as (address, _):
        client = Client(address)
        status, answer = client.json("POST", "/v1/test", csv_bytes(shop["calm"]), "text/csv")
        assert (status, answer["error"]["field"]) == (504, "service")
        client.close()
