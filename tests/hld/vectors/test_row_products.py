"""Quadratic forms of weights by triangles, thin maps and stretched directions, in double and in single precision."""

import numpy as np
import pytest

from hld.features.linear_maps import DenseRows, Scaled, SparseRows, Stretched, Window
from hld.features.row_products import quadratic_forms, row_products, squared_distances


def metrics_of(rng, size, k, scale=1.0):
    vectors = np.linalg.qr(rng.normal(size=(size, k)))[0]
    return (
        Scaled("plain", np.full(size, 1.0)),
        Scaled("scaled", scale * rng.uniform(1, 2, size)),
        Stretched("whitened", vectors, rng.uniform(0.1, 2.0, k), 1.5),
        DenseRows("thin", rng.normal(size=(3, size))),
        Window("part", Scaled("part", np.ones(5)), size - 5, size),
    )


@pytest.mark.parametrize(("dtype", "error"), [(np.float64, 1e-12), (np.float32, 1e-5)])
@pytest.mark.parametrize(("size", "k"), [(30, 3), (60, 50)])
@pytest.mark.parametrize("knows", [False, True])
def test_forms_are_squared_lengths_of_sums_of_rows(size, k, knows, dtype, error, rng):
    rows, weights = rng.normal(size=(40, size)), rng.normal(size=(25, 40))
    metrics, known = metrics_of(rng, size, k), {}
    products = row_products(metrics, rows, known)
    forms, cost = quadratic_forms(metrics, rows, known if knows else None, dtype)
    expected = np.stack([metric.squared(weights @ rows) for metric in metrics], axis=1)
    np.testing.assert_allclose(forms(weights), expected, rtol=error)
    for product, column in zip(products, expected.T, strict=True):
        np.testing.assert_allclose(
            np.einsum("bi,ij,bj->b", weights, product, weights), column, rtol=1e-10
        )
    assert 0 < cost < len(metrics) * 40**2


@pytest.mark.parametrize("scale", [1e-60, 1e60])
def test_single_precision_does_not_leave_its_range(scale, rng):
    rows, weights = rng.normal(size=(40, 60)), rng.normal(size=(5, 40))
    metrics = metrics_of(rng, 60, 50, scale)
    found = quadratic_forms(metrics, rows, dtype=np.float32)[0](weights)
    np.testing.assert_allclose(found[:, 1], metrics[1].squared(weights @ rows), rtol=1e-5)


def stretched(vectors, rest, rng):
    return Stretched("steep", vectors, rng.random(vectors.shape[1]) * 3, rest)


@pytest.mark.parametrize("block", [4_096, 7])
def test_each_metric_sees_what_it_sees_alone(block, rng, monkeypatch):
    monkeypatch.setattr("hld.features.row_products.BLOCK_ROWS", block)
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
