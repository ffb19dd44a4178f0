"""Columns by number are the cells that they stand for, row by row."""

import numpy as np
import pandas as pd
import pytest

from hld.schemas.encoder import fit_encoder
from hld.tables.factored import BLOCK_ROWS, Factored, Unreadable, object_cells, whole_cells

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


pa = pytest.importorskip("pyarrow")
ROWS = {"a": [1, 2, 1]}


def tables():
    """Tables with a second column `new` that holds no plain values."""
    import polars

    lists, objects = [[1], [2, 3], []], [{"x": 1}, {"x": 2}, {"x": 3}]
    packed = np.zeros(3, dtype=[("a", int), ("new", [("x", int)])])
    packed["a"] = ROWS["a"]
    kinds = pa.array([0, 0, 0], pa.int8())
    structs = pa.table({**ROWS, "new": objects})
    return {
        "arrow list": pa.table({**ROWS, "new": lists}),
        "arrow struct": structs,
        "arrow union": pa.table(
            {**ROWS, "new": pa.UnionArray.from_sparse(kinds, [pa.array([1, 2, 3])])}
        ),
        "arrow dense union": pa.table(
            {
                **ROWS,
                "new": pa.UnionArray.from_dense(
                    kinds, pa.array([0, 1, 2], pa.int32()), [pa.array([1, 2, 3])]
                ),
            }
        ),
        "arrow dictionary of lists": pa.table(
            {**ROWS, "new": pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array(lists))}
        ),
        "pandas arrow struct": structs.to_pandas(types_mapper=pd.ArrowDtype),
        "polars struct": polars.DataFrame({**ROWS, "new": objects}),
        "polars array": polars.DataFrame(
            {**ROWS, "new": [[1, 2]] * 3}, schema_overrides={"new": polars.Array(polars.Int64, 2)}
        ),
        "polars list": polars.DataFrame({**ROWS, "new": lists}),
        "pandas list": pd.DataFrame({**ROWS, "new": lists}),
        "complex": pd.DataFrame({**ROWS, "new": [1j, 2j, 3j]}),
        "bytes": {**ROWS, "new": np.zeros(3, dtype="V2")},
        "structured": packed,
    }


@pytest.mark.parametrize("name", list(tables()))
def test_a_new_column_of_any_type_is_ignored(name):
    codes, _, absent, extra = fit_encoder(pd.DataFrame(ROWS)).encode_counting(tables()[name])
    assert (codes.ravel().tolist(), absent, extra) == ([0, 1, 0], [], ["new"])


@pytest.mark.parametrize("name", list(tables()))
def test_it_is_refused_where_it_is_learned_or_known(name):
    with pytest.raises((TypeError, ValueError), match="column 'new' "):
        fit_encoder(tables()[name])
    encoder = fit_encoder(pd.DataFrame({"a": [1, 2], "new": ["x", "y"]}))
    with pytest.raises((TypeError, ValueError), match="column 'new' "):
        encoder.encode_counting(tables()[name])
    if name not in ("pandas list", "polars list", "complex", "bytes"):
        with pytest.raises(
            TypeError, match=r"column 'new' holds nested values .*leave it out .*--drop"
        ):
            fit_encoder(tables()[name])


def test_whatever_is_asked_for_is_refused():
    column = Unreadable(3, ValueError, "no values")
    assert len(column) == 3
    for ask in (
        lambda: column.dtype,
        lambda: column[0],
        lambda: list(column),
        lambda: np.asarray(column),
    ):
        with pytest.raises(ValueError, match=r"^no values$"):
            ask()
