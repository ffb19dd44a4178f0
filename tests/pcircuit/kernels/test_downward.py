"""The compiled downward pass: flows against Decimals, on circuits that take every branch."""

import itertools

import numpy as np
import precise
import pytest
from kernel_circuits import CIRCUITS, rows

from pcircuit import Circuit, InnerRegion, InputRegion, VTree, expected_flows
from pcircuit.kernels import programs


def assert_flows(circuit, data, weights):
    """All flows; those of products far behind, under 2**-60 of a row, may be 0."""
    flows = expected_flows(circuit, data, weights=weights)
    for region, found, expected in zip(
        circuit.regions,
        flows.by_region(circuit),
        precise.flows(circuit, data, weights),
        strict=True,
    ):
        expected = precise.doubles(expected)
        if found.ndim == 1:
            used = region.weights.nonzero()
            np.testing.assert_array_equal(expected[region.dense_weights() == 0], 0)
            expected = expected[used]
            found = found[region.weights.data > 0]
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=2.0**-60 * weights.sum())
    logs = precise.doubles(precise.logs(precise.unit_values(circuit, data)[0][-1][0]))
    counted = weights > 0
    assert flows.log_likelihood == pytest.approx(
        float(weights[counted] @ logs[counted]), rel=1e-13, abs=1e-13
    )
    assert flows.total_weight == weights.sum()


@pytest.mark.parametrize("block_bytes", [None, 0, 20_000])
@pytest.mark.parametrize("name", CIRCUITS)
def test_flows_are_right_whatever_was_rescaled(name, block_bytes, monkeypatch, rng):
    """Also in blocks of so many bytes, of one region at least."""
    monkeypatch.setenv("PCIRCUIT_ENGINE", "numba")
    if block_bytes is not None:
        monkeypatch.setattr(programs, "MOST_KEPT", -1)
        monkeypatch.setattr(programs, "BLOCK_BYTES", block_bytes)
    circuit = Circuit(CIRCUITS[name].vtree, CIRCUITS[name].regions)  # no program is kept
    data, weights = rows(circuit, rng), rng.uniform(0.5, 2.0, 24)
    weights[[3, 9]] = 0.0
    assert_flows(circuit, data, weights)
    assert_flows(circuit, data[:1], weights[:1])


@pytest.mark.parametrize(
    "name", ["chain", "hub, zero weights", "nary", "irregular_csr", "unnormalized sparse"]
)
def test_the_numpy_text_too(name, monkeypatch, rng):
    monkeypatch.setenv("PCIRCUIT_ENGINE", "numpy")
    assert_flows(CIRCUITS[name], rows(CIRCUITS[name], rng), rng.uniform(0.5, 2.0, 24))


@pytest.mark.parametrize("C", [1, 2, 3, 5])
@pytest.mark.parametrize("P", [1, 3, 4, 5, 8, 9])
@pytest.mark.parametrize("one_to_one", [False, True])
def test_leaves_and_children_of_all_widths(C, P, one_to_one, monkeypatch, rng):
    monkeypatch.setenv("PCIRCUIT_ENGINE", "numba")
    K = P if one_to_one else max(1, P // 2)
    inner = InnerRegion(np.zeros((1, 2), dtype=int), np.ones((K, 1)))
    products = np.stack([rng.permutation(P), np.arange(P) % K], axis=1)
    circuit = Circuit(
        VTree.from_nested([0, [1, 2]]),
        [
            InputRegion(0, rng.dirichlet(np.ones(C), size=P)),
            InputRegion(1, [[0.3, 0.7]]),
            InputRegion(2, [[0.9, 0.1]]),
            inner,
            InnerRegion(products, rng.dirichlet(np.ones(P), size=1)),
        ],
    )
    for missing in (0, -1):
        data = np.array(list(itertools.product(range(missing, C), range(missing, 2), range(2))))
        assert_flows(circuit, data, rng.uniform(0.5, 2.0, len(data)))
