"""The distance: pseudo-metric, integral probability metric, and the bounds of the paper, by enumeration."""

import naive
import numpy as np
import pytest
import zoo
from hypothesis import assume, given
from hypothesis import strategies as st

import pcircuit
from hld import distance, likelihood_vectors, select_nodes
from pcircuit import Circuit, InnerRegion, InputRegion, StructureError

TOLERANCE = 1e-12


def sibling(circuit, rng):
    """A circuit of the same structure with other parameters."""

    def rows(shape):
        return rng.dirichlet(np.full(shape[1], 0.5), size=shape[0])

    return Circuit(
        circuit.vtree,
        [
            InputRegion(r.variable, rows(r.probs.shape))
            if isinstance(r, InputRegion)
            else InnerRegion(r.products, rows(r.weights.shape))
            for r in circuit.regions
        ],
    )


def joint(circuit):
    return naive.likelihood(circuit, naive.states(circuit))


def mean_vector(circuit, p, nodes):
    """E_p[L] by enumeration."""
    return p @ naive.node_values(circuit, naive.states(circuit))[:, nodes]


@given(
    zoo.circuit_strategy(max_variables=5),
    st.integers(0, 2**32),
    st.sampled_from(
        [("input",), ("sum",), ("product",), ("input", "sum"), ("input", "sum", "product")]
    ),
)
def test_two_circuits_equal_enumeration(circuit, seed, kinds):
    other = sibling(circuit, np.random.default_rng(seed))
    nodes = np.flatnonzero(np.isin(circuit.nodes.kind, kinds))
    assume(len(nodes))  # a circuit of one region has inputs only
    expected = np.linalg.norm(
        mean_vector(circuit, joint(circuit), nodes) - mean_vector(circuit, joint(other), nodes)
    )
    assert distance(circuit, other, nodes=nodes) == pytest.approx(expected, rel=1e-11, abs=1e-14)


@given(zoo.circuit_strategy(max_variables=4), st.integers(0, 2**32))
def test_pseudo_metric(circuit, seed):
    rng = np.random.default_rng(seed)
    p, q, r = (sibling(circuit, rng) for _ in range(3))
    assert distance(circuit, p, p) == 0
    assert distance(circuit, p, q) == pytest.approx(distance(circuit, q, p), rel=TOLERANCE)
    assert distance(circuit, p, r) <= distance(circuit, p, q) + distance(circuit, q, r) + TOLERANCE


@given(zoo.circuit_strategy(max_variables=4), st.integers(0, 2**32))
def test_integral_probability_metric_of_the_unit_ball(circuit, seed):
    """No a in the unit ball separates the means of a . L further than d, and one separates them by d."""
    rng = np.random.default_rng(seed)
    other, nodes = sibling(circuit, rng), select_nodes(circuit)
    difference = mean_vector(circuit, joint(other), nodes) - mean_vector(
        circuit, joint(circuit), nodes
    )
    d = distance(circuit, other)
    directions = rng.normal(size=(200, len(nodes)))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    assert (np.abs(directions @ difference) <= d + TOLERANCE).all()
    if d > 0:
        assert difference / np.linalg.norm(difference) @ difference == pytest.approx(d, rel=1e-10)


@given(zoo.circuit_strategy(max_variables=5), st.integers(0, 2**32))
def test_total_variation_and_kullback_leibler_bounds(circuit, seed):
    other = sibling(circuit, np.random.default_rng(seed))
    p, q = joint(circuit), joint(other)
    m = len(select_nodes(circuit))
    squared = distance(circuit, other) ** 2
    assert squared <= m * (0.5 * np.abs(p - q).sum()) ** 2 * (1 + TOLERANCE) + TOLERANCE
    if (q[p > 0] > 0).all():
        divergence = (p[p > 0] * np.log(p[p > 0] / q[p > 0])).sum()
        assert squared <= 0.5 * m * divergence * (1 + TOLERANCE) + TOLERANCE


@pytest.mark.parametrize("name", zoo.circuits())
def test_data_stand_for_their_empirical_distribution(name, rng):
    circuit = zoo.circuits()[name]
    data = rng.integers(0, circuit.num_categories, size=(40, circuit.num_variables))
    nodes = select_nodes(circuit)
    mean = naive.node_values(circuit, data)[:, nodes].mean(axis=0)
    expected = np.linalg.norm(mean - mean_vector(circuit, joint(circuit), nodes))
    assert distance(circuit, data) == pytest.approx(expected, rel=1e-11)
    assert distance(circuit, data, data[::-1]) == pytest.approx(0, abs=1e-14)
    np.testing.assert_allclose(likelihood_vectors(circuit, data).mean(axis=0), mean, rtol=1e-12)


def test_node_weights_scale_the_coordinates(rng):
    circuit = zoo.circuits()["hclt_like"]
    other, nodes = sibling(circuit, rng), select_nodes(circuit)
    weights = rng.random(len(nodes)) + 0.1
    difference = mean_vector(circuit, joint(other), nodes) - mean_vector(
        circuit, joint(circuit), nodes
    )
    assert distance(circuit, other, node_weights=weights) == pytest.approx(
        np.linalg.norm(weights * difference), rel=1e-11
    )


def test_large_scopes_stay_finite(rng):
    circuit, other = (zoo.independent(rng.dirichlet(np.ones(256), size=784)) for _ in range(2))
    assert 0 < distance(circuit, other) < 1
    assert distance(circuit, circuit) == 0


TREE, COINS = zoo.circuits()["hclt_like"], zoo.circuits()["two_coins"]
HEAVY = Circuit(COINS.vtree, [*COINS.regions[:2], InnerRegion([[0, 0], [1, 1]], [[1.0, 1.0]])])
MORE = Circuit(
    COINS.vtree,
    [InputRegion(0, [[0.5, 0.25, 0.25]] * COINS.regions[0].num_units), *COINS.regions[1:]],
)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((TREE, zoo.circuits()["rat_like"]), {}, "`first` does not share the v-tree"),
        ((COINS, MORE), {}, "numbers of categories"),
        ((COINS, COINS, HEAVY), {}, "`second` is not normalised"),
        ((COINS, np.empty((0, 2), dtype=int)), {}, "`first` has no rows"),
        (
            (COINS, COINS),
            {"node_weights": [1, 1, 1, 1, 0]},
            "`node_weights` must be 5 finite positive numbers",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments, options, message):
    with pytest.raises((ValueError, StructureError), match=message):
        distance(*arguments, **options)


@pytest.mark.parametrize("name", zoo.circuits())
def test_entries_are_the_likelihoods_of_the_selected_units(name, engine):
    circuit = zoo.circuits()[name]
    rows = zoo.rows_with_holes(circuit, np.random.default_rng(0), N=12)
    values = naive.node_values(circuit, rows)
    np.testing.assert_allclose(
        likelihood_vectors(circuit, rows), values[:, pcircuit.select_nodes(circuit)], rtol=1e-12
    )
    some = np.array([circuit.num_nodes - 1, 0])  # in the order that is asked for
    found = likelihood_vectors(circuit, rows, some, n_jobs=1)
    np.testing.assert_allclose(found, values[:, some], rtol=1e-12)
    np.testing.assert_allclose(
        found[:, 0], np.exp(pcircuit.log_likelihood(circuit, rows)), rtol=1e-12
    )
    assert (found >= 0).all()
    assert (found <= 1 + 1e-12).all()


def test_what_is_no_evidence_and_what_is_no_node_is_named():
    circuit = zoo.circuits()["two_coins"]
    with pytest.raises((TypeError, ValueError), match="`data`"):
        likelihood_vectors(circuit, [[0, 7]])
    with pytest.raises((TypeError, ValueError), match="`nodes`"):
        likelihood_vectors(circuit, [[0, 1]], [99])
    assert likelihood_vectors(circuit, [[0, 1]] * 3, []).shape == (3, 0)
