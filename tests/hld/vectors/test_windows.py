"""Maps of a part of a vector: against their matrix with zeros around it, and through files."""

import numpy as np
import pytest

from hld.vectors.linear_maps import (
    DenseRows,
    Scaled,
    SparseRows,
    Stretched,
    Window,
    read_map,
    seen_by,
    widened,
)

M, START = 4, 2


def inner_maps():
    """One of each form, of M coordinates."""
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(M, 2)))[0]
    return [
        Scaled("a", rng.random(M) + 0.1),
        Stretched("b", basis, np.array([3.0, 0.0]), 0.7),
        SparseRows("c", np.array([[0, 2], [3, 1]]), rng.normal(size=(2, 2)), M),
        DenseRows("d", np.eye(3, M)),
    ]


@pytest.mark.parametrize("inner", inner_maps(), ids=lambda inner: type(inner).__name__)
@pytest.mark.parametrize("width", [START + M, START + M + 3])
def test_a_window_is_its_map_with_zeros_around_it(inner, width, rng):
    window, part = Window(inner.name, inner, START, width), slice(START, START + M)
    matrix = np.zeros((len(inner.apply(np.zeros(M))), width))
    matrix[:, part] = inner.apply(np.eye(M)).T
    rows = rng.normal(size=(5, width))
    np.testing.assert_allclose(window.apply(rows), rows @ matrix.T, atol=1e-14)
    np.testing.assert_allclose(window.apply(rows[0]), matrix @ rows[0], atol=1e-14)
    np.testing.assert_allclose(
        window.squared(rows), ((rows @ matrix.T) ** 2).sum(axis=1), rtol=1e-12
    )
    images = rng.normal(size=(3, len(matrix)))
    np.testing.assert_allclose(window.adjoint(images), images @ matrix, atol=1e-14)
    assert window.reach(np.abs(rows[0])) == inner.reach(np.abs(rows[0])[part])
    assert seen_by(window) == (inner, part)
    assert seen_by(inner) == (inner, slice(None))
    again = read_map(*window.to_parts(), width)
    np.testing.assert_array_equal(again.apply(rows), window.apply(rows))
    assert (again.name, again.start, again.width) == (window.name, START, width)
    np.testing.assert_array_equal(
        read_map(*inner.to_parts(), M).apply(rows[:, part]), inner.apply(rows[:, part])
    )


@pytest.mark.parametrize("start", [-1, 3, 4])
def test_a_window_that_leaves_the_vector_is_refused(start):
    with pytest.raises(
        ValueError, match="metric 'a' refers to numbers of a row that are not there"
    ):
        Window("a", inner_maps()[0], start, M + 2)
    with pytest.raises(ValueError, match="not there"):
        widened(inner_maps()[0], M - 1)


@pytest.mark.parametrize(
    "place",
    [
        [2, 6, 7],
        [6, 2, 8],
        [2, 2, 8],
        [-1, 3, 8],
        [2.0, 6, 8],
        [False, 4, 8],
        "all",
        [2, 6],
        None,
        {"start": 2},
    ],
    ids=str,
)
def test_a_window_of_a_file_is_three_ascending_whole_numbers(place):
    scalars, arrays = Window("a", inner_maps()[0], START, 8).to_parts()
    with pytest.raises(
        ValueError, match="the window of a metric must be three ascending whole numbers, the last 8"
    ):
        read_map({**scalars, "window": place}, arrays, 8)
    with pytest.raises(ValueError, match="does not fit 5 nodes"):
        read_map({**scalars, "window": [1, 6, 8]}, arrays, 8)


def test_windows_are_the_maps_that_they_show_and_go_to_files():
    inner = SparseRows("pairs", np.array([[0, 1]]), np.array([[1.0, -1.0]]), 2)
    window, row = Window("pairs", inner, 1, 4), np.array([9.0, 5.0, 2.0, 7.0])
    assert window.apply(row).tolist() == [3.0]
    assert window.squared(row[None]).tolist() == [9.0]
    assert window.reach(row) == 7.0
    again = read_map(*window.to_parts(), 4)
    assert again.apply(row).tolist() == [3.0]
    assert again.to_parts()[0] == window.to_parts()[0]
    first = widened(Scaled("plain", np.ones(2)), 4)
    assert first.squared(row) == 81 + 25
    assert widened(inner, 2) is inner
    scalars, arrays = window.to_parts()
    for place in ([1, 3, 5], [3, 1, 4], [0, 4, 4], [1.0, 3, 4], "all", [1, 3]):
        with pytest.raises((ValueError, KeyError)):
            read_map({**scalars, "window": place}, arrays, 4)
    with pytest.raises(ValueError, match="not there"):
        Window("pairs", inner, 3, 4)
