"""The judge is judged: values computed by hand, and identities that hold for every circuit.

So are the plain versions at the heads of files, which doctest compares with the fast code on one circuit each.
"""

import doctest

import naive
import numpy as np
import pytest
import zoo
from binomial_bounds import SURE, at_least, at_most
from hypothesis import given, settings
from numpy.testing import assert_allclose

from hld.features import distances
from pcircuit import Circuit, InnerRegion, InputRegion, VTree, select_nodes
from pcircuit.inference import flows, likelihood, sampling
from pcircuit.operations import products

ALL = {**zoo.circuits(), **{f"unnormalized {k}": c for k, c in zoo.unnormalized_circuits().items()}}


def close(actual, expected):
    """Equal up to rounding."""
    assert_allclose(actual, expected, rtol=1e-12, atol=1e-15)


def shared_unit():
    """Three binary variables; sum unit 0 over {0, 1} is used by two of the three products of the root."""
    return Circuit(
        VTree.from_nested([[0, 1], 2]),
        [
            InputRegion(0, [[0.5, 0.5], [0.25, 0.75]]),
            InputRegion(1, [[0.5, 0.5]]),
            InnerRegion([[0, 0], [1, 0]], [[1.0, 0.0], [0.4, 0.6]]),
            InputRegion(2, [[1.0, 0.0], [0.0, 1.0]]),
            InnerRegion([[0, 0], [0, 1], [1, 1]], [[0.5, 0.3, 0.2]]),
        ],
    )


# -- values computed by hand ---------------------------------------------------------------------------------


def test_states_are_in_lexicographic_order():
    assert naive.states(zoo.two_coins()).tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    mixed = Circuit(
        VTree.from_nested([1, 0]),
        [  # columns are variables, not leaves in post-order
            InputRegion(1, [[1.0]]),
            InputRegion(0, [[0.5, 0.25, 0.25]]),
            InnerRegion([[0, 0]], [[1.0]]),
        ],
    )
    assert naive.states(mixed).tolist() == [[0, 0], [1, 0], [2, 0]]


def test_likelihood_of_two_coins():
    # 0.25 * 0.9 * 0.7 + 0.75 * 0.2 * 0.4 and so on
    coins = zoo.two_coins()
    close(naive.likelihood(coins, naive.states(coins)), [0.2175, 0.1575, 0.2575, 0.3675])
    close(naive.likelihood(coins, [[0, -1], [-1, 0], [-1, -1]]), [0.375, 0.475, 1.0])
    close(naive.log_likelihood(coins, [[0, -1]]), [np.log(0.375)])


def test_node_values_of_two_coins():
    close(
        naive.node_values(zoo.two_coins(), [[0, 1], [1, -1]]),
        [[0.9, 0.2, 0.3, 0.6, 0.27, 0.12, 0.1575], [0.1, 0.8, 1.0, 1.0, 0.1, 0.8, 0.625]],
    )


def test_flows_of_two_coins():
    # (0, missing): the components have 0.25 * 0.9 : 0.75 * 0.2 = 0.6 : 0.4, then the second coin is free
    first, second, root = naive.flows(zoo.two_coins(), [[0, -1]])
    close(first, [[0.6, 0.0], [0.4, 0.0]])
    close(second, [[0.6 * 0.7, 0.6 * 0.3], [0.4 * 0.4, 0.4 * 0.6]])
    close(root, [[0.6, 0.4]])
    # (0, 0): 0.1575 : 0.06 = 21/29 : 8/29
    close(naive.flows(zoo.two_coins(), [[0, 0]])[2], [[21 / 29, 8 / 29]])


def test_flows_add_up_over_weighted_rows():
    coins = zoo.two_coins()
    both = naive.flows(coins, [[0, -1], [0, 0]], weights=[2.0, 0.5])
    for total, a, b in zip(
        both, naive.flows(coins, [[0, -1]]), naive.flows(coins, [[0, 0]]), strict=True
    ):
        close(total, 2 * a + 0.5 * b)


def test_flows_of_a_shared_unit():
    # x = (0, 1, 1): products of the root 0, 0.3 * 0.25 and 0.2 * (0.4 * 0.25 + 0.6 * 0.125), so 0 : 15 : 7
    flows = naive.flows(shared_unit(), [[0, 1, 1]])
    close(flows[4], [[0.0, 15 / 22, 7 / 22]])
    close(flows[2], [[15 / 22, 0.0], [4 / 22, 3 / 22]])
    close(flows[0], [[19 / 22, 0.0], [3 / 22, 0.0]])


def test_topdown_mass():
    close(naive.topdown_mass(zoo.two_coins()), [0.25, 0.75, 0.25, 0.75, 0.25, 0.75, 1.0])
    close(
        naive.topdown_mass(shared_unit()),
        [0.88, 0.12, 1.0, 0.88, 0.12, 0.8, 0.2, 0.5, 0.5, 0.5, 0.3, 0.2, 1.0],
    )


def test_hlv_moments_of_two_coins():
    # P(x0 = 0) = 0.375, P(x1 = 0) = 0.475, P(both) = 0.2175; the units are affine in these indicators
    mean, covariance = naive.hlv_moments(zoo.two_coins(), [0, 1, 2])
    variance, joint = 0.375 * 0.625, 0.2175 - 0.375 * 0.475
    close(mean, [0.4, 0.575, 0.7 * 0.475 + 0.3 * 0.525])
    close(
        covariance,
        [
            [0.8**2 * variance, -0.8 * 0.6 * variance, 0.8 * 0.4 * joint],
            [-0.8 * 0.6 * variance, 0.6**2 * variance, -0.6 * 0.4 * joint],
            [0.8 * 0.4 * joint, -0.6 * 0.4 * joint, 0.4**2 * 0.475 * 0.525],
        ],
    )


# -- identities ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", zoo.circuits())
def test_zoo_is_small_normalised_and_repeatable(name):
    circuit = zoo.circuits()[name]
    x = naive.states(circuit)
    assert circuit.num_variables <= 8
    assert len(x) <= 2000
    assert circuit.is_normalized
    close(naive.likelihood(circuit, x).sum(), 1.0)
    assert circuit == zoo.circuits()[name]


def test_zoo_has_what_its_names_say():
    kinds = zoo.circuits()
    assert set(kinds["mixed_categories"].num_categories) == {1, 2, 3, 4, 5, 7}
    assert (
        naive.likelihood(kinds["deterministic"], naive.states(kinds["deterministic"])) == 0
    ).sum() == 9
    assert (naive.likelihood(kinds["zero_rows"], naive.states(kinds["zero_rows"])) == 0).sum() == 40
    assert (naive.topdown_mass(kinds["zero_rows"]) == 0).any()
    assert any(getattr(region, "is_sparse", False) for region in kinds["irregular_csr"].regions)
    assert all(region.num_units == 1 for region in kinds["single_units"].regions)
    assert not any(circuit.is_normalized for circuit in zoo.unnormalized_circuits().values())


@pytest.mark.parametrize("name", ALL)
def test_a_missing_entry_is_the_sum_over_its_completions(name, rng):
    circuit = ALL[name]
    x = naive.states(circuit)
    for row in np.where(
        rng.random((5, circuit.num_variables)) < 0.5, -1, x[rng.integers(0, len(x), size=5)]
    ):
        complete = naive.completions(circuit, row)
        close(naive.likelihood(circuit, row[None]), naive.likelihood(circuit, complete).sum())
        for node in range(circuit.num_nodes):  # a unit sees its scope only
            inside = np.isin(np.arange(circuit.num_variables), circuit.scope(node))
            distinct = naive.completions(circuit, np.where(inside, row, 0))
            close(
                naive.node_values(circuit, row[None])[0, node],
                naive.node_values(circuit, distinct)[:, node].sum(),
            )


@pytest.mark.parametrize("name", ALL)
def test_a_flow_is_the_share_of_likelihood_lost_without_the_edge(name, rng):
    # the root is affine in each single weight: (p - p without it) / p is the posterior use of the edge
    circuit = ALL[name]
    x = naive.states(circuit)
    rows = np.where(
        rng.random((3, circuit.num_variables)) < 0.4, -1, x[rng.integers(0, len(x), size=3)]
    )
    flows = naive.flows(circuit, rows)
    p = naive.likelihood(circuit, rows)
    for r, region in enumerate(circuit.regions):
        table = region.probs if isinstance(region, InputRegion) else region.dense_weights()
        for entry in np.ndindex(table.shape):
            without = table.copy()
            without[entry] = 0.0
            changed = (
                InputRegion(region.variable, without)
                if isinstance(region, InputRegion)
                else InnerRegion(region.products, without)
            )
            regions = [*circuit.regions[:r], changed, *circuit.regions[r + 1 :]]
            lost = p - naive.likelihood(Circuit(circuit.vtree, regions), rows)
            expected = np.divide(lost, p, out=np.zeros_like(p), where=p > 0).sum()
            assert_allclose(flows[r][entry], expected, rtol=1e-12, atol=1e-14)


@settings(max_examples=50)
@given(zoo.circuit_strategy())
def test_random_circuits_are_distributions(circuit):
    assert circuit.is_normalized
    p = naive.likelihood(circuit, naive.states(circuit))
    close(p.sum(), 1.0)
    close(naive.overlap(circuit, circuit), np.sum(p**2))
    mean, covariance = naive.hlv_moments(circuit, [circuit.num_nodes - 1])
    close(mean, [np.sum(p**2)])
    assert_allclose(covariance, [[np.sum(p**3) - np.sum(p**2) ** 2]], rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("name", zoo.circuits())
def test_topdown_mass_passes_on_to_the_children(name):
    circuit = zoo.circuits()[name]
    mass, offsets = naive.topdown_mass(circuit), circuit.offsets
    assert mass[-1] == pytest.approx(1.0, rel=1e-12)
    for r, region in enumerate(circuit.regions):
        shown = mass[offsets[r + 1] - region.num_units : offsets[r + 1]]
        close(shown.sum(), 1.0)  # a sample enters each region once
        if isinstance(region, InnerRegion):
            close(
                mass[offsets[r] : offsets[r] + region.num_products],
                region.dense_weights().T @ shown,
            )


# -- plain versions ------------------------------------------------------------------------------------------


def plain(module, name):
    """The function of this name that the head of a module defines."""
    names = dict(vars(module))
    for example in doctest.DocTestParser().get_examples(module.__doc__):
        if example.source.startswith(f"def {name}("):
            exec(example.source, names)
    return names[name]


@pytest.mark.parametrize("name", zoo.circuits())
def test_plain_versions_agree_with_enumeration(name):
    circuit = zoo.circuits()[name]
    x = naive.states(circuit)
    p = naive.likelihood(circuit, x)
    close(plain(likelihood, "plain_values")(circuit, x)[-1][0], p)
    found = plain(flows, "plain_flows")(circuit, x[p > 0])
    for one, other in zip(found, naive.flows(circuit, x[p > 0]), strict=True):
        close(one, other)
    close(plain(products, "plain_overlap")(circuit, circuit), naive.overlap(circuit, circuit))
    nodes = select_nodes(circuit)
    close(plain(distances, "plain_vectors")(circuit, x), naive.node_values(circuit, x)[:, nodes])


def test_the_plain_sampler_draws_states_as_often_as_they_are_likely(rng):
    circuit = zoo.circuits()["mixed_categories"]
    x, N = naive.states(circuit), 20_000
    drawn = plain(sampling, "plain_sample")(circuit, N, rng)
    place = np.ravel_multi_index(drawn.T, circuit.num_categories)
    p, counts = naive.likelihood(circuit, x), np.bincount(place, minlength=len(x))
    sure = SURE / len(x)
    assert (counts >= at_least(N, p, sure)).all()
    assert (counts <= at_most(N, p, sure)).all()
