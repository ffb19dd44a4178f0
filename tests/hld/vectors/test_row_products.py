"""Quadratic forms of weights by triangles, thin maps and stretched directions, in double and in single precision."""

import numpy as np
import pytest

from hld.vectors.linear_maps import DenseRows, Scaled, Stretched
from hld.vectors.row_products import quadratic_forms, row_products
from hld.vectors.windows import Window


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
