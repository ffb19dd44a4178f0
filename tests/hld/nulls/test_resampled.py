"""Distances of drawn batches: by means or by products of rows, the same."""

import numpy as np
import pytest
from dense_maps import dense_map

from hld.features.linear_maps import Scaled, Stretched, squared_distances
from hld.references.rows import drawn_distances, resampled_weights


@pytest.mark.parametrize("n", [2, 5, 30, 200])
@pytest.mark.parametrize("T", [1, 3, 20, 150, 2000])
def test_both_ways_give_the_distances_of_the_means(n, T, rng):
    rows = rng.normal(size=(n, 30))
    rows -= rows.mean(axis=0)
    vectors = np.linalg.qr(rng.normal(size=(30, 4)))[0]
    metrics = (
        Scaled("euclidean", np.ones(30)),
        dense_map("mapped", rng.normal(size=(4, 30))),
        Stretched("steep", vectors, np.array([3.0, 2.0, 0.5, 0.0]), 0.7),
        Scaled("last", np.ones(10), before=20),
    )
    found = drawn_distances(metrics, rows, T, 40, np.random.default_rng(1), {})
    means = resampled_weights(len(rows), T, 40, np.random.default_rng(1)) @ rows
    expected = squared_distances(metrics, means)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-13 * (rows**2).sum())
    np.testing.assert_allclose(expected[:, 0], (means**2).sum(axis=1), rtol=1e-12)
    assert (drawn_distances(metrics, 0 * rows, T, 7, rng, {}) == 0).all()
