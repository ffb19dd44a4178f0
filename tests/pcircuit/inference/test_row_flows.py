"""Flows row by row: of each row those of enumeration, and in the places where `Flows` has the parameters."""

import naive
import numpy as np
import pytest
import zoo

from pcircuit import Circuit, InnerRegion, InputRegion, VTree, expected_flows
from pcircuit.inference import row_flows
from pcircuit.inference.row_flows import flows_of_rows, region_slices

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


@pytest.mark.parametrize(
    "name", ["irregular_csr", "nary", "mixed_categories", "unary", "one_region"]
)
def test_slices_are_the_places_in_all_flows(name, rng):
    circuit = ZOO[name]
    data = zoo.rows_with_holes(circuit, rng, 8)
    flows = expected_flows(circuit, data)
    every = np.concatenate([flows.edges, flows.inputs])
    slices = region_slices(circuit)
    assert sorted(i for part in slices for i in range(part.start, part.stop)) == list(
        range(len(every))
    )
    for r, of_rows in flows_of_rows(circuit, data):
        np.testing.assert_allclose(of_rows.sum(axis=1), every[slices[r]], rtol=1e-11, atol=1e-13)


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


def test_no_rows_have_no_flows():
    circuit = ZOO["two_coins"]
    assert [flows.shape for _, flows in flows_of_rows(circuit, np.empty((0, 2), dtype=int))] == [
        (2, 0),
        (4, 0),
        (4, 0),
    ]
