"""What is computed for a request: the same as the library, in the form of an answer, here and in other processes."""

import json
import os
import signal

import pytest
from live_server import Client, csv_bytes, process, wait_until

import hld
from hld.apps.serve import work
from hld.apps.serve.limits import Limits, OutOfTime, Refusal
from hld.apps.serve.models import MOST_BATCHES, MOST_BYTES, Models

LIMITS = Limits()


@pytest.fixture
def model(shop):
    """A model without batches, and with a monitor that has seen nothing."""
    return Models({"orders": shop["orders"]}).loaded["orders"]


def judged(model, frame, is_full=False):
    """A batch, and its verdict."""
    batch = work.Batch(csv_bytes(frame), "csv", 0.05)
    return batch, work.judge(model, batch, is_full, {}, LIMITS)


def test_reports_are_of_the_batch_that_is_asked_for_and_the_last_ones_are_kept(model, shop):
    with pytest.raises(Refusal, match="there is no batch of this `id`") as refused:
        model.heard.find(None)
    assert (refused.value.status, refused.value.field) == (404, "id")
    model.heard.keep("first", *judged(model, shop["moved"]))
    calm = judged(model, shop["calm"])
    for i in range(MOST_BATCHES - 1):
        model.heard.keep(str(i), *calm)
    for key, words in (("first", "Shift found"), (None, "No shift found")):
        assert f"<h1>{words}</h1>" in work.report(model, model.heard.find(key), LIMITS)
    model.heard.keep("another", *calm)
    for key in ("first", "nothing"):
        with pytest.raises(Refusal, match="the last 32 are kept"):
            model.heard.find(key)
    facts, moved = model.heard.facts, len(shop["moved"])
    assert (facts["batches"], facts["last_shift"]["rows"]) == (1 + MOST_BATCHES, moved)
    assert facts["rows"] == moved + MOST_BATCHES * len(shop["calm"])
    model.heard.keep("large", calm[0]._replace(body=bytes(MOST_BYTES)), calm[1])
    assert model.heard.find(None).body == bytes(MOST_BYTES)
    with pytest.raises(Refusal):
        model.heard.find("another")  # for which there was no room beside it


def test_warming_up_keeps_no_batch_and_shows_the_monitor_no_row(model):
    work.warm_up(model, LIMITS)
    assert (model.heard.facts["batches"], model.watch.last.num_rows) == (0, 0)


def test_a_verdict_alone_has_the_effect_of_the_whole_answer(model, shop):
    frame = shop["calm"].copy()
    frame.loc[frame.index[::9], "colour"] = "another"
    whole, alone = (
        json.loads(judged(model, frame, is_full)[1].content) for is_full in (True, False)
    )
    assert 0 < whole["effect_interval"][0] < 1 / 9 < 2 * whole["effect"]
    assert [alone[name] for name in ("effect", "effect_interval")] == [
        whole[name] for name in ("effect", "effect_interval")
    ]


def test_a_table_is_judged_in_pieces_as_long_as_there_is_time(model, shop, monkeypatch):
    whole = judged(model, shop["calm"])[1]
    monkeypatch.setattr(work, "PIECE", 70)
    assert judged(model, shop["calm"])[1].pvalue == whole.pvalue
    looks = iter([None] * 3)

    def look():
        if next(looks, "late") == "late":
            raise OutOfTime

    monkeypatch.setattr(work, "check_time", look)
    with pytest.raises(OutOfTime):
        judged(model, shop["calm"])


def test_a_model_in_another_process_is_the_version_that_is_asked_for(model, shop, tmp_path):
    path = tmp_path / "orders.hld"
    path.write_bytes(shop["orders"].read_bytes())
    stored = Models({"orders": path}).loaded["orders"].stored
    path.write_bytes(shop["other"].read_bytes())
    with pytest.raises(Refusal, match="has just been replaced: try again") as refused:
        _ = stored.detector
    assert refused.value.status == 503
    path.write_bytes(shop["orders"].read_bytes())
    batch, verdict = judged(model, shop["moved"])
    assert work.judge(stored, batch, False, {}, LIMITS) == verdict


@pytest.mark.thorough
def test_processes_answer_as_one_does_and_are_begun_anew_where_one_was_killed(shop):
    expected = hld.load(shop["orders"]).test(shop["moved"])
    body = csv_bytes(shop["moved"]), "text/csv"
    with process(shop["orders"], "--workers", 2) as (run, address):
        client = Client(address)
        answers = [client.json("POST", "/v1/test", *body)[1] for _ in range(4)]
        assert {one["pvalue"] for one in answers} == {expected.pvalue}
        assert b"<h1>Shift found</h1>" in client.ask("GET", "/v1/report", id=answers[0]["id"])[2]
        for number in (1, 2):
            state = client.json("POST", "/v1/observe", *body)[1]
            assert state["num_rows"] == number * expected.num_samples
        status, refused = client.json("POST", "/v1/test", b"a\n1\n", "text/csv")
        assert (status, refused["error"]["field"]) == (400, "body")
        workers = children(run.pid)
        assert len(workers) >= 2
        for one in workers:
            os.kill(one, signal.SIGTERM)  # which ends the first process alone
        assert client.json("POST", "/v1/test", *body)[0] == 200
        for one in workers:
            os.kill(one, signal.SIGKILL)
        wait_until(lambda: client.json("POST", "/v1/test", *body)[0] == 200)
        client.close()
        workers = children(run.pid)
        run.kill()
        wait_until(lambda: not any(map(is_alive, workers)))


def children(pid):
    """The processes that a process has begun."""
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(one) for one in file.read().split()]


def is_alive(pid):
    """Whether a process is there, and has not ended."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
