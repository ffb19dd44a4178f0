"""Scores row by row by the kernels, against their twin in NumPy, on every kind of circuit."""

import numpy as np
import pytest
import scipy.sparse
from kernel_circuits import CIRCUITS, rows

from pcircuit import scores
from pcircuit.inference import scores as module
from pcircuit.kernels import tile


def by_both(circuit, data, monkeypatch, directions=None):
    """The scores of NumPy, and of the kernels."""
    found = []
    for engine in ("numpy", "numba"):
        monkeypatch.setenv("PCIRCUIT_ENGINE", engine)
        found.append(scores(circuit, data, directions=directions))
    return found


def holes(data, rng):
    """Rows of which some cells are missing, and one all of whose are."""
    data = data.astype(np.int64)
    data[rng.random(data.shape) < 0.2] = -1
    data[0] = -1
    return data


@pytest.mark.parametrize("name", CIRCUITS)
def test_whole_scores_are_those_of_numpy(name, monkeypatch, rng):
    data = holes(rows(CIRCUITS[name], rng), rng)
    expected, found = by_both(CIRCUITS[name], data, monkeypatch)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert np.abs(expected).max() > 0 or name == "unnormalized zero"


@pytest.mark.parametrize("name", CIRCUITS)
def test_products_with_sparse_directions_are_those_of_numpy(name, monkeypatch, rng):
    """Directions without entries, with several for one parameter, and parameters without any."""
    circuit = CIRCUITS[name]
    table = rng.normal(size=(circuit.num_parameters, 5)) * (
        rng.random((circuit.num_parameters, 5)) < 0.4
    )
    table[:, 3] = 0.0
    for form in (scipy.sparse.csr_array, scipy.sparse.csc_matrix):
        expected, found = by_both(circuit, rows(circuit, rng), monkeypatch, form(table))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


def test_rows_in_small_tiles_are_the_rows_in_a_large_one(monkeypatch, rng):
    circuit = CIRCUITS["chain"]
    data = np.tile(rows(circuit, rng), (3, 1))[:43]
    directions = scipy.sparse.csr_array(rng.normal(size=(circuit.num_parameters, 2)))
    new_work = tile.new_work

    def small(*arguments):
        work, group = new_work(*arguments)
        codes = np.empty((len(work.codes), 20), dtype=work.codes.dtype)
        return work, group._replace(roots=group.roots[:12], step=4, codes=codes)

    monkeypatch.setattr(module, "new_work", small)
    for wanted in (None, directions):
        expected, found = by_both(circuit, data, monkeypatch, wanted)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_more_directions_than_a_tile_has_room_for_are_left_to_numpy(monkeypatch, rng):
    circuit = CIRCUITS["chain"]
    monkeypatch.setattr(module, "MOST_DIRECTIONS", 1)
    directions = scipy.sparse.csr_array(rng.normal(size=(circuit.num_parameters, 2)))
    expected, found = by_both(circuit, rows(circuit, rng), monkeypatch, directions)
    np.testing.assert_array_equal(found, expected)


def test_no_rows_have_no_scores(monkeypatch):
    circuit = CIRCUITS["chain"]
    for found in by_both(circuit, np.empty((0, circuit.num_variables), dtype=int), monkeypatch):
        assert found.shape == (0, circuit.num_parameters)
