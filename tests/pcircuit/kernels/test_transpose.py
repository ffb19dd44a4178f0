"""Evidence turned into columns: every dtype, every remainder of eight, every wrong entry."""

import numpy as np
import pytest

from pcircuit.kernels.transpose import transpose_bytes, transpose_rows

CATEGORIES = np.array([2, 3, 255, 4, 2, 2, 7, 5, 3, 2, 2, 6, 3, 2, 2, 2, 3])


def table(rng, rows, columns, dtype):
    """Random evidence, -1 where the dtype has it."""
    low = -1 if np.dtype(dtype).kind == "i" else 0
    limit = np.minimum(CATEGORIES[:columns], np.iinfo(dtype).max)
    return rng.integers(low, limit, size=(rows, columns)).astype(dtype)


def turned(data, start, stop):
    """(valid, codes) by the kernel for the dtype."""
    columns, B = data.shape[1], (stop - start) // 8 * 8 + 8
    codes = np.full((columns, B), 9999, dtype=np.uint16)
    categories, data = CATEGORIES[:columns], data[start:stop]
    if data.dtype.itemsize > 1:
        return transpose_rows(data, categories, codes), codes
    block = np.empty((8, B), dtype=np.uint8)
    valid = transpose_bytes(
        data.view(np.uint8), categories, data.dtype.kind == "i", block, block.view(np.uint64), codes
    )
    return valid, codes


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64])
@pytest.mark.parametrize("columns", [1, 7, 8, 17])
@pytest.mark.parametrize(("start", "stop"), [(0, 1), (3, 11), (2, 19)])
def test_columns_of_codes(dtype, columns, start, stop, rng):
    data = table(rng, 20, columns, dtype)
    valid, codes = turned(data, start, stop)
    expected = data[start:stop].astype(int)
    expected = np.where(expected == -1, CATEGORIES[:columns], expected).T
    assert valid
    np.testing.assert_array_equal(codes[:, : stop - start], expected)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64])
@pytest.mark.parametrize("row", [3, 9, 18])
@pytest.mark.parametrize("column", [0, 2, 6, 16])
def test_wrong_entries_are_found_inside_the_rows_and_only_there(dtype, row, column, rng):
    data = table(rng, 20, 17, dtype)
    assert turned(data, 2, 19)[0]
    signed = np.dtype(dtype).kind == "i"
    for wrong in (CATEGORIES[column], *([-2, np.iinfo(dtype).min] if signed else [255])):
        if wrong > np.iinfo(dtype).max:
            continue
        data[row, column] = wrong
        assert not turned(data, 2, 19)[0], wrong
        assert turned(data, 2, row)[0]
        assert turned(data, row + 1, 20)[0]


@pytest.mark.parametrize("categories", [128, 129, 251, 252, 256, 300])
def test_negative_bytes_are_no_categories_however_many_there_are(categories):
    """-5 has the bits of 251: pixels 0..255 that went through int8 were taken for others."""
    block = np.empty((8, 256), dtype=np.uint8)
    for wrong in range(-128, 128):
        data, codes = np.array([[127], [wrong]], dtype=np.int8), np.empty((1, 256), dtype=np.uint16)
        valid = transpose_bytes(
            data.view(np.uint8), np.array([categories]), True, block, block.view(np.uint64), codes
        )
        assert valid == (wrong >= -1), wrong


def test_more_columns_than_are_turned_at_a_time(rng):
    data = rng.integers(-1, 2, size=(5, 70))
    codes = np.empty((70, 8), dtype=np.int64)
    assert transpose_rows(data, np.full(70, 2), codes)
    np.testing.assert_array_equal(codes[:, :5], np.where(data == -1, 2, data).T)
    data[4, 69] = 2
    assert not transpose_rows(data, np.full(70, 2), codes)
