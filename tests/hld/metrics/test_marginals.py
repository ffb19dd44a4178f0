"""The metric of marginal distributions: frequencies by counting, laws by three routes, and what it refuses."""

import numpy as np
import pytest
import zoo

import hld
from hld import HLDTest
from hld.references.circuit import CircuitReference
from hld.witnesses.metrics.maps import marginals
from pcircuit import Circuit, InnerRegion, InputRegion, VTree, hclt, mean_node_likelihoods, sample


def frequencies(rows, num_categories):
    return [
        np.bincount(column, minlength=C) / len(rows)
        for column, C in zip(rows.T, num_categories, strict=True)
    ]


def marginals_metric(circuit, nodes):
    return marginals(CircuitReference(circuit, nodes))


@pytest.fixture(scope="module")
def circuit():
    rows = np.random.default_rng(0).integers(0, [2, 3, 4, 3], size=(200, 4))
    return hclt(rows, 4, [2, 3, 4, 3], rng=1)


def test_it_is_the_distance_of_frequencies(circuit, rng):
    """With as many different input units as categories; sums among the nodes change nothing."""
    left, right = (sample(circuit, 50, rng=seed) for seed in (1, 2))
    expected = sum(
        ((f - g) ** 2).sum()
        for f, g in zip(
            frequencies(left, circuit.num_categories),
            frequencies(right, circuit.num_categories),
            strict=True,
        )
    )
    for kinds in (("input",), ("input", "sum"), ("product", "sum", "input")):
        nodes = hld.select_nodes(circuit, kinds)
        deltas = mean_node_likelihoods(circuit, left, nodes=nodes) - mean_node_likelihoods(
            circuit, right, nodes=nodes
        )
        assert marginals_metric(circuit, nodes).squared(deltas) == pytest.approx(expected, rel=1e-9)
    several = rng.normal(size=(3, len(nodes)))
    metric = marginals_metric(circuit, nodes)
    np.testing.assert_allclose(
        metric.squared(several), [metric.squared(one) for one in several], rtol=1e-13
    )
    np.testing.assert_allclose(
        (metric.apply(several) ** 2).sum(axis=1), metric.squared(several), rtol=1e-13
    )


def test_more_categories_than_units_are_projected(rng):
    probs = rng.dirichlet(np.ones(6), size=2)
    circuit = Circuit(VTree([-1], [0]), [InputRegion(0, probs[:1])])
    wide = Circuit(
        VTree([1, -1], [0, -1]), [InputRegion(0, probs), InnerRegion([[0], [1]], [[0.5, 0.5]])]
    )
    difference = rng.normal(size=6)
    for model, rows in ((circuit, probs[:1]), (wide, probs)):
        nodes = hld.select_nodes(model, "input")
        projected = np.linalg.pinv(rows) @ (rows @ difference)
        found = marginals_metric(model, nodes).squared(rows @ difference)
        assert found == pytest.approx(projected @ projected, rel=1e-10)
        assert found <= difference @ difference


def test_equal_units_count_once():
    circuit = Circuit(
        VTree([1, -1], [0, -1]),
        [InputRegion(0, [[0.25, 0.75]] * 3), InnerRegion([[0], [1], [2]], [[0.2, 0.3, 0.5]])],
    )
    nodes = hld.select_nodes(circuit, "input")
    metric = marginals_metric(circuit, nodes)
    assert len(metric.index) == 1
    assert metric.squared(np.full(3, 0.1)) == pytest.approx(0.1**2 / (0.25**2 + 0.75**2))


def test_no_input_units_are_refused():
    circuit = zoo.circuits()["rat_like"]
    with pytest.raises(ValueError, match="'marginals' compares input units, and there are none"):
        HLDTest(circuit, nodes=hld.select_nodes(circuit, "sum"), metric=("euclidean", "marginals"))
