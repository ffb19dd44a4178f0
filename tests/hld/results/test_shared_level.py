"""How tests share one level: the smallest p-value by hand, its level over a law that is known, and who gets what."""

import math
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
import zoo
from hypothesis import given
from hypothesis import strategies as st

import hld
from hld.tables.schemas.counts import compare_missing
from hld.witnesses.result import with_quality
from hld.witnesses.witnesses import combined, scaled_level
from pcircuit import sample


@dataclass(frozen=True)
class Few:
    """A test with few p-values, each with the probability of a p-value up to it."""

    pvalue: float
    share: float
    values: tuple[float, ...]

    def attained(self, level):
        values = np.array([0.0, *self.values])
        return values[np.searchsorted(values, level * (1 + 1e-12), side="right") - 1]


def test_by_hand():
    test = Few(0.3, 0.25, (0.01, 0.3))
    assert combined(0.06, test) == pytest.approx(
        0.06 + 0.01
    )  # s = 0.08: the test reaches 0.02 by 0.01
    assert combined(0.0003, test) == pytest.approx(0.0003)  # s = 0.0004: nothing
    assert combined(0.9, replace(test, pvalue=0.01)) == pytest.approx(
        0.75 * 0.04 + 0.01
    )  # s = 0.04
    assert combined(math.inf, replace(test, pvalue=0.01)) == pytest.approx(0.04)
    assert combined(0.4) == 0.4
    assert combined(0.4, Few(1.0, 0.0, ())) == 0.4
    assert combined(1.0, Few(1.0, 0.3, (1.0,))) == 1.0


@given(
    st.lists(
        st.tuples(st.floats(0.05, 0.3), st.lists(st.floats(1e-4, 1), min_size=1, max_size=4)),
        max_size=3,
    ),
    st.floats(1e-4, 0.5),
)
def test_a_scaled_level_rejects_what_the_p_value_rejects(parts, alpha):
    """Where one test is as small as it must be at s, and no smaller, p is at most alpha; a little above, it is not."""
    tests = [Few(1.0, share, tuple(sorted(values))) for share, values in parts]
    s = scaled_level(alpha, *tests)
    rest = 1 - sum(share for share, _ in parts)
    assert alpha * (1 - 1e-12) <= s <= alpha / rest * (1 + 1e-12)
    assert combined(rest * s * (1 - 1e-9), *tests) <= alpha
    if s < 0.999 * alpha / rest:
        assert combined(min(1.0, rest * s * (1 + 1e-6)), *tests) > alpha * (1 - 1e-9)


def test_the_level_is_kept_by_independent_tests():
    """P(p <= a) by summing over all p-values of two tests with few values, and a uniform one."""
    first, second = (0.02, 0.2, 1.0), (0.004, 0.05, 0.3, 1.0)
    for alpha in (0.005, 0.01, 0.03, 0.05, 0.1, 0.3):
        total = 0.0
        for i, p in enumerate(first):
            for k, q in enumerate(second):
                tests = Few(p, 0.3, first), Few(q, 0.2, second)
                chance = (p - (first[i - 1] if i else 0)) * (q - (second[k - 1] if k else 0))
                grid = np.linspace(0, 1, 4001)[1:]
                total += chance * np.mean([combined(float(u), *tests) <= alpha for u in grid])
        assert total <= alpha + 1 / 4000
        assert total > alpha / 2


def test_all_of_the_level_is_the_distances_where_counts_cannot_tell():
    """Of a single row no count is conspicuous: the farthest of 45 that were held out and itself has p = 1 / 46."""
    assert combined(1 / 31, compare_missing(30, [2, 0], 1, [0, 0])) == 1 / 31
    rows = np.random.default_rng(0).choice(3, size=(90, 5), p=(0.8, 0.15, 0.05))
    detector, low = hld.HLDDetector(num_latents=1, num_epochs=2, num_resamples=99).fit(rows), 0
    for row in rows:
        counts, distance = detector.test(row[None]).largest_count, detector.test_(row[None])
        assert counts.share > 0
        assert scaled_level(0.05, counts) == pytest.approx(0.05 / (1 - counts.share))
        low += distance.pvalue <= 0.1
        together = combined(distance.pvalue, counts)
        assert together == pytest.approx(distance.pvalue) or distance.pvalue > 0.1
    assert low > 0


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
