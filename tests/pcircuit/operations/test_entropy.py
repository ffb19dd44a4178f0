"""Entropies, divergences and mutual information: exact where they say so, within their errors elsewhere."""

import math

import naive
import numpy as np
import pytest
import zoo

import pcircuit
from pcircuit import (
    Circuit,
    InnerRegion,
    InputRegion,
    StructureError,
    VTree,
)

ZOO = zoo.circuits()


def plain_cross_entropy(p, q):
    a, b = naive.values(p), naive.values(q)
    return -sum(x * math.log(y) if y > 0 else -math.inf for x, y in zip(a, b, strict=True) if x > 0)


@pytest.mark.parametrize("seed", range(4))
def test_entropies_of_deterministic_circuits_are_exact(seed, monkeypatch):
    p, q = zoo.learned_tree(seed), zoo.learned_tree(seed)
    other = pcircuit.fit_em(
        q, np.random.default_rng(seed).integers(0, 3, (50, 5)), num_epochs=1, pseudocount=0
    )[0]
    monkeypatch.setattr(
        "pcircuit.operations.entropy.MOST_STATES", 0
    )  # the recursion, not the sum over states
    for found, expected in (
        (pcircuit.entropy(p), plain_cross_entropy(p, p)),
        (pcircuit.cross_entropy(p, other), plain_cross_entropy(p, other)),
        (
            pcircuit.kl_divergence(p, other),
            plain_cross_entropy(p, other) - plain_cross_entropy(p, p),
        ),
    ):
        assert (found.method, found.error) == ("exact", 0.0)
        assert found.value == pytest.approx(expected, rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("name", ZOO)
def test_entropies_of_small_circuits_are_sums_over_states(name):
    circuit = ZOO[name]
    expected = plain_cross_entropy(circuit, circuit)
    assert pcircuit.entropy(circuit).value == pytest.approx(expected, rel=1e-11, abs=1e-12)
    assert pcircuit.kl_divergence(circuit, circuit).value == pytest.approx(0, abs=1e-11)


def single(*probs):
    return Circuit(VTree([-1], [0]), [InputRegion(0, [probs])])


@pytest.mark.parametrize("states", [0, 100_000])
def test_rounded_probabilities_are_no_mass_outside_the_support(states, monkeypatch):
    """Sums of 1 - 1e-10 count as normalised; so do 3,000 dice, each rounded."""
    monkeypatch.setattr("pcircuit.operations.entropy.MOST_STATES", states)
    rounded = single(0.3333333333, 0.3333333333, 0.3333333333)
    assert pcircuit.entropy(rounded).value == pytest.approx(math.log(3), rel=1e-9)
    assert pcircuit.kl_divergence(rounded, rounded).value == 0
    V = 3_000
    dice = [
        Circuit(
            VTree.from_nested(list(range(V))),
            [*[InputRegion(v, [[1 / 6] * 6]) for v in range(V)], InnerRegion([[0] * V], [[1.0]])],
        )
        for _ in range(2)
    ]
    assert pcircuit.entropy(dice[0]).value == pytest.approx(V * math.log(6), rel=1e-9)
    assert pcircuit.kl_divergence(*dice).value == 0


@pytest.mark.parametrize("tiny", [2e-9, 1e-3])
def test_mass_outside_the_support_makes_the_divergence_infinite(tiny):
    assert pcircuit.kl_divergence(single(1 - tiny, tiny), single(1, 0)).value == math.inf
    assert pcircuit.cross_entropy(single(1 - tiny, tiny), single(1, 0)).value == math.inf
    assert (
        0
        <= pcircuit.kl_divergence(single(1, 0), single(1 - tiny, tiny)).value
        == pytest.approx(-math.log1p(-tiny), abs=1e-15)
    )


def test_a_drawn_row_outside_the_support_proves_it(monkeypatch):
    """Half of the rows are impossible under q: infinite, not NaN."""
    monkeypatch.setattr("pcircuit.operations.entropy.MOST_STATES", 0)
    vtree, top = VTree.from_nested([0, 1]), InnerRegion([[0, 0], [1, 1]], [[0.5, 0.5]])
    p = Circuit(vtree, [InputRegion(0, [[0.5, 0.5]] * 2), InputRegion(1, [[0.5, 0.5]] * 2), top])
    q = Circuit(
        vtree, [InputRegion(0, [[1, 0]] * 2), InputRegion(1, [[0.5, 0.5], [0.4, 0.6]]), top]
    )
    for function in (pcircuit.cross_entropy, pcircuit.kl_divergence):
        found = function(p, q, num_samples=100, rng=0)  # all rows possible: probability 2**-100
        assert (found.value, found.error, found.method) == (math.inf, 0.0, "exact")


@pytest.mark.parametrize("seed", range(8))
def test_random_zeros_make_divergences_of_deterministic_circuits_infinite_where_they_are(
    seed, monkeypatch
):
    monkeypatch.setattr("pcircuit.operations.entropy.MOST_STATES", 0)
    rng, found = np.random.default_rng(seed), set()
    for _ in range(10):
        p, q = (
            pcircuit.normalize(
                Circuit(
                    c.vtree,
                    [
                        InputRegion(r.variable, r.probs * (rng.random(r.probs.shape) < 0.9))
                        if isinstance(r, InputRegion)
                        else InnerRegion(
                            r.products,
                            r.dense_weights() * (rng.random(r.weights.shape) < 0.9)
                            + 1e-3 * np.eye(*r.weights.shape),
                        )
                        for r in c.regions
                    ],
                )
            )
            for c in [zoo.learned_tree(seed)] * 2
        )
        expected = plain_cross_entropy(p, q) - plain_cross_entropy(p, p)
        found.add(math.isinf(expected))
        assert pcircuit.kl_divergence(p, q).value == pytest.approx(
            max(expected, 0), rel=1e-10, abs=1e-12
        )
    assert True in found


@pytest.mark.parametrize("states", [0, 100_000])
def test_distributions_over_other_spaces_are_refused(states, monkeypatch):
    monkeypatch.setattr("pcircuit.operations.entropy.MOST_STATES", states)
    p, q = ZOO["hclt_like"], ZOO["rat_like"]
    for function in (pcircuit.cross_entropy, pcircuit.kl_divergence):
        with pytest.raises(StructureError, match="v-tree"):
            function(p, q)
        with pytest.raises(StructureError, match="`q` is not normalised"):
            function(
                p,
                Circuit(
                    p.vtree,
                    [*p.regions[:-1], InnerRegion(p.regions[-1].products, [[1.0, 1.0, 1.0]])],
                ),
            )


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


@pytest.mark.parametrize("is_drawn", [False, True])
@pytest.mark.parametrize("num_parts", [1, 2, 5])
def test_rounding_makes_no_entropy_negative(num_parts, is_drawn, monkeypatch):
    """All mass is on one row, whose probability is rounded to the next double above 1; one part is deterministic."""
    weights = np.full((1, num_parts), (1 + 2**-52) / num_parts)
    circuit = Circuit(
        VTree.from_nested([0, 1]),
        [
            *(InputRegion(v, [[1.0, 0.0]] * num_parts) for v in range(2)),
            InnerRegion([[k, k] for k in range(num_parts)], weights),
        ],
    )
    if is_drawn:
        monkeypatch.setattr("pcircuit.operations.entropy.MOST_STATES", 0)
    assert pcircuit.log_likelihood(circuit, [[0, 0]])[0] > 0
    for found in (
        pcircuit.entropy(circuit, num_samples=10),
        pcircuit.cross_entropy(circuit, circuit, num_samples=10),
    ):
        assert found.method == ("monte-carlo" if is_drawn and num_parts > 1 else "exact")
        assert found.value == 0.0
