"""No number of any row exceeds the bounds that averages in files are held to."""

import numpy as np
import pytest
import zoo

from hld.vectors.bounded import bounded_array
from hld.vectors.row_vectors import RowVectors
from hld.vectors.score_features import FLOOR, score_features
from pcircuit import select_nodes


@pytest.mark.parametrize("name", zoo.circuits())
def test_no_row_exceeds_the_bounds(name):
    circuit = zoo.circuits()[name]
    features = score_features(circuit, most=6)
    assert np.abs(features.factors).max() <= FLOOR**-0.5 * (1 + 1e-12)
    vectors = RowVectors(circuit, select_nodes(circuit), features)
    found = vectors.rows(zoo.rows_with_holes(circuit, np.random.default_rng(0)))
    assert (np.abs(found) <= vectors.bounds * (1 + 1e-12)).all()


def test_the_bounds_themselves_are_read_and_nothing_beyond_them():
    bounds = np.array([1.0, 30.0])
    assert bounded_array({"mean": bounds}, "mean", (2,), bounds) is bounds
    for wrong, message in [
        ([1.1, 0], "more than the 1 that"),
        ([0, -31], "holds -31, more"),
        ([0, np.nan], "must hold"),
    ]:
        with pytest.raises(ValueError, match=message):
            bounded_array({"mean": np.array(wrong, dtype=float)}, "mean", (2,), bounds)
