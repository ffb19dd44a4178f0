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


def test_flows_of_two_coins():
    # (0, missing): the components have 0.25 * 0.9 : 0.75 * 0.2 = 0.6 : 0.4, then the second coin is free
    first, second, root = naive.flows(zoo.two_coins(), [[0, -1]])
    close(first, [[0.6, 0.0], [0.4, 0.0]])
    close(second, [[0.6 * 0.7, 0.6 * 0.3], [0.4 * 0.4, 0.4 * 0.6]])
    close(root, [[0.6, 0.4]])
    # (0, 0): 0.1575 : 0.06 = 21/29 : 8/29
    close(naive.flows(zoo.two_coins(), [[0, 0]])[2], [[21 / 29, 8 / 29]])


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
