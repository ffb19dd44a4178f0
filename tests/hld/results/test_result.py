"""Results: plain values, one line of text, and never a verdict about what is no number."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import zoo

from hld import HLDTest
from hld.baselines import BaselineResult
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


def test_a_p_value_of_one_is_a_statistic_of_zero_and_not_of_minus_zero():
    test = HLDTest(zoo.one_region(), metric=("euclidean", "standardized"), num_resamples=99, rng=0)
    found = test.judge(test.mean, 5)
    assert found.pvalue == 1
    assert found.statistic == 0
    assert math.copysign(1, found.statistic) == 1
    assert str(found).startswith("no shift: p = 1 at level 0.05, 5 rows")


def test_tiny_p_values_are_not_printed_as_zero(result):
    assert "p < 1e-300" in str(replace(result, pvalue=0.0))
    assert "p < 1e-300" in str(replace(result, pvalue=1e-301))
    assert "p = 1e-299" in str(replace(result, pvalue=1e-299))
