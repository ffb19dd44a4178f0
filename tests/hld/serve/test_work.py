"""What the threads of a service do: the same as the library, in the form of an answer."""

import json

import numpy as np
import pytest
from live_server import csv_bytes

from hld.answers.for_programs import plain_json
from hld.serve import work
from hld.serve.limits import Limits
from hld.serve.models import MOST_RESULTS, Models
from hld.serve.refusals import Refusal

LIMITS = Limits()


@pytest.fixture
def model(shop):
    """A model without results, and with a monitor that has seen nothing."""
    return Models({"orders": shop["orders"]}).loaded["orders"]


@pytest.mark.parametrize("batch", ["calm", "moved"])
def test_a_table_and_its_summary_have_the_verdict_of_the_library(model, shop, batch):
    expected = model.detector.test(shop[batch], 0.02)
    answer = work.judge_table(model, csv_bytes(shop[batch]), "csv", 0.02, "full", LIMITS)
    assert {name: answer[name] for name in expected.to_dict()} == plain_json(expected.to_dict())
    assert (answer["model"], answer["digest"], answer["summary"]) == (
        "orders",
        model.digest,
        str(expected),
    )
    brief = work.judge_table(model, csv_bytes(shop[batch]), "csv", 0.02, "verdict", LIMITS)
    assert (brief["pvalue"], brief["summary"]) == (answer["pvalue"], repr(expected))
    assert not {"columns", "pairs", "data_quality"} & set(brief)
    body = model.detector.summarize(shop[batch]).to_json().encode()
    of_summary = work.judge_summary(model, body, "json", 0.02, "full", LIMITS)
    assert (
        of_summary["pvalue"]
        == model.detector.test(model.detector.summarize(shop[batch]), 0.02).pvalue
    )
    assert json.loads(json.dumps(answer, allow_nan=False)) == answer


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


def test_rows_are_encoded_and_observed_as_by_the_library(model, shop):
    frame = shop["calm"].rename(columns={"visits": "visit"})
    rows, differs = work.encode_table(model, csv_bytes(frame), "csv", LIMITS)
    expected = model.watch.monitor.encode(frame)
    for i in range(2):
        np.testing.assert_array_equal(rows[i], expected[i])
    assert differs == {"absent": ["visits"], "extra": ["visit"]}
    answer = work.observe_rows(model, rows, differs, 0)
    assert (answer["num_rows"], answer["absent"], answer["num_missing"]) == (300, ["visits"], 300)
    assert answer == work.state_of(model) | differs
    with pytest.raises(Refusal, match="the monitor has 300 rows"):
        work.observe_rows(model, rows, differs, 0)
    assert work.reset_monitor(model)["num_rows"] == work.state_of(model)["num_rows"] == 0


def test_a_model_is_described_with_what_is_wrong_with_its_file(model):
    found = work.describe_model(model, (None, "ValueError: damaged"))
    detector = model.detector
    assert [(one["name"], one["kind"], one["num_categories"]) for one in found["columns"]] == [
        (one.name, one.kind, one.num_categories) for one in detector.encoder_.columns
    ]
    assert (found["num_train"], found["num_nodes"], found["reload_error"]) == (
        2000,
        len(detector.test_.nodes),
        "ValueError: damaged",
    )
    assert found["log_likelihood"] == detector.history_[-1]
    assert work.describe_model(model, None)["reload_error"] is None


def test_warming_up_keeps_no_result_and_shows_the_monitor_no_row(model):
    work.warm_up([model], LIMITS)
    assert model.results.find(None) is None
    assert model.watch.last.num_rows == 0
