"""Scores: p-values of a convenient law, one by one and together."""

import numpy as np
import pytest
from scipy.stats import hmean

from hld import gchi2
from hld.laws.drawn import scores_of, together
from hld.laws.limit_law import law_of_values

VALUES = np.array([3.0, 1.0, 0.5])


def test_a_score_is_nearly_the_p_value_of_the_law():
    law = law_of_values(VALUES)
    for T in (1, 10, 1000):
        squared = np.array([gchi2.isf(level, VALUES) for level in (0.5, 0.1, 0.001)]) / T
        np.testing.assert_allclose(law.score(squared, T), [0.5, 0.1, 0.001], rtol=0.3)
        assert law.squared(0.01, T) == pytest.approx(gchi2.isf(0.01, VALUES) / T, rel=0.02)


def test_scores_of_several_metrics_end_with_their_harmonic_mean():
    laws = law_of_values(VALUES), law_of_values(2 * VALUES)
    found = scores_of(laws, np.array([[1.0, 3.0], [0.2, 0.1]]), 2)
    assert found.shape == (2, 3)
    np.testing.assert_allclose(found[:, 2], hmean(found[:, :2], axis=1))
    assert together([[0.2]]).tolist() == [[0.2]]


def test_the_variance_is_that_of_a_finite_size():
    """A row is +-1: d^2 = 1 always for T = 1, and the variance of T d^2 is 2 (1 - 1 / T)."""
    law = law_of_values(np.array([1.0])).with_excess(0.0)
    assert law.excess == -1.0
    assert [law.stretch(T) for T in (1, 2, 10)] == [0.1, 0.5, 0.9]
    assert law.score(np.array([9.0 / 4]), 4) < law.score(np.array([9.0 / 1000]), 1000)


def test_scores_fall_with_the_distance_into_the_far_tail():
    found = law_of_values(VALUES).score(np.linspace(0, 1500, 400), 1)
    assert (np.diff(found) <= 0).all()
    assert 0 < found[-1] < 1e-100
