"""Readers: those of the units asked for, whatever was asked for before."""

import naive
import numpy as np
import zoo

from pcircuit import node_likelihoods, sample
from pcircuit.kernels import readers
from pcircuit.kernels.readers import unit_readers

CIRCUIT = zoo.circuits()["hclt_like"]
ROWS = sample(CIRCUIT, 12, rng=0).astype(np.int64)


def test_each_call_reads_its_own_units(monkeypatch):
    expected = naive.node_values(CIRCUIT, ROWS)
    asked = [
        np.arange(CIRCUIT.num_nodes),
        np.array([3, 1]),
        np.array([1, 3]),
        np.array([1, 3]),
        np.array([2]),
        np.array([], dtype=int),
        np.arange(CIRCUIT.num_nodes),
    ]
    for most in (readers.MOST_KEPT, 1):
        monkeypatch.setattr(readers, "MOST_KEPT", most)
        for nodes in asked:
            np.testing.assert_allclose(
                node_likelihoods(CIRCUIT, ROWS, nodes=nodes), expected[:, nodes], rtol=1e-12
            )


def test_what_is_kept_does_not_change_with_the_array_that_was_passed():
    nodes = np.array([3, 1])
    first = unit_readers(CIRCUIT, nodes)
    nodes[:] = 0, 2
    second = unit_readers(CIRCUIT, nodes)
    assert first.tolist() != second.tolist()
    assert sorted(second[:, -1].tolist()) == [0, 1]
