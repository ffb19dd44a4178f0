"""Harmonic means of p-values, and their law under the null."""

import numpy as np
import pytest
from dense_maps import dense_map
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import binom, chi2, hmean

from hld.features.linear_maps import Scaled
from hld.laws.joint import (
    FACTOR_ROWS,
    RESOLVED,
    JointNull,
    covariance_factor,
    factor_of_rows,
    harmonic_mean,
    joint_law,
)
from hld.laws.limit_law import law_of_values

SURE = 1e-7
DRAWS = 20_000


def norm(name, m=2):
    return Scaled(name, np.ones(m))


def coordinate(name, j, m=2):
    """|Z_j|."""
    return dense_map(name, np.eye(m)[[j]])


@given(st.lists(st.floats(1e-12, 1.0), min_size=1, max_size=4))
def test_a_harmonic_mean_lies_between_the_smallest_and_the_largest(pvalues):
    mean = float(harmonic_mean(pvalues))
    assert min(pvalues) * (1 - 1e-12) <= mean <= max(pvalues) * (1 + 1e-12)
    assert mean <= len(pvalues) * min(pvalues) * (1 + 1e-12)
    assert mean == pytest.approx(hmean(pvalues), rel=1e-12)


def test_certain_rejections_stay_certain():
    assert harmonic_mean([0.0, 1.0]) == 0.0
    assert harmonic_mean([1e-310, 1.0]) < 1e-300
    law = joint_law(
        np.eye(2), (norm("euclidean"), norm("whitened")), np.random.default_rng(0), num_draws=1000
    )
    assert law.tail(0.0) == 0.0
    assert law.tail(1e-300) < 1e-299


def independent_law(x):
    """P(2 / (1/U + 1/V) <= x) of independent uniform U, V: given U = u, V <= 1 / (2/x - 1/u) if that is in (0, 1)."""
    edge = x / 2  # below it any V will do
    return (
        edge
        + quad(
            lambda u: min(1.0, 1.0 / (2 / x - 1 / u)), edge, 1.0, points=[x / (2 - x)], limit=200
        )[0]
    )


def test_the_law_of_independent_metrics():
    metrics = (coordinate("euclidean", 0), coordinate("whitened", 1))
    law = joint_law(np.eye(2), metrics, np.random.default_rng(1), num_draws=DRAWS)
    for x in (0.5, 0.1, 0.05, 0.02):
        exact = independent_law(x)
        # ranks instead of exact p-values move the two tails by their own binomial errors, half of the weight each
        low, high = (f(SURE, DRAWS, exact) / DRAWS for f in (binom.ppf, binom.isf))
        assert 2 * low - exact <= law.tail(x) <= 2 * high - exact
    resolution = float(law.means[RESOLVED])
    ratio, error = independent_law(resolution) / resolution, 6 / np.sqrt(RESOLVED)
    assert (
        1 < independent_law(1e-4) / 1e-4 < ratio < 1.2
    )  # the ratio falls towards 1, so the extrapolation is safe
    for x in (1e-4, 1e-8, 1e-100):
        assert ratio * (1 - error) <= law.tail(x) / x <= ratio * (1 + error)


def test_the_tail_is_monotone_and_continuous_at_the_resolution():
    law = joint_law(
        np.eye(2), (coordinate("euclidean", 0), coordinate("whitened", 1)), np.random.default_rng(2)
    )
    x = np.geomspace(1e-12, 1, 400)
    tails = np.array([law.tail(value) for value in x])
    assert (np.diff(tails) >= 0).all()
    edge = float(law.means[RESOLVED])
    assert law.tail(edge * (1 - 1e-6)) == pytest.approx(law.tail(edge), rel=0.03)
    assert law.error(0.25) == pytest.approx(np.sqrt(0.25 * 0.75 / len(law.means)))
    assert law.error(1e-9) == pytest.approx(1e-9 / np.sqrt(RESOLVED))


def test_the_null_of_several_metrics_combines_their_own():
    """Independent coordinates: each p-value is a chi-square tail, their harmonic mean has the law of the draws."""
    metrics = (coordinate("first", 0), coordinate("second", 1))
    law = joint_law(np.eye(2), metrics, np.random.default_rng(1))
    null = JointNull((law_of_values(np.ones(1)), law_of_values(np.ones(1))), law)
    found = null.pvalue(np.array([5.0, 0.1]) / 40, 40)
    expected = chi2.sf([5.0, 0.1], 1)
    np.testing.assert_allclose(found.each, expected, rtol=1e-9)
    assert found.value == law.tail(hmean(expected))
    assert found.null == "exact"
    assert 0 < found.error < 0.1 * found.value
    assert len(null.describe(("first", "second"))) == 2
    with pytest.raises(ValueError, match="no threshold"):
        null.threshold(0.05, 40)


def test_reference_rows_that_are_all_alike_do_not_make_small_what_no_metric_finds():
    metrics = (norm("euclidean"), norm("whitened"))
    law = joint_law(
        covariance_factor(np.zeros((2, 2))), metrics, np.random.default_rng(0), num_draws=DRAWS
    )
    assert [law.tail(x) for x in (0.0, 0.001, 0.34, 1.0)] == [0.0, 0.001, 0.34, 1.0]
    assert law.tail([0.2, 0.7]).tolist() == [0.2, 0.7]


@pytest.mark.parametrize(("n", "m"), [(2000, 4), (5, 9), (FACTOR_ROWS + 50, FACTOR_ROWS + 1)])
def test_the_factor_of_rows_has_their_covariance(n, m):
    """With few directions as many as there are; of wide rows the first ones stand for all."""
    rows = np.random.default_rng(0).normal(size=(n, m)) @ np.diag(np.arange(m) % 4)
    factor = factor_of_rows(rows)
    assert len(factor) == {4: 3, 9: 5}.get(m, FACTOR_ROWS)
    some = rows[: len(factor)] if m > 4 else rows
    np.testing.assert_allclose(factor.T @ factor, some.T @ some / len(some), atol=1e-12)
    assert factor_of_rows(np.zeros((5, 2))).shape == (0, 2)
