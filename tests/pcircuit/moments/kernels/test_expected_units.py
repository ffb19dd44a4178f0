"""The kernel of likelihoods expected given a part of a row, against its NumPy twin."""

import kernel_circuits
import numpy as np
import pytest

from pcircuit import Circuit, InnerRegion, InputRegion, VTree, expected_node_likelihoods
from pcircuit.kernels.engine import engine_set_to
from pcircuit.moments.kernels.expectation_arrays import TILE

CIRCUITS = {
    name: circuit for name, circuit in kernel_circuits.CIRCUITS.items() if circuit.is_normalized
}


def by_both(circuit, data, given):
    found = []
    for engine in ("numpy", "numba"):
        with engine_set_to(engine):
            found.append(expected_node_likelihoods(circuit, data, given))
    return found


@pytest.mark.parametrize("name", CIRCUITS)
def test_kernel_and_numpy_agree(name, rng):
    circuit = CIRCUITS[name]
    data, V = kernel_circuits.rows(circuit, rng), circuit.num_variables
    for given in (np.arange(V) % 2 == 0, rng.random(V) < 0.5, np.zeros(V, bool), np.ones(V, bool)):
        numpy, numba = by_both(circuit, data, given)
        np.testing.assert_allclose(numba, numpy, rtol=1e-12, atol=1e-300)


def test_rows_fill_tiles_in_any_number(rng):
    circuit = CIRCUITS["hclt_like"]
    for rows in (1, TILE - 1, TILE, TILE + 1, 3 * TILE + 5):
        data = rng.integers(-1, circuit.num_categories, size=(rows, circuit.num_variables))
        numpy, numba = by_both(circuit, data, np.arange(circuit.num_variables) % 2 == 0)
        np.testing.assert_allclose(numba, numpy, rtol=1e-12)


def test_what_is_rare_counts_where_nothing_else_is_left():
    """Component 0 has 1e-400 times the likelihood of component 1 until the last variable excludes the latter."""
    V, rare = 5, 1e-100
    inputs = [InputRegion(v, [[rare, 1 - rare], [1 - rare, rare]]) for v in range(V - 1)]
    inputs += [
        InputRegion(V - 1, [[1.0, 0.0], [0.0, 1.0]]),
        InputRegion(V, [[0.3, 0.7], [0.6, 0.4]]),
    ]
    circuit = Circuit(
        VTree.from_nested([list(range(V - 1)), V - 1, V]),
        [
            *inputs[:-2],
            InnerRegion([[0] * (V - 1), [1] * (V - 1)], [[1.0, 0.0], [0.0, 1.0]]),
            *inputs[-2:],
            InnerRegion([[0, 0, 0], [1, 1, 1]], [[0.5, 0.5]]),
        ],
    )
    given = np.arange(V + 1) < V
    for found in by_both(circuit, [[0] * (V + 1)], given):
        drawn = [
            int(node)
            for node in np.flatnonzero(
                [set(circuit.scope(j)) == {V} for j in range(circuit.num_nodes)]
            )
        ]
        np.testing.assert_allclose(
            found[0, drawn], [0.3**2 + 0.7**2, 0.3 * 0.6 + 0.7 * 0.4], rtol=1e-12
        )
