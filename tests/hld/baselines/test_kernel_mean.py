"""Kernels that factorise, and their expectations under a circuit: against sums over all states."""

import naive
import numpy as np
import pytest
import zoo

from hld.baselines.kernel_mean import HammingKernel, pair_sum, product_kernel, smoothed
from hld.baselines.mmd import MMDTest
from pcircuit import rat_spn, sample


@pytest.fixture(scope="module")
def circuit():
    return rat_spn([2, 3, 2, 2, 4, 2], num_units=3, depth=2, rng=5)


def by_definition(bandwidth, left, right):
    """(n, n') values of k, one row of pairs at a time."""
    return np.array([np.exp(-(x != right).sum(axis=1) / bandwidth) for x in left])


def test_blocks_of_pairs_change_nothing(circuit, monkeypatch):
    rows = sample(circuit, 50, rng=0)
    product = product_kernel(circuit, "hamming", None, 0)
    whole = pair_sum(product, rows)
    assert whole == pytest.approx(by_definition(product.bandwidth, rows, rows).sum(), rel=1e-12)
    monkeypatch.setattr("hld.baselines.kernel_mean.BLOCK_PAIRS", 350)
    assert pair_sum(product, rows) == pytest.approx(whole, rel=1e-12)


def test_median_heuristic(circuit):
    test = MMDTest(circuit, rng=0)
    rows = naive.states(circuit)[sample_of_states(circuit, 4000)]
    distances = (rows[:2000] != rows[2000:]).sum(axis=1)
    assert distances.min() < test.bandwidth == round(test.bandwidth) < distances.max()
    # the median of the distances is within one of that of 2000 independent pairs
    assert abs(np.median(distances) - test.bandwidth) <= 1
    assert MMDTest(zoo.independent([[1.0, 0.0]] * 3), rng=0).bandwidth == 1.0


def sample_of_states(circuit, n):
    p = naive.likelihood(circuit, naive.states(circuit))
    return np.random.default_rng(0).choice(len(p), size=n, p=p / p.sum())


@pytest.mark.parametrize(
    "name", ["two_coins", "rat_like", "irregular_csr", "nary", "unary", "zero_rows"]
)
def test_a_smoothed_circuit_is_the_mean_kernel(name):
    """E k(x, X'), X' from the circuit, as a sum over all states."""
    circuit = zoo.circuits()[name]
    states, kernel = naive.states(circuit), HammingKernel(1.7)
    expected = by_definition(1.7, states, states) @ naive.likelihood(circuit, states)
    np.testing.assert_allclose(
        naive.likelihood(smoothed(circuit, kernel), states), expected, rtol=1e-12
    )
    assert smoothed(circuit, kernel).vtree == circuit.vtree


def test_a_kernel_is_the_product_of_its_tables(rng):
    left, right, kernel = (
        rng.integers(0, 4, (5, 49)),
        rng.integers(0, 4, (7, 49)),
        HammingKernel(2.5),
    )
    table = kernel.table(4)
    product = np.prod(table[left[:, None, :], right[None, :, :]], axis=2)
    np.testing.assert_allclose(kernel.matrix(left, right), product, rtol=1e-12)
    np.testing.assert_allclose(kernel.squared().matrix(left, right), product**2, rtol=1e-12)
    assert table.diagonal().tolist() == [1.0] * 4
    assert kernel.table(1).tolist() == [[1.0]]


def test_few_rows_have_few_pairs():
    kernel = HammingKernel(1.0)
    assert [pair_sum(kernel, np.zeros((n, 3), dtype=int)) for n in (0, 1, 2)] == [0.0, 1.0, 4.0]


def test_a_kernel_is_of_a_known_name_and_a_positive_bandwidth(circuit):
    assert product_kernel(circuit, "hamming", 2, 0) == HammingKernel(2.0)
    with pytest.raises(ValueError, match="`kernel` must be one of 'hamming', found 'rbf'"):
        product_kernel(circuit, "rbf", 1.0, 0)
    for bandwidth in (0, -1.0, np.inf):
        with pytest.raises(ValueError, match="`bandwidth` must be a finite number above 0"):
            product_kernel(circuit, "hamming", bandwidth, 0)
