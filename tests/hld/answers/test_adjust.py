"""Adjusted p-values: SciPy's where it has them, and Holm's from its definition."""

import numpy as np
import pytest
from scipy.stats import false_discovery_control

from hld.answers.adjust import benjamini_hochberg, benjamini_yekutieli, holm


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


def test_nothing_to_adjust():
    assert holm([]).tolist() == benjamini_hochberg([]).tolist() == []
