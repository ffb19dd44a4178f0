"""Programs: no more places than are needed, and each reads the units asked for, whatever was asked for before."""

import naive
import numpy as np
import zoo

from pcircuit import mean_node_likelihoods, node_likelihoods, sample
from pcircuit.kernels import programs
from pcircuit.kernels.operations import SPARE
from pcircuit.kernels.packing import pack

CIRCUIT = zoo.circuits()["hclt_like"]
ROWS = sample(CIRCUIT, 12, rng=0).astype(np.int64)


def test_evaluation_keeps_no_more_sums_than_wait_for_their_parent():
    """Along a chain these are those of one region: two sums, beside twice the room of two products."""
    chain = zoo.circuits()["deep_chain"]
    assert programs.evaluation(pack(chain)).common == SPARE + 6


def test_each_call_reads_its_own_units(monkeypatch):
    monkeypatch.setenv("PCIRCUIT_ENGINE", "numba")
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
    for nodes in asked:
        found = node_likelihoods(CIRCUIT, ROWS, nodes=nodes)
        np.testing.assert_allclose(found, expected[:, nodes], rtol=1e-12)
        means = mean_node_likelihoods(CIRCUIT, ROWS, nodes=nodes)
        np.testing.assert_allclose(means, expected[:, nodes].mean(axis=0), rtol=1e-12)


def test_what_is_kept_does_not_change_with_the_array_that_was_passed():
    packed, nodes = pack(CIRCUIT), np.array([3, 1])
    first = programs.units(CIRCUIT, packed, nodes, summed=False)
    assert programs.units(CIRCUIT, packed, nodes, summed=False) is first
    assert programs.units(CIRCUIT, packed, nodes, summed=True) is not first
    first = programs.units(CIRCUIT, packed, nodes, summed=False)
    nodes[:] = 0, 2
    assert programs.units(CIRCUIT, packed, nodes, summed=False) is not first
