"""Every form of linear map, also of a part of a vector, against its matrix: applied, squared, bounded, stored."""

from dataclasses import replace

import numpy as np
import pytest

from hld.features import linear_maps
from hld.features.linear_maps import (
    FORMS,
    Scaled,
    SparseRows,
    Stretched,
    read_map,
    squared_distances,
)

M = 6


def examples():
    """A map of each form with its matrix, and each of a part of a vector, with that matrix between zeros."""
    rng = np.random.default_rng(0)
    V = np.linalg.qr(rng.normal(size=(M, 2)))[0]
    weights, factors = rng.random(M) + 0.1, np.array([3.0, 0.0])
    index, coefficients = np.array([[0, 2], [3, 3], [5, 1]]), rng.normal(size=(3, 2))
    sparse = np.zeros((3, M))
    np.add.at(sparse, (np.arange(3)[:, None], index), coefficients)
    maps = {
        "Scaled": (Scaled("a", weights), np.diag(weights)),
        "Stretched": (
            Stretched("b", V, factors, 0.7),
            0.7 * (np.eye(M) - V @ V.T) + V @ np.diag(factors) @ V.T,
        ),
        "SparseRows": (SparseRows("c", index, coefficients, M), sparse),
    }
    assert set(maps) == set(FORMS)
    windows = {
        f"{form} between 2 and {more}": (
            replace(metric, before=2, behind=more),
            np.pad(matrix, ((0, 0), (2, more))),
        )
        for form, (metric, matrix) in maps.items()
        for more in (0, 3)
    }
    return maps | windows


EXAMPLES = examples()


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_map_is_its_matrix(name, rng):
    metric, matrix = EXAMPLES[name]
    width = matrix.shape[1]
    rows, images = rng.normal(size=(5, width)), rng.normal(size=(3, len(matrix)))
    squares = ((rows @ matrix.T) ** 2).sum(axis=1)
    assert metric.width == width
    np.testing.assert_allclose(metric.apply(rows), rows @ matrix.T, atol=1e-14)
    np.testing.assert_allclose(metric.apply(rows[0]), matrix @ rows[0], atol=1e-14)
    np.testing.assert_allclose(metric.squared(rows), squares, rtol=1e-12)
    assert metric.squared(rows[0]) == pytest.approx(squares[0], rel=1e-12)
    np.testing.assert_allclose(metric.adjoint(images), images @ matrix, atol=1e-14)
    np.testing.assert_array_equal(metric.alone.apply(rows[:, metric.seen]), metric.apply(rows))
    assert (metric.node_weights is not None) == (metric is EXAMPLES["Scaled"][0])


def test_distances_of_many_rows_are_those_of_single_rows(rng, monkeypatch):
    """Also where the last block of rows is not full."""
    metrics, rows = [EXAMPLES[form][0] for form in FORMS], rng.normal(size=(23, M))
    one_by_one = [[metric.squared(row) for metric in metrics] for row in rows]
    monkeypatch.setattr(linear_maps, "BLOCK_ROWS", 5)
    np.testing.assert_allclose(
        np.transpose([metric.squared(rows) for metric in metrics]), one_by_one, rtol=1e-12
    )


def test_no_squared_distance_is_negative(rng):
    """Along a direction that does not count: r^2 |z|^2 - r^2 (v . z)^2 may be rounded to less than 0."""
    vectors = np.linalg.qr(rng.normal(size=(3, 1)))[0]
    metric, rows = (
        Stretched("without", vectors, np.zeros(1), 1.0),
        rng.normal(size=(100, 1)) * vectors.T,
    )
    for found in (
        metric.squared(rows),
        np.array([metric.squared(row) for row in rows]),
        squared_distances((metric,), rows),
    ):
        assert 0 <= found.min() <= found.max() < 1e-14


@pytest.mark.parametrize("name", EXAMPLES)
def test_no_vector_of_a_size_reaches_further(name, rng):
    metric, matrix = EXAMPLES[name]
    sizes = rng.random(matrix.shape[1])
    signs = rng.choice([-1.0, 1.0], size=(200, len(sizes)))
    reached = np.sqrt(metric.squared(signs * sizes)).max()
    assert reached <= metric.reach(sizes) * (1 + 1e-12)
    assert 0 < metric.round_off(sizes) < 1e-13


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_map_survives_its_parts(name, rng):
    metric, matrix = EXAMPLES[name]
    again, rows = read_map(*metric.to_parts(), metric.width), rng.normal(size=(3, matrix.shape[1]))
    assert again.name == metric.name
    np.testing.assert_array_equal(again.apply(rows), metric.apply(rows))
    with pytest.raises(ValueError, match=f"fit {metric.width + 1} nodes"):
        read_map(*metric.to_parts(), metric.width + 1)


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


@pytest.mark.parametrize("place", [-1, 2.0, False, None, "all", [2], 2**60], ids=str)
def test_where_a_map_of_a_file_looks_is_a_whole_number(place):
    scalars, arrays = replace(EXAMPLES["Scaled"][0], before=2).to_parts()
    for entry in ("before", "behind"):
        with pytest.raises(
            (TypeError, ValueError), match=f"'{entry}' must be|does not fit 8 nodes"
        ):
            read_map({**scalars, entry: place}, arrays, M + 2)
