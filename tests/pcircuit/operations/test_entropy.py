"""Entropies, divergences and mutual information: exact where they say so, within their errors elsewhere."""
import math

import naive
import numpy as np
import pytest
import zoo

import pcircuit
from pcircuit import Circuit, InnerRegion, InputRegion, StructureError, VTree

ZOO = zoo.circuits()


def plain_cross_entropy(p, q):
    a, b = naive.values(p), naive.values(q)
    return -sum(x * math.log(y) if y > 0 else -math.inf for x, y in zip(a, b, strict=True) if x > 0)


@pytest.mark.parametrize("seed", range(4))
def test_entropies_of_deterministic_circuits_are_exact(seed, monkeypatch):
    p, q = zoo.learned_tree(seed), zoo.learned_tree(seed)
    other = pcircuit.fit_em(q, np.random.default_rng(seed).integers(0, 3, (50, 5)), num_epochs=1, pseudocount=0)[0]
    monkeypatch.setattr("pcircuit.operations.entropy.MOST_STATES", 0)  # the recursion, not the sum over states
    for found, expected in (
        (pcircuit.entropy(p), plain_cross_entropy(p, p)),
        (pcircuit.cross_entropy(p, other), plain_cross_entropy(p, other)),
        (pcircuit.kl_divergence(p, other), plain_cross_entropy(p, other) - plain_cross_entropy(p, p)),
    ):
        assert (found.method, found.error) == ("exact", 0.0)
        assert found.value == pytest.approx(expected, rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("name", ZOO)
def test_entropies_of_small_circuits_are_sums_over_states(name):
    circuit = ZOO[name]
    expected = plain_cross_entropy(circuit, circuit)
    assert pcircuit.entropy(circuit).value == pytest.approx(expected, rel=1e-11, abs=1e-12)
    assert pcircuit.kl_divergence(circuit, circuit).value == pytest.approx(0, abs=1e-11)


def test_mass_outside_the_support_makes_the_divergence_infinite():
    fair, certain = (Circuit(VTree([-1], [0]), [InputRegion(0, [[p, 1 - p]])]) for p in (0.5, 1.0))
    assert pcircuit.kl_divergence(fair, certain).value == math.inf
    assert pcircuit.kl_divergence(certain, fair).value == pytest.approx(math.log(2))


@pytest.mark.parametrize("states", [0, 100_000])
def test_distributions_over_other_spaces_are_refused(states, monkeypatch):
    monkeypatch.setattr("pcircuit.operations.entropy.MOST_STATES", states)
    p, q = ZOO["hclt_like"], ZOO["rat_like"]
    for function in (pcircuit.cross_entropy, pcircuit.kl_divergence):
        with pytest.raises(StructureError, match="v-tree"):
            function(p, q)
        with pytest.raises(StructureError, match="`q` is not normalised"):
            function(p, Circuit(p.vtree, [*p.regions[:-1], InnerRegion(p.regions[-1].products, [[1.0, 1.0, 1.0]])]))


def test_estimates_lie_within_their_errors(monkeypatch):
    circuit = ZOO["hclt_like"]
    exact = pcircuit.entropy(circuit).value
    monkeypatch.setattr("pcircuit.operations.entropy.MOST_STATES", 0)
    found = [pcircuit.entropy(circuit, num_samples=2000, rng=seed) for seed in range(40)]
    assert {estimate.method for estimate in found} == {"monte-carlo"}
    outside = sum(abs(e.value - exact) > 1.96 * e.error for e in found)
    assert outside <= 7  # binomial(40, 0.05) exceeds 7 with probability 4e-4


@pytest.mark.parametrize("name", ["hclt_like", "rat_like", "deterministic", "mixed_categories"])
def test_mutual_information_is_a_sum_over_states(name):
    circuit = ZOO[name]
    p = naive.values(circuit).reshape(circuit.num_categories)
    V = circuit.num_variables
    for first, second in (([0], [1]), (range(V // 2), range(V // 2, V))):
        keep = sorted([*first, *second])
        joint = p.sum(axis=tuple(v for v in range(V) if v not in keep))
        a = joint.sum(axis=tuple(keep.index(v) for v in second), keepdims=True)
        b = joint.sum(axis=tuple(keep.index(v) for v in first), keepdims=True)
        positive = joint > 0
        expected = (joint[positive] * np.log(joint[positive] / (a * b)[positive])).sum()
        found = pcircuit.mutual_information(circuit, first, second)
        assert found.value == pytest.approx(expected, rel=1e-9, abs=1e-12)
    with pytest.raises(ValueError, match="without a common one"):
        pcircuit.mutual_information(circuit, [0], [0, 1])
