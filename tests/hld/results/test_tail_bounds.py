"""Bounds of the tail of a mean: never below the tail, by enumeration, and not far above it."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom

from hld.results.tail_bounds import mean_tail_bound

COUNTS = st.lists(st.integers(0, 2), min_size=2, max_size=4)


def tail(values, kept, batch, slack=0.0):
    """P(mean as far from that of all rows, on the batch's side, less the slack) over all ways to draw the batch."""
    rows = [
        Fraction(float(v))
        for v, m in zip(values, np.add(kept, batch), strict=True)
        for _ in range(m)
    ]
    T, own = (
        int(sum(batch)),
        sum(Fraction(float(v)) * int(b) for v, b in zip(values, batch, strict=True)),
    )
    middle = sum(rows) * T / len(rows)
    side = 1 if own > middle else -1
    least = abs(own - middle) - Fraction(slack) * T
    sums = [sum(chosen) for chosen in itertools.combinations(rows, T)]
    return sum(side * (one - middle) >= least for one in sums) / len(sums)


@given(
    st.lists(st.floats(-5, 5), min_size=4, max_size=4), COUNTS, COUNTS, st.sampled_from([0.0, 0.3])
)
def test_no_bound_is_below_the_tail(values, kept, batch, slack):
    size = min(len(kept), len(batch))
    kept, batch, values = np.array(kept[:size]), np.array(batch[:size]), np.array(values[:size])
    if kept.sum() and batch.sum():
        assert mean_tail_bound(values, kept, batch, slack) >= tail(values, kept, batch, slack) * (
            1 - 1e-9
        )


@pytest.mark.parametrize(
    ("n", "T"), [(50, 1), (200, 10), (1000, 100), (300, 300), (100, 2000), (1000, 10_000)]
)
@pytest.mark.parametrize("values", [(0.0, 1.0), (3.0, -2.0)])
def test_two_values_have_a_hypergeometric_tail_and_the_bound_is_a_small_multiple(n, T, values):
    """With k of K ones drawn the bound decays as fast as the entropies of the binomial coefficients of the tail do.

    C(n, k) is at least e^(n H(k / n)) / sqrt(8 n q (1 - q)) and at most that with 2 pi instead of 8 (MacWilliams and
    Sloane 1977, chapter 10, lemma 7), which bounds the factor between the two.
    """

    def spread(of, drawn):
        return max(8 * drawn * (1 - drawn / of), 1.0)

    for share, shown in ((0.3, 0.6), (0.05, 0.3), (0.5, 0.2)):
        kept, batch = (
            [round(one * (1 - p)), round(one * p)] for one, p in ((n, share), (T, shown))
        )
        kept[0], batch[0] = n - kept[1], T - batch[1]
        law = hypergeom(n + T, kept[1] + batch[1], T)
        expected = (kept[1] + batch[1]) * T / (n + T)
        exact = law.sf(batch[1] - 1) if batch[1] > expected else law.cdf(batch[1])
        bound = mean_tail_bound(np.array(values), np.array(kept), np.array(batch))
        K, k = kept[1] + batch[1], batch[1]
        factor = math.sqrt(spread(K, k) * spread(n + T - K, T - k) * 4 / math.pi)
        assert exact * (1 - 1e-9) <= bound <= exact * factor * (1 + 1e-6)


def test_one_row_of_the_rarest_value_has_its_share_of_all_rows():
    assert mean_tail_bound(
        np.array([0.5, -4.0]), np.array([99, 0]), np.array([0, 1])
    ) == pytest.approx(0.01)


def test_a_mean_within_the_slack_has_bound_one():
    values, kept, batch = np.array([0.0, 1.0]), np.array([5000, 5000]), np.array([450, 550])
    assert mean_tail_bound(values, kept, batch) < 0.02
    assert mean_tail_bound(values, kept, batch, 0.1) == 1.0
    assert mean_tail_bound(values, kept, kept) == 1.0
    assert mean_tail_bound(values, kept, np.zeros(2, dtype=int)) == 1.0
    assert (
        mean_tail_bound(np.full(3, 2.271348838371966), np.array([1, 2, 0]), np.array([2, 2, 2]))
        == 1.0
    )


def test_values_of_any_size_and_place_have_the_same_bound():
    kept, batch = np.array([40, 30, 20, 10]), np.array([1, 2, 5, 12])
    bounds = [
        mean_tail_bound(np.array([0.0, 1.0, 2.0, 4.0]) * scale + shift, kept, batch)
        for scale in (1e-6, 1.0, 1e6)
        for shift in (0.0, 7.0 * scale)
    ]
    assert bounds == pytest.approx([bounds[0]] * len(bounds), rel=1e-6)
    assert bounds[0] < 1e-4
