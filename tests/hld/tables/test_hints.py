"""What is no table is told what to do with it."""

import pathlib
import re

import numpy as np
import pandas as pd
import pytest

from hld.schemas.encoder import fit_encoder
from hld.tables.hints import how_to_read


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("rows.csv", "read the file first, or name it to `hld fit`"),
        (pathlib.Path("rows.csv"), "read the file first"),
        ((row for row in [[1, 2]]), r"such as list\(table\)"),
        (iter([[1, 2]]), r"such as list\(table\)"),
        (None, "give an array, a list of rows or a data frame"),
        ({1, 2}, "give an array, a list of rows or a data frame"),
        ([1, 2], "one row as table"),
        (np.zeros(3), "one row as table"),
        (pd.Series([1]), r"give `.to_frame\(\)` of it, or `.to_frame\(\).T` if it is a row"),
    ],
)
def test_what_is_no_table_is_told_what_to_do(table, said):
    with pytest.raises(ValueError, match=rf"^`table` has \d dimension\(s\) .*: .*{said}"):
        fit_encoder(table)


def test_files_connections_and_data_sets_are_told_what_to_do(tmp_path):
    with (
        open(tmp_path / "rows.csv", "w+") as file,
        pytest.raises(ValueError, match="read the file first"),
    ):
        fit_encoder(file)
    duckdb = pytest.importorskip("duckdb")
    pa = pytest.importorskip("pyarrow")
    import pyarrow.dataset
    import pyarrow.parquet

    pyarrow.parquet.write_table(pa.table({"a": [1, 2]}), tmp_path / "rows.parquet")
    data = pyarrow.dataset.dataset(tmp_path / "rows.parquet")
    for table, said in [
        (duckdb.connect(), "rows of a query, or test in the database with hld.sql.test"),
        (data, r"give `.to_table\(\)` of it"),
        (data.scanner(), r"give `.to_table\(\)` of it"),
        (pyarrow.parquet.ParquetFile(tmp_path / "rows.parquet"), "read the file first"),
    ]:
        with pytest.raises(ValueError, match=said):
            fit_encoder(table)
    assert fit_encoder(data.to_table()).columns[0].levels == (1, 2)


def test_groups_are_no_frame():
    frame = pd.DataFrame({"a": [1, 2], "b": [1, 2]})
    for groups in (frame.groupby("a"), frame["b"].groupby(frame["a"])):
        with pytest.raises(
            TypeError, match=r"GroupBy, expected .* give the frame before it is grouped"
        ):
            fit_encoder(groups)


@pytest.mark.parametrize("form", ["csr", "coo", "lil", "dok", "dia"])
@pytest.mark.parametrize("what", ["matrix", "array"])
def test_every_sparse_form_is_recognised(form, what):
    import scipy.sparse

    with pytest.raises(
        TypeError,
        match=rf"^`table` is a sparse {form}_{what}, expected .* give `.toarray\(\)` of it",
    ):
        fit_encoder(getattr(scipy.sparse, f"{form}_{what}")(np.eye(3)))


def test_frames_of_dask_are_referred_to_its_module():
    dask = pytest.importorskip("dask.dataframe")
    frame = dask.from_pandas(pd.DataFrame({"a": [1, 2]}), npartitions=1)
    for use in (fit_encoder, fit_encoder({"a": [1, 2]}).encode):
        with pytest.raises(
            TypeError,
            match=re.escape("use hld.dask.fit and hld.dask.judge, or `.compute()` it first"),
        ):
            use(frame)


def test_frames_are_not_told_what_to_do():
    assert how_to_read(3) == "give an array, a list of rows or a data frame"
