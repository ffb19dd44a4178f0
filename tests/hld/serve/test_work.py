"""What the threads of a service do: the same as the library, in the form of an answer."""

import pytest
from live_server import csv_bytes

from hld.apps.serve import work
from hld.apps.serve.limits import Limits, Refusal
from hld.apps.serve.models import MOST_RESULTS, Models
from hld.apps.serve.pool import OutOfTime

LIMITS = Limits()


@pytest.fixture
def model(shop):
    """A model without results, and with a monitor that has seen nothing."""
    return Models({"orders": shop["orders"]}).loaded["orders"]


def test_reports_are_of_the_result_that_is_asked_for_and_the_last_ones_are_kept(model, shop):
    with pytest.raises(Refusal, match="there is no result of this `id`") as refused:
        work.report_page(model, None)
    assert (refused.value.status, refused.value.field) == (404, "id")
    first = work.judge_table(model, csv_bytes(shop["moved"]), "csv", 0.05, "verdict", LIMITS)["id"]
    result = model.detector.test(shop["calm"])
    keys = [work.answer_of(model, result, "verdict")["id"] for _ in range(MOST_RESULTS - 1)]
    assert "<h1>Shift found</h1>" in work.report_page(model, first)
    assert "<h1>No shift found</h1>" in work.report_page(model, None)
    work.answer_of(model, result, "verdict")
    assert len({first, *keys}) == MOST_RESULTS
    for key in (first, "nothing"):
        with pytest.raises(Refusal, match="the last 32 are kept"):
            work.report_page(model, key)
    assert model.results.find(keys[0]) is result
    heard, moved = work.heard_by(model), len(shop["moved"])
    assert (heard["batches"], heard["last_shift"]["rows"]) == (1 + MOST_RESULTS, moved)
    assert heard["rows"] == moved + MOST_RESULTS * result.num_samples


def test_warming_up_keeps_no_result_and_shows_the_monitor_no_row(model):
    work.warm_up([model], LIMITS)
    assert model.results.find(None) is None
    assert model.watch.last.num_rows == 0


def test_a_verdict_alone_has_the_effect_of_the_whole_answer(model, shop):
    frame = shop["calm"].copy()
    frame.loc[frame.index[::9], "colour"] = "another"
    whole, alone = (
        work.judge_table(model, csv_bytes(frame), "csv", 0.05, detail, LIMITS)
        for detail in ("full", "verdict")
    )
    assert 0 < whole["effect_interval"][0] < 1 / 9 < 2 * whole["effect"]
    assert [alone[name] for name in ("effect", "effect_interval")] == [
        whole[name] for name in ("effect", "effect_interval")
    ]


def test_a_table_is_judged_in_pieces_as_long_as_there_is_time(model, shop, monkeypatch):
    whole = work.judge_table(model, csv_bytes(shop["calm"]), "csv", 0.05, "verdict", LIMITS)
    monkeypatch.setattr(work, "PIECE", 70)
    again = work.judge_table(model, csv_bytes(shop["calm"]), "csv", 0.05, "verdict", LIMITS)
    assert again["pvalue"] == whole["pvalue"]
    looks = iter([None] * 3)

    def look():
        if next(looks, "late") == "late":
            raise OutOfTime

    monkeypatch.setattr(work, "check_time", look)
    with pytest.raises(OutOfTime):
        work.judge_table(model, csv_bytes(shop["calm"]), "csv", 0.05, "verdict", LIMITS)
