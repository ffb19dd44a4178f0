"""Results: plain values, one line of text, and never a verdict about what is no number."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import zoo

import hld
from hld import HLDTest
from hld.baselines import BaselineResult
from hld.tables.schemas.counts import compare_missing
from hld.witnesses.result import OfColumns
from hld.witnesses.witnesses import scaled_level
from pcircuit import sample


@pytest.fixture(scope="module")
def result():
    circuit = zoo.hclt_like()
    return HLDTest(circuit, num_train=100)(sample(circuit, 20, rng=0))


@pytest.mark.parametrize(
    "change",
    [
        {"statistic": math.nan},
        {"pvalue": math.nan},
        {"pvalue": -0.1},
        {"pvalue": 1.1},
        {"pvalue": math.inf},
    ],
)
def test_what_is_no_number_is_no_verdict(result, change):
    with pytest.raises(ArithmeticError, match="which is no verdict"):
        replace(result, **change)
    values = {
        "statistic": 1.0,
        "threshold": 2.0,
        "pvalue": 0.5,
        "reject": False,
        "alpha": 0.05,
        "num_samples": 3,
        "num_missing": 0,
    }
    with pytest.raises(ArithmeticError, match="which is no verdict"):
        BaselineResult(**{**values, **change})


@pytest.mark.parametrize("null", ["exact", "normal", "auto"])
@pytest.mark.parametrize("metric", ["euclidean", ("euclidean", "whitened")])
def test_dictionaries_hold_plain_python_values(null, metric):
    if null == "normal" and metric != "euclidean":
        pytest.skip("the normal null is of one metric")
    circuit = zoo.hclt_like()
    values = HLDTest(circuit, null=null, metric=metric, num_resamples=99, rng=0)(
        sample(circuit, 9, rng=0)
    ).to_dict()
    assert {type(value) for value in values.values()} <= {float, int, bool, str, list, type(None)}
    assert {type(value) for value in values["pvalues"]} == {float}
    assert json.loads(json.dumps(values)) == values
    numpy_values = replace(
        HLDTest(circuit)(sample(circuit, 9, rng=0)), null_error=np.float64(1e-3)
    ).to_dict()
    assert type(numpy_values["null_error"]) is float


def test_tiny_p_values_are_not_printed_as_zero(result):
    assert "p < 1e-300" in str(replace(result, pvalue=0.0))
    assert "p < 1e-300" in str(replace(result, pvalue=1e-301))
    assert "p = 1e-299" in str(replace(result, pvalue=1e-299))


class Counts:
    """Evidence that says how it was asked."""

    columns, pairs = ["by p-value"], ("pair",)

    def moved_first(self, alpha):
        return ["likeliest", alpha]


@pytest.fixture(scope="module")
def told():
    rng = np.random.default_rng(0)
    table = {"kind": rng.choice(["a", "b"], 300), "size": rng.normal(size=300)}
    detector = hld.HLDDetector(num_latents=1, num_epochs=2, null="exact").fit(table)
    return detector.test({"kind": ["a"] * 40, "size": rng.normal(size=40)})


def test_the_likeliest_columns_come_first_only_where_the_batch_is_rejected():
    found = OfColumns(evidence=Counts(), reject=False, alpha=0.01, pvalue=0.5, num_samples=9)
    assert (found.columns, found.pairs) == (("by p-value",), ("pair",))
    assert replace(found, reject=True).columns == ("likeliest", 0.01)


def test_without_counts_there_are_no_columns_and_a_frame_without_rows():
    bare = hld.HLDTest(zoo.circuits()["two_coins"])([[0, 1]] * 9)
    assert (bare.columns, bare.pairs, bare.parts_to_dict()) == ((), (), {})
    frame = bare.to_frame()
    assert (len(frame), frame.columns[0]) == (0, "name")
    assert bare.scaled_alpha == bare.alpha == 0.05


def test_the_scaled_level_is_that_of_all_that_was_tested_beside_the_distance():
    tests = [compare_missing(1000, [100], 50, [j]) for j in (5, 9)]
    found = OfColumns(
        witnesses=dict(enumerate(tests)), reject=False, alpha=0.01, pvalue=0.5, num_samples=9
    )
    assert found.scaled_alpha == scaled_level(0.01, *tests)


def test_a_frame_has_a_row_for_each_column_the_smallest_p_value_first(told):
    frame = told.to_frame()
    assert frame["name"].tolist() == [one.name for one in told.columns] == ["kind", "size"]
    assert frame["pvalue"].tolist() == [one.pvalue for one in told.columns]
    assert frame["pvalue"].is_monotonic_increasing


def test_parts_are_named_as_the_fields_and_ready_for_json(told):
    parts = told.parts_to_dict()
    assert parts.keys() == {"data_quality", "witnesses", "not_heard", "columns", "pairs"}
    assert parts["not_heard"] == list(told.not_heard)
    assert parts["witnesses"].keys() == told.witnesses.keys()
    assert parts["witnesses"]["largest_count"] == told.largest_count.to_dict()
    assert [one["name"] for one in parts["columns"]] == ["kind", "size"]
    assert json.loads(json.dumps(parts, allow_nan=False)) == json.loads(json.dumps(parts))
