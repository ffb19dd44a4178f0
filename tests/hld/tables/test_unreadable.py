"""Columns of cells that are no values: ignored where the model does not know them, refused where it looks at them."""

import numpy as np
import pandas as pd
import pytest

from hld.schemas.encoder import fit_encoder
from hld.tables.unreadable import Unreadable

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
