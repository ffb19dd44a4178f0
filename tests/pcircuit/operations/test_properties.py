"""Structural properties, and pruning that changes no value."""

import naive
import numpy as np
import pytest
import zoo

import pcircuit
from pcircuit import Circuit, InnerRegion, InputRegion, VTree
from pcircuit.operations.properties import shared_terms

ALL = zoo.all_circuits()


@pytest.mark.parametrize("name", ALL)
def test_determinism_is_what_enumeration_says(name):
    circuit = ALL[name]
    X = naive.states(circuit)
    likelihoods = naive.node_values(circuit, X)
    first, expected = circuit.offsets, True
    for r, region in enumerate(circuit.regions):
        if isinstance(region, InnerRegion):
            products = likelihoods[:, first[r] : first[r] + region.num_products] > 0
            used = region.dense_weights() > 0
            expected &= all((products[:, row].sum(axis=1) <= 1).all() for row in used)
    assert pcircuit.properties(circuit).deterministic == expected
    assert pcircuit.properties(circuit).normalised == circuit.is_normalized
    if not expected:
        r, k, p, q = shared_terms(circuit)
        both = likelihoods[:, first[r] + p] * likelihoods[:, first[r] + q] > 0
        assert both.any()
        assert (circuit.regions[r].dense_weights()[k, [p, q]] > 0).all()


def test_chow_liu_circuits_are_deterministic_and_hidden_ones_are_not():
    circuit = zoo.learned_tree(0)
    assert pcircuit.properties(circuit).deterministic
    hidden = pcircuit.hclt(np.random.default_rng(0).integers(0, 2, (50, 4)), num_latents=2)
    found = pcircuit.properties(hidden)
    assert not found.deterministic
    assert "mixes products" in str(found)


@pytest.mark.parametrize("name", ALL)
def test_pruned_circuits_have_the_same_values(name):
    circuit = ALL[name]
    pruned = pcircuit.prune(circuit)
    np.testing.assert_allclose(naive.values(pruned), naive.values(circuit), rtol=1e-13, atol=0)
    assert pruned.num_nodes <= circuit.num_nodes
    assert pcircuit.prune(pruned) == pruned


def test_products_that_are_zero_for_a_reason_further_down_are_removed():
    dead = Circuit(
        VTree.from_nested([[0, 1], 2]),
        [
            InputRegion(0, [[0.0, 0.0], [0.5, 0.5]]),
            InputRegion(1, [[0.5, 0.5]]),
            InnerRegion([[0, 0], [1, 0]], np.eye(2)),
            InputRegion(2, [[0.5, 0.5]]),
            InnerRegion([[0, 0], [1, 0]], [[0.5, 0.5]]),
        ],
    )
    pruned = pcircuit.prune(dead)
    assert [region.num_units for region in pruned.regions] == [1] * 5
    assert pruned.regions[-1].num_products == 1
    np.testing.assert_allclose(naive.values(pruned), naive.values(dead), rtol=1e-15)
