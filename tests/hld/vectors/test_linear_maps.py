"""Every form of linear map against its matrix, in both directions: applied, squared, stored."""

import numpy as np
import pytest

from hld.vectors import linear_maps
from hld.vectors.linear_maps import (
    FORMS,
    DenseRows,
    Scaled,
    SparseRows,
    Stretched,
    Window,
    map_from_parts,
)

M = 6


def examples():
    rng = np.random.default_rng(0)
    V = np.linalg.qr(rng.normal(size=(M, 2)))[0]
    weights, factors, dense = rng.random(M) + 0.1, np.array([3.0, 0.0]), rng.normal(size=(4, M))
    index, coefficients = np.array([[0, 2], [3, 3], [5, 1]]), rng.normal(size=(3, 2))
    sparse = np.zeros((3, M))
    np.add.at(sparse, (np.arange(3)[:, None], index), coefficients)
    return {
        "Scaled": (Scaled("a", weights), np.diag(weights)),
        "Stretched": (
            Stretched("b", V, factors, 0.7),
            0.7 * (np.eye(M) - V @ V.T) + V @ np.diag(factors) @ V.T,
        ),
        "SparseRows": (SparseRows("c", index, coefficients, M), sparse),
        "DenseRows": (DenseRows("d", dense), dense),
    }


def test_every_form_has_an_example():
    assert set(examples()) == set(FORMS)


@pytest.mark.parametrize("form", FORMS)
def test_a_map_is_its_matrix(form, rng):
    metric, matrix = examples()[form]
    rows = rng.normal(size=(5, M))
    np.testing.assert_allclose(metric.apply(rows), rows @ matrix.T, atol=1e-14)
    np.testing.assert_allclose(
        metric.squared(rows), ((rows @ matrix.T) ** 2).sum(axis=1), rtol=1e-12
    )
    np.testing.assert_allclose(metric.apply(rows[0]), matrix @ rows[0], atol=1e-14)
    assert metric.squared(rows[0]) == pytest.approx(((matrix @ rows[0]) ** 2).sum(), rel=1e-12)
    assert metric.width == M
    if metric.node_weights is not None:
        np.testing.assert_array_equal(np.diag(metric.node_weights), matrix)


def test_distances_of_many_rows_are_those_of_single_rows(rng, monkeypatch):
    """Also where the last block of rows is not full."""
    metrics, rows = [metric for metric, _ in examples().values()], rng.normal(size=(23, M))
    one_by_one = [[metric.squared(row) for metric in metrics] for row in rows]
    monkeypatch.setattr(linear_maps, "BLOCK_ROWS", 5)
    np.testing.assert_allclose(
        np.transpose([metric.squared(rows) for metric in metrics]), one_by_one, rtol=1e-12
    )


@pytest.mark.parametrize("form", FORMS)
def test_the_adjoint_is_the_transpose_also_in_a_window(form, rng):
    metric, matrix = examples()[form]
    images = rng.normal(size=(3, len(matrix)))
    np.testing.assert_allclose(metric.adjoint(images), images @ matrix, atol=1e-14)
    whole = np.zeros((len(matrix), M + 3))
    whole[:, 2 : 2 + M] = matrix
    np.testing.assert_allclose(
        Window("e", metric, 2, M + 3).adjoint(images), images @ whole, atol=1e-14
    )


def test_no_squared_distance_is_negative(rng):
    """Along a direction that does not count: r^2 |z|^2 - r^2 (v . z)^2 may be rounded to less than 0."""
    vectors = np.linalg.qr(rng.normal(size=(3, 1)))[0]
    metric, rows = (
        Stretched("without", vectors, np.zeros(1), 1.0),
        rng.normal(size=(100, 1)) * vectors.T,
    )
    for found in (metric.squared(rows), np.array([metric.squared(row) for row in rows])):
        assert 0 <= found.min() <= found.max() < 1e-14


@pytest.mark.parametrize("form", FORMS)
def test_no_vector_of_a_size_reaches_further(form, rng):
    metric, _ = examples()[form]
    sizes = rng.random(M)
    signs = rng.choice([-1.0, 1.0], size=(200, M))
    reached = np.sqrt(metric.squared(signs * sizes)).max()
    assert reached <= metric.reach(sizes) * (1 + 1e-12)
    assert 0 < metric.round_off(sizes) < 1e-13


@pytest.mark.parametrize("form", FORMS)
def test_a_map_survives_its_parts(form, rng):
    metric, _ = examples()[form]
    again = map_from_parts(*metric.to_parts(), M)
    rows = rng.normal(size=(3, M))
    assert again.name == metric.name
    np.testing.assert_array_equal(again.apply(rows), metric.apply(rows))
    with pytest.raises(ValueError, match="does not fit 7 nodes"):
        map_from_parts(*metric.to_parts(), M + 1)


def test_what_is_no_norm_is_refused():
    for make in (
        lambda: Scaled("a", np.array([1.0, 0.0])),
        lambda: Scaled("a", np.array([1.0, np.nan])),
        lambda: Stretched("a", np.ones((2, 1)), np.array([-1.0]), 1.0),
        lambda: Stretched("a", np.ones((2, 1)), np.array([1.0]), -1.0),
    ):
        with pytest.raises(ValueError, match="is not a norm"):
            make()
    for index in ([[2]], [[-1]], [[0.0]]):
        with pytest.raises(ValueError, match="nodes that are not there"):
            SparseRows("a", np.array(index), np.ones((1, 1)), 2)
