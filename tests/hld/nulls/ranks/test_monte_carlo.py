"""The Monte Carlo p-value and its threshold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hld.laws.ranks.monte_carlo import (
    TIE,
    monte_carlo_error,
    monte_carlo_pvalue,
    rejection_threshold,
)


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=30), st.integers(0, 6), st.floats(0.001, 0.999)
)
def test_pvalue_and_threshold_by_counting(null, statistic, alpha):
    null = np.sort(np.array(null, float))
    expected = (1 + np.sum(null >= statistic)) / (1 + len(null))
    assert monte_carlo_pvalue(null, statistic) == pytest.approx(expected, rel=1e-15)
    if abs(expected - alpha) > 1e-6:
        assert (statistic > rejection_threshold(null, alpha)) == (expected <= alpha)


def test_round_off_is_a_tie():
    """Sums of some thousand terms err by 1e-12; other batches of real rows differ by more than 1e-7."""
    null = np.array([1.0, 2.0, 3.0])
    assert monte_carlo_pvalue(null, 2.0 * (1 + TIE / 2)) == monte_carlo_pvalue(null, 2.0) == 0.75
    assert monte_carlo_pvalue(null, 2.0 * (1 + 3 * TIE)) == 0.5
    assert monte_carlo_pvalue(null, 2.0 * (1 + 1e-7)) == 0.5
    assert monte_carlo_pvalue(null, 2.001, 0.01) == 0.75
    assert monte_carlo_pvalue(np.zeros(3), 1e-15, 1e-14) == 1.0


def test_levels_that_are_a_multiple_of_what_can_be_reached():
    """0.3 * 10 is 3 in decimal numbers and 3.0000000000000004 or 2.9999999999999996 in doubles."""
    null = np.arange(9.0)
    for k in range(1, 10):
        threshold = rejection_threshold(null, k / 10)
        assert monte_carlo_pvalue(null, threshold) > k / 10 - 1e-12
        assert monte_carlo_pvalue(null, threshold + 0.5) == pytest.approx(k / 10)
    assert rejection_threshold(null, 0.999) == 0.0
    assert rejection_threshold(np.arange(3.0), 0.9999999999) == -np.inf
    assert monte_carlo_pvalue(null, np.inf) == 0.1
    assert rejection_threshold(null, 0.09) == np.inf
    assert monte_carlo_error(0.25, 300) == pytest.approx(0.025)
