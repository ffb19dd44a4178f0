"""Scores against differences of the log-likelihood in the logits, and their mean under the circuit."""

import naive
import numpy as np
import pytest
import scipy.sparse
import zoo
from hypothesis import given
from hypothesis import strategies as st

from pcircuit import Circuit, InnerRegion, InputRegion, VTree, mean_score, scores
from pcircuit.inference import scores as module
from pcircuit.inference import scores as row_flows
from pcircuit.inference.scores import flows_of_rows

STEP = 1e-4


def parameters(circuit):
    """[(region, unit, entries of its row)] of the parameters, in the order of `Flows`."""
    edges = [
        (r, k)
        for r, region in enumerate(circuit.regions)
        if not isinstance(region, InputRegion)
        for k in range(region.num_units)
    ]
    inputs = [
        (r, k)
        for r in circuit.vtree.leaf_of().tolist()
        for k in range(circuit.regions[r].num_units)
    ]
    return [
        (
            r,
            k,
            np.arange(circuit.num_categories[region.variable])
            if isinstance(region, InputRegion)
            else region.weights[[k]].indices
            if region.is_sparse
            else np.arange(region.weights.shape[1]),
        )
        for r, k in edges + inputs
        for region in [circuit.regions[r]]
    ]


def tilted(circuit, r, k, entry, step):
    """The circuit with one logit of one unit moved by `step`."""

    def moved(table):
        table = np.array(table.toarray() if hasattr(table, "toarray") else table)
        total = table[k].sum()
        table[k, entry] *= np.exp(step)
        table[k] *= total / table[k].sum()
        return table

    regions = list(circuit.regions)
    region = regions[r]
    regions[r] = (
        InputRegion(region.variable, moved(region.probs))
        if isinstance(region, InputRegion)
        else InnerRegion(region.products, moved(region.weights))
    )
    return Circuit(circuit.vtree, regions)


def differences(circuit, data):
    """(N, P) central differences of the log-likelihood, by enumeration of nothing but the circuit's definition."""
    columns = []
    for r, k, entries in parameters(circuit):
        for entry in entries:
            up, down = (
                naive.log_likelihood(tilted(circuit, r, k, entry, sign * STEP), data)
                for sign in (1, -1)
            )
            columns.append((up - down) / (2 * STEP))
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("name", zoo.circuits())
def test_scores_are_the_gradient_in_the_logits(name, rng):
    circuit = zoo.circuits()[name]
    data = naive.states(circuit)
    data = data[naive.likelihood(circuit, data) > 0]
    data = data[rng.permutation(len(data))[:4]]
    np.testing.assert_allclose(scores(circuit, data), differences(circuit, data), atol=1e-6)


@pytest.mark.parametrize("name", zoo.circuits())
def test_the_mean_under_the_circuit_is_zero_and_means_add_up(name, engine):
    circuit = zoo.circuits()[name]
    data = naive.states(circuit)
    rows = scores(circuit, data)
    np.testing.assert_allclose(naive.likelihood(circuit, data) @ rows, 0.0, atol=1e-13)
    np.testing.assert_allclose(mean_score(circuit, data), rows.mean(axis=0), atol=1e-12)


@given(zoo.circuit_strategy(max_variables=4), st.integers(0, 2**32))
def test_rows_with_holes_have_the_score_of_their_completions(circuit, seed):
    rng = np.random.default_rng(seed)
    data = zoo.rows_with_holes(circuit, rng, 5)
    expected = np.zeros_like(scores(circuit, data))
    for row, one in zip(data, expected, strict=True):
        full = naive.completions(circuit, row)
        p = naive.likelihood(circuit, full)
        one += p @ scores(circuit, full) / p.sum() if p.sum() > 0 else 0.0
    np.testing.assert_allclose(scores(circuit, data), expected, atol=1e-11)


def test_directions_multiply_in_blocks_and_rows_in_the_log_domain_agree(monkeypatch, rng):
    circuit = zoo.random_circuit(
        rng, num_variables=300, max_units=3, nary=True
    )  # likelihoods far below doubles
    data = zoo.rows_with_holes(circuit, rng, 7)
    whole = scores(circuit, data)
    directions = rng.normal(size=(whole.shape[1], 5))
    monkeypatch.setattr(module, "BLOCK_ROWS", 3)
    for given_as in (np.asarray, scipy.sparse.csr_array, scipy.sparse.coo_array):
        np.testing.assert_allclose(
            scores(circuit, data, directions=given_as(directions)), whole @ directions, atol=1e-10
        )
    np.testing.assert_allclose(mean_score(circuit, data), whole.mean(axis=0), atol=1e-11)
    monkeypatch.setattr("pcircuit.inference.scores.may_overflow", lambda circuit: True)
    np.testing.assert_allclose(scores(circuit, data), whole, atol=1e-9)


def test_what_cannot_be_is_refused(rng):
    circuit = zoo.two_coins()
    with pytest.raises(ValueError, match="`data` has no rows"):
        mean_score(circuit, np.zeros((0, circuit.num_variables), int))
    with pytest.raises(ValueError, match="`directions` must be numbers of shape"):
        scores(circuit, [[0] * circuit.num_variables], directions=[[1.0]])
    assert scores(circuit, np.zeros((0, circuit.num_variables), int)).shape[0] == 0


ZOO = zoo.all_circuits()


def stored(region, flows):
    """Flows (K, P) or (K, C) as `Flows.by_region` has them, flat: without what a sparse region does not store."""
    if not isinstance(region, InputRegion) and region.is_sparse:
        flows = flows[
            np.repeat(np.arange(region.num_units), np.diff(region.weights.indptr)),
            region.weights.indices,
        ]
    return flows.ravel()


@pytest.mark.parametrize("by_logarithms", [False, True])
@pytest.mark.parametrize("name", ZOO)
def test_each_row_has_the_flows_of_enumeration(name, by_logarithms, monkeypatch, rng):
    if by_logarithms:
        monkeypatch.setattr(row_flows, "may_overflow", lambda circuit: True)
    circuit = ZOO[name]
    data = zoo.rows_with_holes(circuit, rng, 6)
    found = list(flows_of_rows(circuit, data))
    assert [r for r, _ in found] == list(reversed(range(circuit.num_regions)))
    expected = [naive.flows(circuit, row[None]) for row in data]
    for r, flows in found:
        np.testing.assert_allclose(
            flows.T,
            [stored(circuit.regions[r], one[r]) for one in expected],
            rtol=1e-11,
            atol=1e-13,
        )


def test_rows_that_are_lost_in_the_linear_domain_are_done_again_and_no_others():
    """Components of 1e-600 and 3e-600 in the second row, between two that are ordinary."""
    circuit = Circuit(
        VTree.from_nested([0, 1, 2]),
        [
            InputRegion(0, [[1e-300, 1.0], [3e-300, 1.0]]),
            InputRegion(1, [[1e-300, 1.0], [1e-300, 1.0]]),
            InputRegion(2, [[1.0], [1.0]]),
            InnerRegion([[0, 0, 0], [1, 1, 1]], [[0.5, 0.5]]),
        ],
    )
    _, root = next(flows_of_rows(circuit, np.array([[1, 1, 0], [0, 0, -1], [0, 1, 0]])))
    np.testing.assert_allclose(root.T, [[0.5, 0.5], [0.25, 0.75], [0.25, 0.75]], rtol=1e-12)
