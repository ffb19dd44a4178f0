"""The result of a test by counts: the numbers it derives, and its form for programs."""

import json
import math
import pathlib
from dataclasses import replace

import numpy as np
import pytest
from sql_tables import OPTIONS, counted, odd_table

import hld
from hld.sql.judging import judge_counts


@pytest.fixture(scope="module")
def detector():
    return hld.HLDDetector(**OPTIONS).fit(odd_table(700, 0))


@pytest.fixture(scope="module")
def result(detector):
    return judge_counts(detector, counted(detector, odd_table(100, 10)), 0.05)


def test_the_result_is_one_of_json(detector, tmp_path):
    pytest.importorskip("ibis")
    duckdb, jsonschema = pytest.importorskip("duckdb"), pytest.importorskip("jsonschema")
    import hld.sql

    connection = duckdb.connect()
    connection.register("t", odd_table(100, 10))
    result = hld.sql.test(detector, connection, "t")
    schema = json.loads(pathlib.Path("docs/json/test.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(json.loads(json.dumps(result.to_dict())), schema)
    assert len(result.to_frame()) == len(detector.encoder_.columns)
    assert repr(result).startswith(("no shift", "shift"))
    detector.save(tmp_path / "m.hld")
    again = hld.sql.test(hld.load(tmp_path / "m.hld"), connection, "t")
    assert again.pvalue == result.pvalue


@pytest.mark.parametrize(
    ("pvalue", "alpha", "statistic", "threshold"),
    [
        (0.01, 0.1, 2.0, 1.0),
        (1.0, 1e-3, 0.0, 3.0),
        (0.0, 0.05, 300.0, -math.log10(0.05)),
        (1e-200, 0.5, 200.0, math.log10(2)),
    ],
)
def test_statistic_and_threshold_are_logarithms_of_p_value_and_level(
    result, pvalue, alpha, statistic, threshold
):
    found = replace(result, pvalue=pvalue, alpha=alpha)
    assert (found.statistic, found.threshold) == (
        pytest.approx(statistic),
        pytest.approx(threshold),
    )
    assert math.copysign(1, found.statistic) == 1  # also of p = 1
    assert (found.statistic >= found.threshold) == (pvalue <= alpha)


def test_for_programs_it_is_a_result_of_a_detector_with_parts(detector, result):
    values, rows = result.to_dict(), detector.test(odd_table(100, 10)).to_dict()
    assert set(rows) <= set(values) | {"holes"}
    assert {"parts", "num_queries", "pvalues", "metrics"} <= set(values)
    assert values["null"] == "counts"
    assert (values["inflation"], values["null_error"], values["effect_interval"]) == (
        1.0,
        None,
        None,
    )
    assert values["metrics"] == list(result.metrics)
    assert len(values["columns"]) == len(detector.encoder_.columns)
    assert {type(value) for value in values.values()} <= {
        float,
        int,
        bool,
        str,
        list,
        dict,
        type(None),
    }
    assert values == json.loads(json.dumps(values))
    assert np.isfinite(result.pvalues).all()


def test_results_are_frozen_and_told_apart_by_what_they_are(result):
    with pytest.raises(AttributeError):
        result.pvalue = 0.0
    assert result != replace(result)
    assert result.context is None
