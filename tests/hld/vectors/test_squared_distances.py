"""Distances of many vectors under several metrics at once, against each metric by itself."""

import numpy as np
import pytest

from hld.vectors.linear_maps import DenseRows, Scaled, SparseRows, Stretched
from hld.vectors.squared_distances import squared_distances
from hld.vectors.windows import Window


def stretched(vectors, rest, rng):
    return Stretched("steep", vectors, rng.random(vectors.shape[1]) * 3, rest)


@pytest.mark.parametrize("block", [4_096, 7])
def test_each_metric_sees_what_it_sees_alone(block, rng, monkeypatch):
    monkeypatch.setattr("hld.vectors.squared_distances.BLOCK_ROWS", block)
    vectors, others = (np.linalg.qr(rng.normal(size=(6, 6)))[0] for _ in range(2))
    short = np.linalg.qr(rng.normal(size=(4, 2)))[0]
    metrics = (
        Scaled("weights", rng.random(6) + 0.1),
        stretched(vectors[:, :2], 0.5, rng),
        stretched(vectors[:, :5], 0.3, rng),  # directions in common
        stretched(vectors[:, :2].copy(), 0.0, rng),
        stretched(others[:, :3], 2.0, rng),
        stretched(vectors[:, 1:3], 1.0, rng),
        Window("behind", stretched(short, 0.7, rng), 2, 6),
        Window("before", stretched(short, 0.7, rng), 0, 6),
        stretched(vectors[:, :0], 1.5, rng),
        DenseRows("dense", rng.normal(size=(3, 6))),
        SparseRows("pairs", np.array([[0, 1]]), np.array([[1.0, -1.0]]), 6),
    )
    rows = rng.normal(size=(20, 6)) * 10.0 ** rng.integers(-3, 4, size=(20, 1))
    expected = np.stack([(metric.apply(rows) ** 2).sum(axis=1) for metric in metrics], axis=1)
    np.testing.assert_allclose(squared_distances(metrics, rows), expected, rtol=1e-10)
    np.testing.assert_allclose(
        squared_distances(metrics[::-1], rows), expected[:, ::-1], rtol=1e-10
    )


def test_no_rows_have_no_distances():
    assert squared_distances((Scaled("weights", np.ones(3)),), np.empty((0, 3))).shape == (0, 1)


def test_no_squared_distance_is_negative(rng):
    """Along a direction that does not count: r^2 |z|^2 - r^2 (v . z)^2 may be rounded to less than 0."""
    vectors = np.linalg.qr(rng.normal(size=(3, 1)))[0]
    found = squared_distances(
        (Stretched("without", vectors, np.zeros(1), 1.0),), rng.normal(size=(100, 1)) * vectors.T
    )
    assert 0 <= found.min() <= found.max() < 1e-14
