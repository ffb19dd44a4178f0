"""Every endpoint over a real connection: what it answers, and what it refuses in which words."""

import gc
import json
import weakref

import numpy as np
import pytest
from live_server import Client, bodies, csv_bytes, served, wait_until

import hld
from hld.answers.for_programs import plain_json
from hld.apps.serve.app import description
from hld.apps.serve.limits import Limits


@pytest.mark.parametrize("form", ["csv", "rows", "columns"])
@pytest.mark.parametrize("batch", ["calm", "moved"])
def test_a_batch_in_every_form_has_the_verdict_of_the_library(client, shop, form, batch):
    status, answer = client.json("POST", "/v1/test", *bodies(shop[batch])[form], alpha=0.01)
    expected = plain_json(hld.load(shop["orders"]).test(shop[batch], 0.01).to_dict())
    assert status == 200
    assert answer["pvalue"] == expected["pvalue"]
    assert answer["reject"] is (batch == "moved")
    assert {name: answer[name] for name in expected} == expected
    assert answer["summary"].startswith("shift" if batch == "moved" else "no shift")


@pytest.mark.parametrize(
    ("fitting", "said"),
    [
        ({}, None),
        ({"order": "time"}, "`model` was fitted with `order`='time', so its rows resemble"),
        ({"groups": np.arange(1200) // 20}, "`model` was fitted with `groups`, whose rows"),
    ],
)
def test_a_monitor_of_rows_that_are_not_independent_says_so(tmp_path, caplog, fitting, said):
    rows = np.random.default_rng(5).integers(0, 2, size=(1200, 2))
    hld.HLDDetector(num_epochs=3, num_latents=2).fit(rows, **fitting).save(tmp_path / "coins.hld")
    body = b'{"columns": {"x0": [0, 1], "x1": [1, 0]}}', "application/json"
    with served({"coins": tmp_path / "coins.hld"}) as (address, _):
        client = Client(address)
        asked = (("POST", "/v1/observe", *body), ("GET", "/v1/monitor"), ("POST", "/v1/reset"))
        (warning,) = {client.json(*one)[1]["warning"] for one in asked}
        client.close()
    logged = [one.message for one in caplog.records if "monitor of" in one.message]
    assert logged == ([] if said is None else [f"monitor of model coins: {warning}"])
    assert warning is said is None or warning.startswith(said)


def test_columns_that_are_not_there_are_named_by_observe(shop):
    frame = shop["calm"].rename(columns={"visits": "visit"})
    with served({"orders": shop["orders"]}) as (address, _):
        client = Client(address)
        wrong = client.json("POST", "/v1/observe", csv_bytes(frame), "text/csv")[1]
        right = client.json("POST", "/v1/observe", csv_bytes(shop["calm"]), "text/csv")[1]
        client.close()
    quality = hld.load(shop["orders"]).test(frame).data_quality
    assert (
        (wrong["absent"], wrong["extra"])
        == (list(quality.absent), list(quality.extra))
        == (["visits"], ["visit"])
    )
    assert (right["absent"], right["extra"]) == ([], [])


def test_report_of_a_result(client, shop):
    key = client.json("POST", "/v1/test", csv_bytes(shop["moved"]), "text/csv")[1]["id"]
    client.json("POST", "/v1/test", csv_bytes(shop["calm"]), "text/csv")
    status, headers, page = client.ask("GET", "/v1/report", id=key)
    assert (status, b"<h1>Shift found</h1>" in page, b"<b>blue" in page) == (200, True, False)
    assert "script" not in headers["content-security-policy"]
    assert b"<h1>No shift found</h1>" in client.ask("GET", "/v1/report")[2]
    status, answer = client.json("GET", "/v1/report", id="nothing")
    assert (status, answer["error"]["field"]) == (404, "id")


def test_the_monitor_counts_alarms_and_forgets(client, shop):
    assert client.json("POST", "/v1/reset")[1]["num_rows"] == 0
    status, calm = client.json("POST", "/v1/observe", csv_bytes(shop["calm"]), "text/csv", after=0)
    assert (status, calm["num_rows"], calm["alarm"]) == (200, 300, False)
    moved = client.json("POST", "/v1/observe", csv_bytes(shop["moved"]), "text/csv", after=300)[1]
    assert (moved["num_rows"], moved["alarm"]) == (600, True)
    assert 300 < moved["alarm_row"] <= 600
    status, answer = client.json(
        "POST", "/v1/observe", csv_bytes(shop["moved"]), "text/csv", after=300
    )
    assert (status, answer["error"]["field"]) == (409, "after")
    state = client.json("GET", "/v1/monitor")[1]
    assert [point[0] for point in state["history"]] == [0, 300, 600]
    assert state["pvalue"] == moved["pvalue"] == state["history"][-1][2]
    text = client.ask("GET", "/metrics")[2].decode()
    assert 'hld_monitor_alarm{model="orders"} 1.0' in text
    assert 'hld_monitor_rows{model="orders"} 600.0' in text
    assert 'hld_rows_total{endpoint="observe",model="orders"} 600.0' in text
    assert client.json("POST", "/v1/reset")[1]["alarm"] is False


def test_a_table_that_is_refused_changes_no_monitor(client, shop):
    before = client.json("GET", "/v1/monitor")[1]["num_rows"]
    half = csv_bytes(shop["calm"]) + b"red,1,2,3,4,5\n"
    assert client.json("POST", "/v1/observe", half, "text/csv")[0] == 400
    assert client.json("GET", "/v1/monitor")[1]["num_rows"] == before


def test_models_are_described(guarded, shop):
    client, _ = guarded
    models = client.json("GET", "/v1/model")[1]["models"]
    assert [model["name"] for model in models] == ["a", "b"]
    assert [column["kind"] for column in models[0]["columns"]] == [
        "categorical",
        "integer",
        "continuous",
    ]
    assert client.json("GET", "/v1/model", model="b")[1]["models"] == models[1:]


CSV = b"colour,visits,income\nred,1,2.5\n"


@pytest.mark.parametrize(
    ("status", "field", "path", "body", "kind", "parameters"),
    [
        (400, "model", "/v1/test", CSV, "text/csv", {}),
        (404, "model", "/v1/test", CSV, "text/csv", {"model": "../../etc/passwd"}),
        (400, "alpha", "/v1/test", CSV, "text/csv", {"model": "a", "alpha": "2"}),
        (400, "alpha", "/v1/test", CSV, "text/csv", {"model": "a", "alpha": "nan"}),
        (400, "detail", "/v1/test", CSV, "text/csv", {"model": "a", "detail": "x"}),
        (400, "level", "/v1/test", CSV, "text/csv", {"model": "a", "level": "0.1"}),
        (400, "after", "/v1/observe", CSV, "text/csv", {"model": "a", "after": "-1"}),
        (415, "content-type", "/v1/test", CSV, "text/html", {"model": "a"}),
        (415, "content-type", "/v1/test", CSV, "text/csv; charset=utf-16", {"model": "a"}),
        (400, "body", "/v1/test", b"", "text/csv", {"model": "a"}),
        (400, "body", "/v1/test", b"colour,visits,income\n", "text/csv", {"model": "a"}),
        (400, "body", "/v1/test", b"nothing,known\n1,2\n", "text/csv", {"model": "a"}),
        (400, "body", "/v1/test", b"a\0b", "text/csv", {"model": "a"}),
        (400, "body", "/v1/test", b"[1, 2]", "application/json", {"model": "a"}),
        (
            400,
            "body",
            "/v1/test",
            b'{"rows": [{"income": NaN}]}',
            "application/json",
            {"model": "a"},
        ),
        (
            400,
            "body",
            "/v1/test",
            b'{"rows": [{"income": 1, "income": 2}]}',
            "application/json",
            {"model": "a"},
        ),
        (
            400,
            "body",
            "/v1/test",
            b'{"rows": [{"income": [1]}]}',
            "application/json",
            {"model": "a"},
        ),
        (400, "body", "/v1/test", b"[" * 10_000, "application/json", {"model": "a"}),
        (
            415,
            "content-type",
            "/v1/test",
            b"PAR1",
            "application/vnd.apache.parquet",
            {"model": "a"},
        ),
        (
            415,
            "content-type",
            "/v1/test",
            b"",
            "application/vnd.apache.arrow.stream",
            {"model": "a"},
        ),
        (
            400,
            "body",
            "/v1/test",
            b'{"rows": [{"income": "x"}]}',
            "application/json",
            {"model": "a"},
        ),
        (
            400,
            "body",
            "/v1/observe",
            b'{"rows": [{"income": "x"}]}',
            "application/json",
            {"model": "a"},
        ),
        (400, "body", "/v1/test", b"colour,visits\nred,many\n", "text/csv", {"model": "a"}),
        (413, "body", "/v1/test", CSV + b"red,1,2.5\n" * 200, "text/csv", {"model": "a"}),
        (413, "body", "/v1/test", b"x" * 20_001, "text/csv", {"model": "a"}),
        (413, "body", "/v1/test", b"," * 2000 + b"\n", "text/csv", {"model": "a"}),
        (
            413,
            "body",
            "/v1/test",
            json.dumps({"columns": {f"{i}": [1] for i in range(1007)}}).encode(),
            "application/json",
            {"model": "a"},
        ),
        (
            413,
            "body",
            "/v1/test",
            b'{"columns": {"income": [%s1]}}' % (b"1," * 5000),
            "application/json",
            {"model": "a"},
        ),
        (400, "body", "/v1/summaries", b'["\\ud800"]', "application/json", {"model": "a"}),
        (404, "path", "/v1/nothing", CSV, "text/csv", {}),
        (404, "path", "/v1/test/", CSV, "text/csv", {"model": "a"}),
        (405, "method", "/v1/model", CSV, "text/csv", {}),
    ],
)
def test_refusals_name_the_field(guarded, status, field, path, body, kind, parameters):
    found, answer = guarded[0].json("POST", path, body, kind, **parameters)
    assert (found, answer["error"]["field"], answer["error"]["status"]) == (status, field, status)
    assert len(answer["error"]["message"]) > 20


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("colour,visits,income\nré,1,2.5\n".encode("latin-1"), "is not text in UTF-8"),
        (b"red,1,2.5\nred,1,2.5\nred,1,2.5\n", "expected names of columns"),
        (b"PAR1 and more", "a Parquet file"),
        (b"ARROW1 and more", "an Arrow file"),
        (b'[{"income": 1}]', "JSON"),
    ],
)
def test_a_client_is_not_told_of_options_that_it_does_not_have(client, body, words):
    status, answer = client.json("POST", "/v1/test", body, "text/csv")
    assert (status, answer["error"]["field"]) == (400, "body")
    said = answer["error"]["message"]
    assert (words in said, "--" in said) == (True, False)
    assert b"\xe9" in body or said.endswith("or JSON as application/json")


@pytest.mark.parametrize("cell", ["\ud800", "\x1b[2J\n", "é😀"])
def test_any_text_may_be_a_name_or_a_level(client, shop, cell):
    """Halves of characters and orders for terminals are in no way of an answer, a report or a line of the log."""
    columns = shop["calm"].to_dict("list") | {cell: [1] * 300}
    columns["colour"] = [cell, *columns["colour"][1:]]
    status, answer = client.json(
        "POST", "/v1/test", json.dumps({"columns": columns}), "application/json"
    )
    assert (status, answer["data_quality"]["extra"]) == (200, [cell])
    assert client.ask("GET", "/v1/report", id=answer["id"])[0] == 200


def test_what_strangers_write_is_escaped_in_the_log(client, caplog):
    name = "x\x1b[31m\nforged line"
    with caplog.at_level("INFO", logger="hld.serve"):
        status, answer = client.json("GET", "/v1/model", **{name: "1"})
    assert (status, answer["error"]["field"]) == (400, r"x\x1b[31m\nforged line")
    (record,) = (one for one in caplog.records if one.name == "hld.serve")
    assert record.getMessage().isprintable()


def test_a_refusal_reaches_a_client_that_sends_all_of_its_body_first(shop):
    """Python's own client does; a connection that is reset while it sends would hide the answer from it."""
    with served({"orders": shop["orders"]}) as (address, _):
        client = Client(address)
        for size, headers, status, field in (
            (5_000_000, {"Content-Encoding": "gzip"}, 415, "content-encoding"),
            (2**23 + 20_000_000, {}, 413, "body"),
        ):
            found, _, answer = client.ask("POST", "/v1/test", b"x" * size, "text/csv", headers)
            assert (found, json.loads(answer)["error"]["field"]) == (status, field)
        client.close()


def test_the_level_of_the_service_is_that_of_its_tests(shop):
    """What --alpha says holds for monitors, tests, summaries, the description and the page alike."""
    detector = hld.load(shop["orders"])
    with served({"orders": shop["orders"]}, alpha=0.2) as (address, _):
        client = Client(address)
        for path, body, kind in (
            ("/v1/test", csv_bytes(shop["calm"]), "text/csv"),
            ("/v1/summaries", detector.summarize(shop["calm"]).to_json(), "application/json"),
        ):
            answer = client.json("POST", path, body, kind)[1]
            assert (answer["alpha"], answer["reject"]) == (0.2, answer["pvalue"] <= 0.2)
            assert client.json("POST", path, body, kind, alpha=0.001)[1]["alpha"] == 0.001
        assert client.json("GET", "/v1/monitor")[1]["alpha"] == 0.2
        document = client.json("GET", "/openapi.json")[1]
        assert document == description(Limits(), 0.2)
        alpha = document["components"]["parameters"]["alpha"]
        assert (alpha["schema"]["default"], "--alpha" in alpha["description"]) == (0.2, True)
        assert b'id="alpha" type="number" value="0.2"' in client.ask("GET", "/")[2]
        client.close()


def test_what_nobody_expected_is_told_to_the_log_alone(guarded, monkeypatch, caplog):
    def broken(*_):
        raise RuntimeError("a secret of the service")

    monkeypatch.setattr("hld.apps.serve.requests.Asked.form", broken)
    with caplog.at_level("ERROR", logger="hld.serve"):
        status, answer = guarded[0].json("POST", "/v1/test", CSV, "text/csv", model="a")
    assert (status, answer["error"]["field"]) == (500, "service")
    assert "secret" not in answer["error"]["message"]
    (record,) = (one for one in caplog.records if one.name == "hld.serve")
    assert record.getMessage() == "/v1/test failed"
    assert "a secret of the service" in str(record.exc_info[1])


class Held:
    """What a frame holds."""


def test_what_a_refused_request_held_is_let_go_of_at_once(guarded, monkeypatch):
    """Errors that refer to themselves by their frames had held bodies of 8 MB each until they were collected."""
    seen = []

    def refuses(model, batch, *_):
        held = Held()
        seen.append(weakref.ref(held))
        raise ValueError("`table` is none")

    monkeypatch.setattr("hld.apps.serve.app.judge", refuses)
    gc.disable()
    try:
        assert guarded[0].json("POST", "/v1/test", CSV, "text/csv", model="a")[0] == 400
        wait_until(lambda: seen[0]() is None, 5)
    finally:
        gc.enable()
