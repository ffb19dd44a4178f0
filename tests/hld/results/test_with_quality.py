"""The verdict on a batch: the distance at its part of the level, and the p-value of all that was tested together."""

import math
from dataclasses import dataclass, replace
from types import SimpleNamespace

import pytest
import zoo

import hld
from hld.results.shared_level import combined, scaled_level
from hld.results.with_quality import with_quality
from hld.schemas.counts import compare_missing
from pcircuit import sample

CIRCUIT = zoo.circuits()["two_coins"]
ROWS = sample(CIRCUIT, 30, rng=0)
ALONE = compare_missing(9, [0], 1, [0])  # nothing was counted: no share
HOLES, MANY = compare_missing(1000, [100], 50, [5]), compare_missing(1000, [100], 50, [45])
FEW = compare_missing(
    9, [1], 1, [0]
)  # one hole in ten rows is no evidence: its share goes back to the distance


@dataclass(frozen=True)
class Noted:
    """A test of one batch that notes the level at which it is asked."""

    test: hld.HLDTest
    levels: list

    def __call__(self, level):
        self.levels.append(level)
        return replace(self.test(ROWS, level), null_error=0.01)


@pytest.fixture(params=["euclidean", ("euclidean", "standardized")], ids=["one metric", "two"])
def test(request):
    return Noted(hld.HLDTest(CIRCUIT, metric=request.param), [])


def quality(missingness=None, new_values=None):
    return SimpleNamespace(missingness=missingness, new_values=new_values)


@pytest.mark.parametrize("facts", [quality(), quality(ALONE), quality(ALONE, ALONE)])
def test_where_nothing_else_is_tested_the_distance_has_all_of_the_level(test, facts):
    found = with_quality(test, facts, 0.03, {"largest_count": ALONE})
    assert test.levels == [0.03]
    assert (found.pvalue, found.alpha, found.null_error) == (test.test(ROWS).pvalue, 0.03, 0.01)
    assert (found.data_quality, found.largest_count) == (facts, ALONE)


@pytest.mark.parametrize("beside", [(HOLES,), (MANY,), (HOLES, MANY), (FEW,)])
def test_tests_beside_share_the_level_and_their_p_values_are_combined(test, beside):
    found, distance = with_quality(test, quality(*beside), 0.05), test.test(ROWS).pvalue
    rest = 1 - 0.1 * len(beside)
    assert test.levels == [pytest.approx(rest * scaled_level(0.05, *beside))]
    assert rest * 0.05 - 1e-12 <= test.levels[0] <= 0.05 + 1e-12
    assert test.levels[0] == pytest.approx(0.05) or beside[0] is not FEW
    assert found.pvalue == combined(distance, *beside)
    assert (found.alpha, found.null_error) == (0.05, pytest.approx(0.01 / rest))
    assert found.reject == (found.pvalue <= 0.05) == (MANY in beside)
    if len(found.metrics) > 1:
        assert (found.statistic, found.threshold) == (-math.log10(found.pvalue), -math.log10(0.05))
    else:
        own = test.test(ROWS, test.levels[0])
        assert (found.statistic, found.threshold) == (own.statistic, own.threshold)


def test_what_was_tested_by_itself_stands_in_its_field_and_counts_too(test):
    found = with_quality(
        test, quality(HOLES), 0.05, {"largest_count": MANY, "largest_dependence": HOLES}
    )
    assert (found.largest_count, found.largest_dependence) == (MANY, HOLES)
    assert found.pvalue == combined(test.test(ROWS).pvalue, HOLES, MANY, HOLES)
    assert found.reject


def test_the_least_level_can_be_shared(test):
    found = with_quality(test, quality(replace(MANY, share=0.4), replace(HOLES, share=0.4)), 5e-324)
    assert test.levels == [5e-324]
    assert (found.alpha, found.reject) == (5e-324, False)


def test_a_p_value_of_zero_leaves_a_statistic():
    far = replace(hld.HLDTest(CIRCUIT, metric=("euclidean", "standardized"))(ROWS), pvalue=0.0)
    found = with_quality(lambda level: far, quality(HOLES), 0.05)
    assert (found.pvalue, found.statistic) == (0.0, 300.0)


def test_an_error_that_is_not_estimated_stays_so(test):
    found = with_quality(lambda level: replace(test(level), null_error=None), quality(HOLES), 0.05)
    assert found.null_error is None
