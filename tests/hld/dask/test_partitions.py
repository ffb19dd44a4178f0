"""Tables in partitions: what they are made of, their rows, and what is refused."""

import sys

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("dask.dataframe")
import dask
import dask.array
import dask.dataframe

import hld.dask
from hld.dask.partitions import joined, num_rows_of, partitions_of, picked

ROWS = np.arange(30).reshape(10, 3)
FRAME = pd.DataFrame(ROWS, columns=["a", "b", "c"])


def test_without_dask_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(
        ImportError, match=r"tables on a cluster need Dask: pip install 'hld\[dask\]'"
    ):
        hld.dask.fit(None)


@pytest.mark.parametrize(
    "table",
    [
        dask.dataframe.from_pandas(FRAME, npartitions=3),
        dask.array.from_array(ROWS, chunks=(4, 2)),
        [dask.delayed(FRAME[:4]), dask.delayed(FRAME[4:4]), dask.delayed(FRAME[4:])],
        (dask.delayed(ROWS[:9]), dask.delayed(ROWS[9:])),
    ],
    ids=["frame", "array", "frames", "arrays"],
)
def test_pieces_are_those_of_the_table_in_its_order(table):
    """Arrays are cut by rows only, however they were cut."""
    pieces = partitions_of(table)
    sizes = num_rows_of(pieces)
    assert (sizes.sum(), sizes.dtype, len(sizes)) == (10, np.int64, len(pieces))
    np.testing.assert_array_equal(joined(list(dask.compute(*pieces))), ROWS)


@pytest.mark.parametrize("kind", ["array", "pandas"])
def test_rows_are_picked_and_joined_again(kind):
    piece = {
        "array": lambda: ROWS,
        "pandas": lambda: FRAME.set_index(FRAME["a"] % 2),
    }[kind]()
    some, others = picked(piece, np.array([1, 4, 9])), picked(piece, np.array([0, 2]))
    assert type(some) is type(others) is type(joined([some, others])) is type(piece)
    np.testing.assert_array_equal(np.asarray(some), ROWS[[1, 4, 9]])
    np.testing.assert_array_equal(np.asarray(joined([some, others])), ROWS[[1, 4, 9, 0, 2]])


def test_pieces_that_no_rows_can_be_picked_from_are_refused_when_fitting():
    """A dictionary had as many rows as columns, and was "unhashable type: 'numpy.ndarray'"."""
    for piece in ({"a": [1, 2]}, [[1, 2], [2, 1]], "abc"):
        with pytest.raises(
            TypeError,
            match=f"`table` must have pieces that are data frames or arrays, found "
            f"{type(piece).__name__}: convert them",
        ):
            hld.dask.fit([dask.delayed(piece)])


@pytest.mark.parametrize(
    ("table", "error", "words"),
    [
        (FRAME, TypeError, "found DataFrame: a table in memory needs no cluster"),
        (None, TypeError, "found NoneType"),
        ([dask.delayed(ROWS), ROWS], TypeError, "found list"),
        ([], ValueError, "`table` has no partition"),
        (dask.array.zeros((3,)), ValueError, "`table` must have two dimensions, found 1"),
        (dask.array.zeros((3, 2, 2)), ValueError, "`table` must have two dimensions, found 3"),
    ],
)
def test_what_has_no_partitions_is_refused(table, error, words):
    with pytest.raises(error, match=words):
        partitions_of(table)
