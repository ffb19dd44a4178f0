"""Holes are filled from the rest of their row, by draws that a seed repeats."""

import numpy as np
import pytest
import zoo
from binomial_bounds import SURE
from scipy.stats import binom

from hld.vectors.completion import complete
from pcircuit import Circuit, InnerRegion, InputRegion, VTree


@pytest.fixture(scope="module")
def twins():
    """Two fair coins that show the same side."""
    return Circuit(
        VTree.from_nested([0, 1]),
        [
            InputRegion(0, np.eye(2)),
            InputRegion(1, np.eye(2)),
            InnerRegion([[0, 0], [1, 1]], [[0.5, 0.5]]),
        ],
    )


def test_a_hole_is_filled_with_what_the_rest_of_its_row_says(twins):
    rows = np.array([[0, -1], [1, -1], [-1, 0], [-1, 1], [1, 1]] * 20)
    filled, num_missing = complete(twins, rows, seed=0)
    assert num_missing == 80
    np.testing.assert_array_equal(filled[rows >= 0], rows[rows >= 0])
    np.testing.assert_array_equal(filled[:, 0], filled[:, 1])


def test_rows_of_holes_are_draws_from_the_circuit(twins):
    filled, _ = complete(twins, np.full((1000, 2), -1), seed=1)
    np.testing.assert_array_equal(filled[:, 0], filled[:, 1])
    assert binom(1000, 0.5).ppf(SURE) <= filled[:, 0].sum() <= binom(1000, 0.5).isf(SURE)
    np.testing.assert_array_equal(filled, complete(twins, np.full((1000, 2), -1), seed=1)[0])
    assert (filled != complete(twins, np.full((1000, 2), -1), seed=2)[0]).any()


def test_whole_rows_are_returned_as_they_are():
    circuit = zoo.circuits()["two_coins"]
    for rows in (np.array([[0, 1], [1, 1]]), np.array([[0, 1]], dtype=np.uint8)):
        assert complete(circuit, rows, seed=0)[0] is rows
    with pytest.raises(ValueError, match="`batch` has no rows"):
        complete(circuit, np.zeros((0, 2), dtype=int), seed=0)
