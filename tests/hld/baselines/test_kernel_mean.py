"""Kernels that factorise, and their expectations under a circuit: against sums over all states."""
import naive
import numpy as np
import pytest
import zoo

from hld.baselines.kernel_mean import pair_sum, product_kernel
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
