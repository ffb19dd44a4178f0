"""Distances of drawn batches: by means or by products of rows, the same."""

import numpy as np
import pytest
from dense_maps import dense_map

from hld.features.linear_maps import Scaled, Stretched, squared_distances
from hld.laws.resampled import ResampledDistances
from hld.references.rows import resampled_weights


@pytest.mark.parametrize("n", [2, 5, 30, 200])
@pytest.mark.parametrize("T", [1, 3, 20, 150, 2000])
def test_both_ways_give_the_distances_of_the_means(n, T, rng):
    rows = rng.normal(size=(n, 30))
    rows -= rows.mean(axis=0)
    metrics = Scaled("euclidean", np.ones(30)), dense_map("mapped", rng.normal(size=(4, 30)))
    found = ResampledDistances(metrics, rows)(T, 40, np.random.default_rng(1))
    means = resampled_weights(len(rows), T, 40, np.random.default_rng(1)) @ rows
    expected = squared_distances(metrics, means)
    scale = max(float(metric.squared(rows).max()) for metric in metrics)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-13 * scale)
    plain = (means**2).sum(axis=1)
    np.testing.assert_allclose(found[:, 0], plain, rtol=1e-9, atol=1e-13 * scale)


@pytest.mark.parametrize("T", [2, 40, 300])
def test_stretched_maps_and_windows_too(T, rng):
    rows = rng.normal(size=(12, 30))
    rows -= rows.mean(axis=0)
    vectors = np.linalg.qr(rng.normal(size=(30, 4)))[0]
    stretched, plain = (
        Stretched("steep", vectors, np.array([3.0, 2.0, 0.5, 0.0]), 0.7),
        Scaled("plain", np.ones(30)),
    )
    behind = Scaled("last", np.ones(10), before=20)
    metrics = (
        stretched,
        plain,
        Stretched("steep", vectors[:20] * 0, np.ones(4), 1.0, behind=10),
        behind,
    )
    found = ResampledDistances(metrics, rows)(T, 25, np.random.default_rng(1))
    expected = squared_distances(
        metrics, resampled_weights(len(rows), T, 25, np.random.default_rng(1)) @ rows
    )
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-13 * expected.max())


def test_constant_rows_have_no_distance(rng):
    assert (
        ResampledDistances((Scaled("euclidean", np.ones(3)),), np.zeros((2, 3)))(5, 7, rng) == 0
    ).all()
