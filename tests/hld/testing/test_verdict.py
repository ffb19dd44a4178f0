"""From differences of means to results: what a null is asked, the threshold beside it, the p-value that stands."""

import math

import numpy as np
import pytest
import zoo
from scipy import stats

import hld
from hld.laws.null import PValue
from hld.testing.verdict import LEAST_PVALUE, Comparison, verdict

CIRCUIT = zoo.circuits()["hclt_like"]


class Asked:
    """A null that notes what it is asked; its p-value and its threshold are given."""

    def __init__(self, value, q=1, squared=4.0):
        self.found, self.squared = PValue(value, (value,) * q, 1e-3, "noted"), squared

    def pvalue(self, squared, T):
        self.asked = squared.tolist(), T
        return self.found

    def threshold(self, alpha, T, draws):
        self.level = alpha, T, draws
        return self.squared


def shifted(test, size=0.1):
    return size * np.sin(np.arange(len(test.nodes)) + 1.0)


def test_the_null_is_asked_for_the_squared_distance_in_units_of_the_fit():
    test, null = hld.HLDTest(CIRCUIT, num_train=20), Asked(0.03)
    deltas = shifted(test)
    found = verdict(test, Comparison(deltas, null), 60, 0.05, 7)
    squared = deltas @ deltas
    assert null.asked == (pytest.approx([squared / 4]), 60)
    assert null.level == (0.05, 60, 0)
    assert found.statistic == pytest.approx(math.sqrt(squared))
    assert found.threshold == pytest.approx(math.sqrt(4.0 * 4))
    assert (found.pvalue, found.reject, found.inflation, found.null, found.null_error) == (
        0.03,
        True,
        4,
        "noted",
        1e-3,
    )
    assert (found.num_samples, found.num_missing, found.alpha) == (60, 7, 0.05)
    np.testing.assert_array_equal(found.deltas, deltas)


def test_rows_that_are_tolerated_are_taken_off_and_put_on_the_threshold():
    test = hld.HLDTest(CIRCUIT, tolerance=0.2)
    far, null = shifted(test), Asked(0.5)
    others = stats.binom.isf(0.2 * 0.05, 9, 0.2)
    found = verdict(test, Comparison(far, null), 9, 0.05, 0)
    assert found.threshold == pytest.approx(2 + others / 9 * test.reaches[0])
    assert found.statistic == pytest.approx(np.linalg.norm(far))
    assert null.asked[0][0] <= far @ far


@pytest.mark.parametrize(
    ("pvalue", "rejected"), [(0.05, True), (0.05000001, False), (0.0, True), (1.0, False)]
)
def test_it_rejects_where_the_p_value_is_at_most_the_level(pvalue, rejected):
    for metric in ("euclidean", ("euclidean", "standardized")):
        test = hld.HLDTest(CIRCUIT, metric=metric)
        found = verdict(
            test, Comparison(shifted(test), Asked(pvalue, len(test.metric_names))), 5, 0.05, 0
        )
        assert (found.reject, found.pvalue) == (rejected, max(pvalue, LEAST_PVALUE))


def test_of_several_metrics_the_statistic_is_the_p_value():
    test = hld.HLDTest(CIRCUIT, metric=("euclidean", "standardized"))
    null, deltas = Asked(0.001, 2), shifted(test)
    found = verdict(test, Comparison(deltas, null), 5, 0.01, 0)
    assert (found.statistic, found.threshold) == (pytest.approx(3), pytest.approx(2))
    moved = test.stds > 0
    assert null.asked[0] == pytest.approx(
        [deltas @ deltas, ((deltas / test.stds)[moved] ** 2).sum()]
    )
    assert found.pvalues == (0.001, 0.001)


def test_the_check_is_given_the_squared_distance_and_the_larger_p_value_stands():
    test, seen = hld.HLDTest(CIRCUIT, num_train=20), []

    def own(squared):
        seen.append(squared.tolist())
        return (0.4,)

    found = Comparison(shifted(test), Asked(0.01))
    result = verdict(test, found, 60, 0.05, 0, own=own)
    squared = found.deltas @ found.deltas
    assert seen == [pytest.approx([squared])]  # not in units of the fit
    assert (result.pvalue, result.reject, result.pvalues) == (0.4, False, (0.4,))
    assert verdict(test, found, 60, 0.05, 0, own=lambda _: (0.001,)).pvalue == 0.01
    verdict(test, Comparison(found.deltas, Asked(0.3)), 60, 0.05, 0, own=own)
    assert len(seen) == 1  # larger ones are not checked


def test_rounding_of_what_never_varies_is_no_distance():
    test = hld.HLDTest(zoo.independent([[1.0, 0.0]] * 2), metric="euclidean")
    null = Asked(0.5)
    for size, is_seen in ((1e-14, False), (1e-3, True)):
        verdict(test, Comparison(np.full(len(test.nodes), size), null), 1000, 0.05, 0)
        assert (null.asked[0][0] > 0) == is_seen


def test_rounding_of_what_varies_does_not_grow_with_the_rows():
    test, null = hld.HLDTest(CIRCUIT, metric="euclidean"), Asked(0.5)
    assert test.are_constant.tolist() == [False]
    for size, is_seen in ((0.5, False), (2.0, True)):
        deltas = np.zeros(len(test.nodes))
        deltas[0] = size * test.round_offs[0]
        verdict(test, Comparison(deltas, null), 1000, 0.05, 0)
        assert (null.asked[0][0] > 0) == is_seen
