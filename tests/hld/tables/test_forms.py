"""Every form of a table gives the same codes: frames, Arrow tables, mappings, structured and masked arrays."""

import dataclasses
import datetime
import pathlib
import re
import sqlite3
import uuid
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

import hld
from hld.schemas.encoder import fit_encoder
from hld.tables.cells import read_table
from hld.tables.factored import Factored
from hld.tables.forms import how_to_read, named_rows

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.compute")
pl = pytest.importorskip("polars")

DAYS = np.arange("2020-01-01", "2020-01-21", dtype="M8[D]")
COLUMNS = {
    "number": np.linspace(0, 1, 20),
    "count": np.arange(20) % 3,
    "flag": np.arange(20) % 2 == 0,
    "word": np.array(["tan", "red", "blue", "red"] * 5, dtype=object),
    "day": DAYS,
}


def forms():
    """The same 20 rows."""
    frame = pd.DataFrame(COLUMNS)
    arrow = pa.table({name: pa.array(values) for name, values in COLUMNS.items()})
    structured = np.zeros(
        20,
        dtype=[("number", "f8"), ("count", "i8"), ("flag", "?"), ("word", "O"), ("day", "M8[D]")],
    )
    for name, values in COLUMNS.items():
        structured[name] = values
    batches = pa.Table.from_batches(arrow.to_batches(max_chunksize=7))
    coded = arrow.set_column(3, "word", arrow["word"].dictionary_encode())
    return {
        "pandas": frame,
        "arrow strings": frame.convert_dtypes(dtype_backend="pyarrow"),
        "polars": pl.DataFrame(COLUMNS),
        "arrow": arrow,
        "record batch": arrow.to_batches()[0],
        "several batches": batches,
        "dictionary": coded,
        "mapping": COLUMNS,
        "mapping of lists": {name: values.tolist() for name, values in COLUMNS.items()},
        "structured": structured,
        "masked structured": np.ma.array(structured),
        "stream": Stream(arrow),
    }


class Stream:
    """Something that offers the Arrow stream interface and nothing else."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def test_every_form_gives_the_same_columns_and_codes():
    encoder = fit_encoder(pd.DataFrame(COLUMNS), num_bins=4)
    codes, _ = encoder.encode(pd.DataFrame(COLUMNS))
    assert [column.kind for column in encoder.columns] == [
        "continuous",
        "integer",
        "boolean",
        "categorical",
        "date",
    ]
    for name, form in forms().items():
        fitted = fit_encoder(form, num_bins=4)
        if name == "dictionary":  # which declares its categories
            assert fitted.columns[3].kind == "categorical"
        assert fitted == encoder, name
        np.testing.assert_array_equal(encoder.encode(form)[0], codes, err_msg=name)


def test_holes_of_every_form_are_missing():
    encoder = fit_encoder(pd.DataFrame(COLUMNS))
    mask = np.arange(20) % 4 == 0
    holes = {
        name: [None if gone else cell for cell, gone in zip(values.tolist(), mask, strict=True)]
        for name, values in COLUMNS.items()
    }
    arrow = pa.table(holes)
    masked = {name: np.ma.array(values, mask=mask) for name, values in COLUMNS.items()}
    for form in (
        holes,
        arrow,
        arrow.to_batches()[0],
        masked,
        pl.DataFrame(holes),
        pd.DataFrame(holes),
        arrow.set_column(3, "word", arrow["word"].dictionary_encode()),
    ):
        codes, report = encoder.encode(form)
        assert report.num_missing.tolist() == [5] * 5, type(form)
        np.testing.assert_array_equal(codes[~mask], encoder.encode(COLUMNS)[0][~mask])


def test_arrow_types_are_exact():
    large = 2**60
    table = pa.table(
        {
            "id": pa.array([large, large + 1, None]),
            "nothing": pa.nulls(3),
            "moment": pa.array(
                [datetime.datetime(2020, 1, 1), None, datetime.datetime(2021, 1, 1)],
                pa.timestamp("us", "Asia/Tokyo"),
            ),
            "clock": pa.array([datetime.time(1), datetime.time(2), None]),
        }
    )
    encoder = fit_encoder(table)
    assert encoder.columns[0].levels == (large, large + 1)
    assert encoder.columns[1].levels == ()
    assert (encoder.columns[2].kind, encoder.columns[3].kind) == ("date", "time")
    assert encoder.encode(table)[0].tolist() == [[0, -1, 0, 0], [1, -1, -1, 1], [-1, -1, 1, -1]]
    with pytest.raises(TypeError, match="column 'a' holds nested values"):
        fit_encoder(pa.table({"a": [[1, 2]]}))
    with pytest.raises(ValueError, match="more than one column named 'a'"):
        fit_encoder(pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"]))


def test_factored_columns_are_the_cells_they_stand_for():
    cells = np.array(["b", "a", None, "c", "b"] * 4, dtype=object)
    codes = np.array([0, 1, -1, 2, 3] * 4)
    factored = Factored(
        codes, np.array(["b", "a", "c", "b", "never"], dtype=object)
    )  # one level twice, one unused
    plain, short = (
        fit_encoder({"x": cells}, max_categories=2),
        fit_encoder({"x": factored.cells()}, max_categories=2),
    )
    assert plain == short
    frame = pd.DataFrame({"x": pd.Series(cells, dtype="str")})
    assert fit_encoder(frame, max_categories=2) == plain
    assert factored[codes > 0].counts().tolist() == [0, 4, 4, 4, 0]
    assert plain.encode(frame)[0].tolist() == plain.encode({"x": cells})[0].tolist()
    assert (
        plain.encode_training(frame)[0].tolist() == plain.encode_training({"x": cells})[0].tolist()
    )


def test_columns_of_a_mapping_must_fit_together():
    with pytest.raises(ValueError, match="columns of different lengths"):
        fit_encoder({"a": [1, 2], "b": [1]})
    with pytest.raises(ValueError, match="column 'a' has 2 dimensions"):
        fit_encoder({"a": np.zeros((2, 2))})
    for text in ("abc", b"abc"):
        with pytest.raises(
            ValueError, match=r"a mapping whose columns must be sequences, found b?'abc'"
        ):
            fit_encoder({"a": text})


def test_columns_of_a_mapping_may_be_mappings_of_the_same_rows():
    frame = pd.DataFrame({"a": [5, 6, 7, 5], "b": list("xyxx")})
    encoder, shifted = fit_encoder(frame), frame.to_dict()
    assert encoder == fit_encoder(shifted)  # not the row labels, 0 to 3
    shifted["b"] = dict(reversed(shifted["b"].items()))
    np.testing.assert_array_equal(encoder.encode(shifted)[0], encoder.encode(frame)[0])
    for b in ({0: "x", 1: "y", 2: "x", 4: "x"}, list("xyxx")):
        with pytest.raises(
            ValueError,
            match=r"`table` is a mapping of mappings .* the same labels .*'b' has others",
        ):
            fit_encoder({**shifted, "b": b})
    with pytest.raises(ValueError, match="column 'b' is a set, whose cells have no order"):
        fit_encoder({"a": [1, 2], "b": {"x", "y"}})


def test_holes_in_a_dictionary_are_missing():
    pa = pytest.importorskip("pyarrow")
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 0]), pa.array(["q", None]))
    table = pa.table({"x": column, "y": [1, 2, 1, 2]})
    assert fit_encoder(table).encode(table)[0][:, 0].tolist() == [0, -1, -1, 0]
    assert hld.learn_schema(table)["x"].num_missing == 2


@pytest.mark.parametrize("unit", ["s", "us", "ns"])
def test_times_in_a_dictionary_are_those_of_a_column(unit):
    pa = pytest.importorskip("pyarrow")
    stamps = pa.array([1, None, 3, 2**61 // 10**6 if unit == "s" else 2**61, 1], pa.timestamp(unit))
    encoder = fit_encoder(pa.table({"at": stamps.dictionary_encode()}))
    assert encoder == fit_encoder(pa.table({"at": stamps}))
    levels = fit_encoder(pa.table({"at": stamps}), categorical=["at"])
    assert levels == fit_encoder(pa.table({"at": stamps.dictionary_encode()}), categorical=["at"])
    codes = levels.encode(pa.table({"at": stamps.dictionary_encode()}))[0]
    assert codes.ravel().tolist() == [0, -1, 1, 2, 0]


def test_row_labels_of_pandas_are_no_column():
    pa = pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"x": [1, 2, 1]}, index=pd.date_range("2026-01-01", periods=3))
    assert fit_encoder(pa.Table.from_pandas(frame)).names == fit_encoder(frame).names == ("x",)


def test_columns_of_columns_are_refused():
    with pytest.raises(TypeError, match="column 'b' holds nested values"):
        fit_encoder(np.zeros(3, dtype=[("a", "i4"), ("b", "f8", (2,))]))


def test_results_of_queries_are_tables():
    duckdb = pytest.importorskip("duckdb")
    result = duckdb.sql("select i % 3 as a, 'x' || (i % 2) as b from range(30) t(i)")
    encoder = fit_encoder(result)
    assert encoder.names == ("a", "b")
    assert encoder == fit_encoder(result.df())
    np.testing.assert_array_equal(encoder.encode(result)[0], encoder.encode(result.df())[0])


def test_tables_of_ibis_are_tables():
    ibis = pytest.importorskip("ibis")
    pytest.importorskip("duckdb")
    frame = pd.DataFrame({"a": [5, 6, None, 5], "b": list("xyxx")})
    encoder = fit_encoder(frame)
    table = ibis.memtable(pa.table(frame))
    assert encoder == fit_encoder(table)
    np.testing.assert_array_equal(encoder.encode(table)[0], encoder.encode(frame)[0])


def test_identifiers_of_arrow_are_their_text():
    if not hasattr(pa, "uuid"):
        pytest.skip("this pyarrow has no such type")
    names = [uuid.UUID(int=k) for k in (1, 2)]
    column = pa.array([names[0].bytes, names[1].bytes, None, names[0].bytes], pa.uuid())
    for cells in (column, pa.chunked_array([column[:1], column[1:]])):
        encoder = fit_encoder(pa.table({"x": cells}))
        assert encoder.columns[0].levels == tuple(map(str, names))
        assert encoder.encode({"x": [str(names[1]), names[0]]})[0].ravel().tolist() == [1, 0]


def test_runs_of_arrow_are_the_column_that_they_stand_for():
    large = 2**60
    for cells in ([large, large, None, large + 1], ["a", "a", None, "b"], [1.5, 1.5, None, 2.5]):
        plain = pa.array(cells)
        runs = pa.compute.run_end_encode(plain)
        encoder = fit_encoder(pa.table({"x": plain}))
        for column in (runs, pa.chunked_array([runs[:1], runs[1:]]), pa.chunked_array([runs])):
            assert fit_encoder(pa.table({"x": column})) == encoder
            assert (
                encoder.encode(pa.table({"x": column}))[0].tolist()
                == encoder.encode({"x": cells})[0].tolist()
            )
    words = pa.array(["q", "r"]).dictionary_encode()
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), words)
    assert fit_encoder(pa.table({"x": runs})) == fit_encoder({"x": ["q", "q", "r"]})
    with pytest.raises(TypeError, match="column 'x' holds nested values"):
        fit_encoder(pa.table({"x": pa.compute.run_end_encode(pa.array([[1], [1], [2]]))}))


class Visit(NamedTuple):
    """A row of two columns."""

    page: str
    seconds: float


@dataclasses.dataclass
class Order:
    """The same columns in the other order."""

    seconds: float
    page: str


def queried(columns):
    """Two rows of a database, and which columns in which order."""
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    connection.execute("create table visits (page, seconds)")
    connection.executemany("insert into visits values (?, ?)", [("a", 1.5), ("b", None)])
    return connection.execute(f"select {columns} from visits").fetchall()


@pytest.mark.parametrize(
    "rows",
    [
        [Visit("a", 1.5), Visit("b", None)],
        [Order(1.5, "a"), Order(None, "b")],
        (Visit("a", 1.5), Order(None, "b")),
        [{"seconds": 1.5, "page": "a"}, Visit("b", None)],
        queried("page, seconds"),
        queried("seconds, page"),
        [row for _, row in pd.DataFrame({"seconds": [1.5, None], "page": ["a", "b"]}).iterrows()],
        list(pd.DataFrame({"seconds": [1.5, None], "page": ["a", "b"]}).itertuples(index=False)),
    ],
    ids=lambda rows: type(rows[0]).__name__,
)
def test_cells_are_found_by_name(rows):
    columns = read_table(rows)
    cells = dict(zip(columns.names, columns.arrays, strict=True))
    assert sorted(cells) == ["page", "seconds"]
    assert cells["page"].tolist() == ["a", "b"]
    assert cells["seconds"][0] == 1.5
    assert cells["seconds"][1] is None or np.isnan(cells["seconds"][1])


def test_rows_of_attrs():
    attrs = pytest.importorskip("attrs")
    Row = attrs.make_class("Row", ["seconds", "page"])
    assert named_rows([Row(1.5, "a")]) == [{"seconds": 1.5, "page": "a"}]


@pytest.mark.parametrize(
    "rows",
    [
        [(1, 2), (3, 4)],
        [[1, 2], Visit("a", 1.5)],
        [Visit, Visit],
        [pd.DataFrame({"page": [1], "seconds": [2]})] * 2,
        [pl.DataFrame({"page": [1], "seconds": [2]})] * 2,
        [pa.table({"page": [1], "seconds": [2]})] * 2,
        [np.zeros(1, dtype=[("page", "i8"), ("seconds", "f8")])[0]] * 2,
        list(pd.DataFrame({"page": [1], "not a name": [2]}).itertuples(index=False)),
    ],
    ids=[
        "tuples",
        "a list among them",
        "classes",
        "frames",
        "frames of polars",
        "Arrow tables",
        "structured rows",
        "itertuples with _1",
    ],
)
def test_rows_without_names_are_matched_by_place(rows):
    assert named_rows(rows) is None


def test_a_name_that_occurs_twice_is_refused():
    with pytest.raises(ValueError, match="more than one column named 'page'"):
        read_table(queried("page, page"))
    with pytest.raises(
        ValueError, match="more than one column named 0, 'page', expected distinct names"
    ):
        read_table([pd.Series([1, 2, 3, 4], index=[0, "page", 0, "page"])])


def test_a_batch_in_another_order_is_no_shift():
    rng = np.random.default_rng(0)
    rows = [
        Visit("ab"[code], float(seconds))
        for code, seconds in zip(rng.integers(2, size=200), rng.normal(size=200), strict=True)
    ]
    detector = hld.HLDDetector().fit(rows[:150])
    batch = [Order(row.seconds, row.page) for row in rows[150:]]
    assert detector.test(batch).pvalue == detector.test(rows[150:]).pvalue > 0.05
    assert detector.feature_names_in_.tolist() == ["page", "seconds"]


def test_a_class_in_place_of_a_table_is_named():
    with pytest.raises(
        TypeError, match="`batch` is the class DataFrame, expected rows: give an object of it"
    ):
        hld.HLDDetector().fit([[0, 1], [1, 0]] * 20).test(pd.DataFrame)


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
