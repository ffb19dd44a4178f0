"""The metric of cumulative distributions: by counting, in linear algebra, and where it sees more than marginals do."""

import numpy as np
import pytest
from binomial_bounds import at_most

import hld
from hld.references.circuit import CircuitReference
from hld.witnesses.metrics.maps import FLOOR, ordered
from pcircuit import (
    hclt,
    marginal_tables,
    mean_node_likelihoods,
    sample,
)


@pytest.fixture(scope="module")
def circuit():
    rows = np.random.default_rng(0).integers(0, [2, 3, 4, 3], size=(200, 4))
    return hclt(rows, 4, [2, 3, 4, 3], rng=1)


@pytest.mark.parametrize("chosen", [None, (1, 3), (2,)])
def test_it_is_the_weighted_distance_of_cumulative_frequencies(circuit, chosen):
    left, right = (sample(circuit, 50, rng=seed) for seed in (1, 2))
    nodes = hld.select_nodes(circuit)
    deltas = mean_node_likelihoods(circuit, left, nodes=nodes) - mean_node_likelihoods(
        circuit, right, nodes=nodes
    )
    expected = 0.0
    for v, margin in enumerate(marginal_tables(circuit)):
        if chosen is None or v in chosen:
            for c in range(len(margin) - 1):
                share = margin[: c + 1].sum()
                found = (left[:, v] <= c).mean() - (right[:, v] <= c).mean()
                expected += found**2 / (share * (1 - share) + FLOOR)
    metric = ordered(CircuitReference(circuit, nodes), ordered=chosen)
    assert metric.squared(deltas) == pytest.approx(expected, rel=1e-7)


def test_it_works_in_a_test_and_says_what_it_cannot_do(circuit):
    test = hld.HLDTest(circuit, metric="ordered", ordered=(1, 2))
    assert sum(test(sample(circuit, 100, rng=seed)).reject for seed in range(60)) <= at_most(
        60, 0.05
    )
    batch = sample(circuit, 100, rng=4)
    batch[:, 2] = np.minimum(batch[:, 2] + 1, 3)
    assert test(batch).reject
    with pytest.raises(
        ValueError, match="`metric` 'ordered' compares variables whose categories ascend"
    ):
        hld.HLDTest(circuit, metric="ordered", ordered=())
    with pytest.raises(ValueError, match="`metric` 'ordered' compares input units"):
        hld.HLDTest(circuit, nodes=hld.select_nodes(circuit, "sum"), metric="ordered")
    with pytest.raises(ValueError, match="`ordered` must be"):
        hld.HLDTest(circuit, metric="ordered", ordered=(9,))
