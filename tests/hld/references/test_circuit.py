"""The circuit as reference: its exact moments, what it draws, and covariances of more nodes than are formed."""

import naive
import numpy as np
import pytest
import zoo

from hld import select_nodes
from hld.references.circuit import CircuitReference
from pcircuit import sample

CIRCUIT = zoo.circuits()["hclt_like"]
NODES = select_nodes(CIRCUIT)


@pytest.mark.parametrize(
    ("T", "limits"),
    [(1, {}), (7, {}), (7, {"BLOCK_VALUES": 1}), (7, {"BLOCK_ROWS": 20}), (7, {"BLOCK_ROWS": 3})],
)
def test_means_of_batches_are_means_of_their_rows_however_many_are_drawn_at_a_time(
    T, limits, monkeypatch
):
    for name, value in limits.items():
        monkeypatch.setattr(f"hld.references.circuit.{name}", value)
    reference, rng = CircuitReference(CIRCUIT, NODES), np.random.default_rng(6)
    step = max(1, limits.get("BLOCK_ROWS", 10**6) // T)
    rows = np.concatenate(
        [sample(CIRCUIT, min(step, 5 - start) * T, rng=rng) for start in range(0, 5, step)]
    )
    expected = (
        naive.node_values(CIRCUIT, rows)[:, NODES].reshape(5, T, -1).mean(axis=1) - reference.mean
    )
    for own in (reference, reference.at_deployment):
        found = own.batch_means(T, 5, np.random.default_rng(6))
        np.testing.assert_allclose(found, expected, atol=1e-14)
    assert "moments" not in vars(reference.at_deployment)
    if T == 1:
        found = reference.rows(5, np.random.default_rng(6))
        np.testing.assert_allclose(found, expected, atol=1e-14)
