"""p-values of frequencies: against SciPy, enumerated, at their level, and able to find."""

import numpy as np
import pytest
from binomial_bounds import at_most
from scipy.stats import (
    chi2_contingency,
    false_discovery_control,
    hypergeom,
    multivariate_hypergeom,
)

from hld.answers.frequencies import (
    benjamini_hochberg,
    benjamini_yekutieli,
    holm,
    homogeneity_pvalue,
    partition_pvalue,
)


def test_large_counts_are_pearsons_test(rng):
    a, b = rng.multinomial(5000, [0.2, 0.3, 0.5]), rng.multinomial(400, [0.25, 0.3, 0.45])
    assert homogeneity_pvalue(a, b) == pytest.approx(
        chi2_contingency([a, b], correction=False).pvalue, rel=1e-9
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("sizes", "concentration", "K"),
    [((5000, 300), 1.0, 8), ((60, 20), 0.5, 5), ((3000, 40), 0.2, 20)],
)
def test_the_level_holds(sizes, concentration, K):
    rng = np.random.default_rng(3)
    frequencies = rng.dirichlet(np.full(K, concentration))
    pvalues = np.array(
        [homogeneity_pvalue(*(rng.multinomial(n, frequencies) for n in sizes)) for _ in range(400)]
    )
    for alpha in (0.01, 0.05, 0.2):
        assert (pvalues <= alpha).sum() <= at_most(400, alpha, 1e-4)


@pytest.mark.parametrize(
    ("n", "T", "K"),
    [
        (600, 40, 90),
        (5000, 100, 306),
        (5000, 500, 60),
        (60, 40, 13),
        (2000, 12, 1000),
        (100, 10, 55),
        (100, 100, 14),
    ],
)
def test_two_categories_hold_the_level_whatever_it_is(n, T, K):
    # all batches that are possible with K rows of the second category among n + T, with their exact probabilities
    j = np.arange(max(0, K - n), min(K, T) + 1)
    chances = hypergeom.pmf(j, n + T, K, T)
    pvalues = np.array(
        [homogeneity_pvalue(np.array([n - K + i, K - i]), np.array([T - i, i])) for i in j]
    )
    reached = np.sort(pvalues[pvalues > 1e-12])
    assert len(np.unique(reached)) >= 5
    for u in reached:
        assert chances[pvalues <= u].sum() <= u * (1 + 1e-9)


def test_two_categories_are_fishers_test_with_its_tails_by_distance():
    reference, batch = np.array([70, 30]), np.array([1, 9])
    j = np.arange(11)
    chances = hypergeom.pmf(j, 110, 39, 10)
    extreme = np.abs(j - 390 / 110) >= abs(9 - 390 / 110) - 1e-9
    assert homogeneity_pvalue(reference, batch) == pytest.approx(chances[extreme].sum(), rel=1e-9)


def test_small_counts_reach_far():
    assert homogeneity_pvalue(np.array([99_990, 10]), np.array([90, 10])) < 1e-12
    assert homogeneity_pvalue(np.array([99_980, 10, 10]), np.array([80, 12, 8])) < 1e-12
    assert homogeneity_pvalue(np.array([4, 4, 4]), np.array([0, 1, 1])) > 0.2


@pytest.mark.parametrize(
    ("pooled", "T"),
    [
        ((990, 10, 10), 10),
        ((990, 5, 20), 20),
        ((200, 6, 9, 12), 15),
        ((5000, 3, 3), 200),
        ((60, 4, 4, 4), 24),
        ((12, 8, 3, 2, 2), 10),
    ],
)
def test_pvalues_of_rare_categories_hold_the_level(pooled, T):
    pooled = np.array(pooled)
    counts = np.indices(pooled[1:] + 1).reshape(len(pooled) - 1, -1).T
    batches = np.column_stack([T - counts.sum(axis=1), counts])
    batches = batches[(batches[:, 0] >= 0) & (batches[:, 0] <= pooled[0])]
    chances = multivariate_hypergeom.pmf(batches, m=pooled, n=T)
    assert chances.sum() == pytest.approx(1, rel=1e-9)
    pvalues = np.array([partition_pvalue(pooled - batch, batch) for batch in batches])
    reached = np.unique(pvalues[(pvalues < 0.2) & (pvalues > 1e-12)])
    assert len(reached) > 2
    for u in reached:
        assert chances[pvalues <= u].sum() <= u


def test_a_new_level_is_found_and_a_single_row_of_it_is_not():
    reference = np.array([2500, 2500, 0])
    assert homogeneity_pvalue(reference, np.array([250, 245, 5])) < 0.01
    assert homogeneity_pvalue(reference, np.array([250, 249, 1])) > 0.05


def test_where_nothing_can_be_said():
    assert homogeneity_pvalue(np.array([5, 0]), np.array([3, 0])) == 1
    assert homogeneity_pvalue(np.array([0, 0]), np.array([3, 4])) == 1
    assert homogeneity_pvalue(np.array([3, 4]), np.array([0, 0])) == 1


@pytest.mark.parametrize(
    ("adjust", "method"), [(benjamini_hochberg, "bh"), (benjamini_yekutieli, "by")]
)
def test_step_up_procedures_equal_scipys(adjust, method, rng):
    pvalues = rng.random(50) ** 3
    np.testing.assert_allclose(
        adjust(pvalues), false_discovery_control(pvalues, method=method), rtol=1e-12
    )


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.1])
def test_p_values_that_are_all_the_level_are_all_rejected(alpha):
    for m in range(1, 50):
        assert benjamini_hochberg([alpha] * m).tolist() == [alpha] * m, m


def test_holm_by_its_definition(rng):
    pvalues = rng.random(12) ** 4
    for alpha in (0.001, 0.01, 0.05, 0.2):
        rejected = np.zeros(12, dtype=bool)
        for k, i in enumerate(np.argsort(pvalues)):  # stop at the first that is above its share
            if pvalues[i] > alpha / (12 - k):
                break
            rejected[i] = True
        np.testing.assert_array_equal(holm(pvalues) <= alpha, rejected)


def test_holm_for_more_tests_than_are_given(rng):
    pvalues = np.sort(rng.random(12) ** 4)
    np.testing.assert_array_equal(holm(pvalues[:5], 12)[:5], holm(pvalues)[:5])
    np.testing.assert_array_equal(holm(pvalues, 5), holm(pvalues))
