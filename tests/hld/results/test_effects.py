"""The interval of the effect size covers what it should, and the shell can be ruled by it."""
import binomial_bounds as bounds
import numpy as np
import pytest
from scipy import stats

from hld.results.effects import effect_interval


@pytest.mark.thorough
@pytest.mark.parametrize("size", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("law", ["flat", "steep"])
def test_the_interval_covers_the_effect(size, law):
    rng, m, trials, share = np.random.default_rng(7), 12, 400, 1 / 150
    values = np.ones(m) if law == "flat" else 0.5 ** np.arange(m)
    vectors = stats.ortho_group.rvs(m, random_state=1)
    delta = vectors @ (np.sqrt(values) * rng.normal(size=m))
    delta *= size * np.sqrt(values.sum()) / np.linalg.norm(delta)
    covered = 0
    for _ in range(trials):
        seen = delta + vectors @ (np.sqrt(values * share) * rng.normal(size=m))
        low, high = effect_interval(seen, (values, vectors), share)
        covered += low <= size <= high
    assert covered >= bounds.at_least(trials, 0.95)


def test_the_unit_of_the_vectors_does_not_matter(rng):
    values, deltas = np.array([1.0, 0.3, 0.0]), rng.normal(size=3)
    expected = effect_interval(deltas, (values, np.eye(3)), 1 / 50)
    for unit in (1e-60, 1e-130, 1e60):  # eigenvalues of 1e-260, whose third power is 0
        found = effect_interval(deltas * unit, (values * unit ** 2, np.eye(3)), 1 / 50)
        assert found == pytest.approx(expected, rel=1e-8)


def test_no_variance_no_effect():
    assert effect_interval(np.zeros(2), (np.zeros(2), np.eye(2)), 0.1) == (0.0, 0.0)


def test_the_interval_does_not_depend_on_the_choice_among_eigenvectors_of_equal_eigenvalues(rng):
    values, deltas = np.repeat([3.0, 1.0], 4), 3.0 * rng.normal(size=8)
    turned = np.zeros((8, 8))
    for part in (slice(0, 4), slice(4, 8)):
        turned[part, part] = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    low, high = effect_interval(deltas, (values, np.eye(8)), 0.2)
    assert 0 < low < high
    np.testing.assert_allclose(effect_interval(deltas, (values, turned), 0.2), (low, high), rtol=1e-8)


@pytest.mark.parametrize("unit", [1e-3, 1e3])
def test_the_interval_does_not_depend_on_the_unit_of_the_deltas(unit, rng):
    values, deltas, vectors = 0.7 ** np.arange(8), rng.normal(size=8), np.eye(8)
    for size in (0.3, 1.0, 3.0):
        expected = effect_interval(size * deltas, (values, vectors), 0.2)
        found = effect_interval(unit * size * deltas, (unit ** 2 * values, vectors), 0.2)
        assert found == pytest.approx(expected, rel=1e-7)
