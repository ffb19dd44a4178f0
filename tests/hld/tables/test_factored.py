"""Columns by number are the cells that they stand for, row by row."""

import numpy as np
import pytest

from hld.tables.factored import BLOCK_ROWS, Factored, object_cells, whole_cells

LEVELS = np.array(["red", 2.5, "red", "never"], dtype=object)  # one level twice, one unused


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
@pytest.mark.parametrize("N", [0, 1, 7, 2 * BLOCK_ROWS + 5])
def test_cells_counts_and_values_are_those_of_the_rows(dtype, N, rng):
    codes = rng.integers(-1, 3, size=N).astype(dtype)
    factored = Factored(codes, LEVELS)
    expected = [None if code < 0 else LEVELS[code] for code in codes.tolist()]
    assert len(factored) == N
    assert factored.tolist() == whole_cells(factored).tolist() == expected
    assert factored.cells().dtype == factored.dtype == object
    assert factored.counts().tolist() == [int((codes == level).sum()) for level in range(4)]
    out = np.full(N, np.nan)
    factored.write(np.array([10.0, 20.0, 30.0, 40.0, -1.0]), out)
    np.testing.assert_array_equal(
        out, [-1.0 if code < 0 else 10.0 * (code + 1) for code in codes.tolist()]
    )
    for rows in (slice(1, None, 2), rng.permutation(N), codes >= 0):
        assert (
            factored[rows].tolist() == np.array([*expected, None], dtype=object)[:-1][rows].tolist()
        )


def test_a_column_without_any_value_has_no_levels():
    nothing = Factored(np.full(3, -1, dtype=np.int8), np.zeros(0, dtype=object))
    assert nothing.tolist() == [None] * 3
    assert nothing.counts().tolist() == []


def test_a_plain_column_is_its_own_cells():
    values = np.array([1.5, 2.5])
    assert whole_cells(values) is values


@pytest.mark.parametrize(
    "cells",
    [
        [],
        [1, "x", None],
        [(1, 2), (3, 4)],
        [[1, 2], [3]],
        [np.ones(2), np.zeros(2)],
        [{"a": 1}],
        ["ab", "cd"],
    ],
    ids=str,
)
def test_cells_of_any_kind_stay_the_objects_that_they_are(cells):
    found = object_cells(cells)
    assert (found.dtype, found.shape) == (object, (len(cells),))
    assert all(one is cell for one, cell in zip(found.tolist(), cells, strict=True))
