"""Nulls of files of version 1: exchangeability, thresholds, tables of training batches, several metrics."""

import numpy as np
import pytest
import zoo
from binomial_bounds import at_least, at_most

from hld import exact_moments
from hld.nulls.version_1 import DrawnBatches, DrawnNull, SwitchedNull, TabulatedNull
from hld.references import circuit as circuit_module
from hld.references.circuit import CircuitReference
from hld.vectors.linear_maps import Scaled
from hld.vectors.squared_distances import squared_distances


def plain(m):
    return Scaled("euclidean", np.ones(m))


def drawn(num_resamples, seed=0):
    circuit = zoo.circuits()["two_coins"]
    nodes = exact_moments(circuit).nodes
    return DrawnNull(CircuitReference(circuit, nodes), (plain(5),), num_resamples, seed)


def tabulated(rows, B, sizes, rng):
    """Batches drawn with replacement from centred vectors, as the table of a file has them."""
    means = [rows[rng.integers(0, len(rows), size=(B, T))].mean(axis=1) for T in sizes]
    return TabulatedNull(
        np.array(sizes),
        np.stack([squared_distances((plain(rows.shape[1]),), one) for one in means]),
    )


@pytest.mark.parametrize("alpha", [0.5, 0.1, 0.05, 0.01, 0.001])
def test_threshold_and_pvalue_agree(alpha):
    null = drawn(199)
    threshold = null.threshold(alpha, 20)
    for squared in [*null.at(20)[0][1].squared[:, 0], 0.0, 100.0, threshold]:
        found = null.pvalue(np.array([squared]), 20)
        assert found.each == (found.value,)
        if abs(squared - threshold) > 1e-7:
            assert (found.value <= alpha) == (squared > threshold)


def test_pvalues_are_never_zero_and_do_not_depend_on_the_order_of_calls():
    null, again = drawn(99), drawn(99)
    assert null.pvalue(np.array([1e4]), 3).value == pytest.approx(0.01)
    again.at(7)
    np.testing.assert_array_equal(null.at(3)[0][1].squared, again.at(3)[0][1].squared)
    assert not np.array_equal(null.at(3)[0][1].squared, drawn(99, seed=1).at(3)[0][1].squared)


def test_blocks_only_change_what_is_drawn(monkeypatch):
    whole = drawn(50).at(4)[0][1].squared
    monkeypatch.setattr(circuit_module, "BLOCK_ROWS", 4)
    blocks = drawn(50).at(4)[0][1].squared
    assert blocks.shape == whole.shape == (50, 1)
    assert (blocks > 0).any()


def ranks_by_counting(null, observed):
    """P-values one by one and combined, each batch compared with each; the observed one loses its ties."""
    every = np.vstack([observed * (1 - 1e-9), null])
    exceeding = (every[None, :, :] >= every[:, None, :]).sum(axis=1) / len(every)
    means = 1 / (1 / exceeding).mean(axis=1)
    return exceeding[0], (means <= means[0] * (1 + 1e-12)).mean()


@pytest.mark.parametrize("q", [1, 2, 4])
def test_pvalues_are_ranks_among_all_batches(q, rng):
    null = rng.integers(0, 30, size=(99, q)).astype(float)  # with ties
    for observed in rng.integers(0, 32, size=(40, q)).astype(float):
        each, value = DrawnBatches(null).pvalues(observed)
        expected, together = ranks_by_counting(null, observed)
        np.testing.assert_allclose(each, expected, rtol=1e-14)
        assert value == pytest.approx(together if q > 1 else expected[0], rel=1e-14)


def test_combined_ranks_are_a_valid_pvalue(rng):
    """Exchangeable tuples with dependent coordinates: the combined p-value is at most a with probability a."""
    B, trials = 99, 2000
    hits = 0
    for _ in range(trials):
        normal = rng.normal(size=(B + 1, 1)) + 0.5 * rng.normal(size=(B + 1, 3))
        null = TabulatedNull(np.array([5]), np.exp(normal[1:])[None])
        hits += null.pvalue(np.exp(normal[0]), 5).value <= 0.1
    assert at_least(trials, 0.08) <= hits <= at_most(trials, 0.1)


def test_a_table_at_a_size_between_its_own(rng):
    """Normal rows: T d^2 has the same law at every T, so interpolation changes nothing but noise."""
    null = tabulated(rng.normal(size=(3000, 4)), 999, [1, 2, 4, 7, 14, 20], rng)
    for T in (1, 6, 8, 20, 50):
        shares = [share for share, _, _ in null.at(T)]
        assert sum(shares) == pytest.approx(1)
        assert min(shares) >= 0
        median = null.threshold(0.5, T) * T  # chi2 with 4 degrees of freedom: 3.3567
        assert median == pytest.approx(3.3567, abs=6 * 0.5 / (0.15 * np.sqrt(999)))
        assert null.pvalue([3.3567 / T], T).value == pytest.approx(0.5, abs=6 * 0.5 / np.sqrt(999))
    assert "6 sizes up to 20" in null.describe(("euclidean",))[0]
    assert null.least(3) == 0.001


def test_each_side_judges_its_own_sizes():
    class Fixed:
        def __init__(self, value):
            self.value = value

        def pvalue(self, squared, T):
            return self.value

        def threshold(self, alpha, T, draws=0):
            return -self.value

        def least(self, T):
            return self.value

    null = SwitchedNull(Fixed(1), Fixed(2), 10)
    assert [null.pvalue([0.0], T) for T in (1, 9, 10, 99)] == [1, 1, 2, 2]
    assert [null.threshold(0.05, T) for T in (1, 9, 10, 99)] == [-1, -1, -2, -2]
    assert [null.least(T) for T in (9, 10)] == [1, 2]
