"""Every form of a table gives the same codes: frames, Arrow tables, mappings, structured and masked arrays."""

import pathlib
import re
import sqlite3
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from tables import codes_of

import hld
from hld.tables.cells import named_rows, read_table
from hld.tables.schemas.learn_schema import fit_encoder

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


def test_columns_of_a_mapping_must_fit_together():
    with pytest.raises(ValueError, match="columns of different lengths"):
        fit_encoder({"a": [1, 2], "b": [1]})
    with pytest.raises(ValueError, match="a column of 2 dimensions"):
        fit_encoder({"a": np.zeros((2, 2))})
    for text in ("abc", b"abc", {0: "x"}, {"x"}):
        with pytest.raises(ValueError, match="a mapping whose columns must be sequences, found"):
            fit_encoder({"a": text})


def test_holes_in_a_dictionary_are_missing():
    pa = pytest.importorskip("pyarrow")
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 0]), pa.array(["q", None]))
    table = pa.table({"x": column, "y": [1, 2, 1, 2]})
    assert fit_encoder(table).encode(table)[0][:, 0].tolist() == [0, -1, -1, 0]
    assert hld.learn_schema(table)["x"].num_missing == 2


def test_row_labels_of_pandas_are_no_column():
    pa = pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"x": [1, 2, 1]}, index=pd.date_range("2026-01-01", periods=3))
    assert fit_encoder(pa.Table.from_pandas(frame)).names == fit_encoder(frame).names == ("x",)


def test_tables_of_ibis_are_tables():
    ibis = pytest.importorskip("ibis")
    pytest.importorskip("duckdb")
    frame = pd.DataFrame({"a": [5, 6, None, 5], "b": list("xyxx")})
    encoder = fit_encoder(frame)
    table = ibis.memtable(pa.table(frame))
    assert encoder == fit_encoder(table)
    np.testing.assert_array_equal(encoder.encode(table)[0], encoder.encode(frame)[0])


class Visit(NamedTuple):
    """A row of two columns."""

    page: str
    seconds: float


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
        [{"seconds": 1.5, "page": "a"}, {"page": "b"}],
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
    ],
    ids=[
        "tuples",
        "a list among them",
        "classes",
        "frames",
        "frames of polars",
        "Arrow tables",
        "structured rows",
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


def test_a_class_in_place_of_a_table_is_named():
    with pytest.raises(
        TypeError, match="`batch` is a type, expected its rows: give an object of this class"
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


@pytest.mark.parametrize("form", ["csr", "coo"])
@pytest.mark.parametrize("what", ["matrix", "array"])
def test_every_sparse_form_is_recognised(form, what):
    import scipy.sparse

    with pytest.raises(
        TypeError,
        match=rf"^`table` is a {form}_{what}, expected its rows: a sparse one is read as `.toarray\(\)`",
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


LARGE = [1234567890123456701, 1234567890123456702, 1234567890123456703]


def as_pandas(cells, dtype):
    if "pyarrow" in str(dtype):
        pytest.importorskip("pyarrow")
    return pd.DataFrame({"x": pd.Series(cells, dtype=dtype)})


def as_polars(cells, dtype):
    polars = pytest.importorskip("polars")
    if not hasattr(polars, dtype):
        pytest.skip(f"this polars has no {dtype}")
    return polars.DataFrame({"x": polars.Series(cells, dtype=getattr(polars, dtype))})


def masked(cells):
    return np.ma.array(
        [[0 if cell is None else cell] for cell in cells], mask=[[cell is None] for cell in cells]
    )


@pytest.mark.parametrize("cells", [LARGE, [*LARGE, None]], ids=["complete", "with a hole"])
@pytest.mark.parametrize(
    "frame",
    [
        lambda cells: as_pandas(cells, "Int64"),
        lambda cells: as_pandas(cells, "UInt64"),
        lambda cells: as_pandas(cells, "int64[pyarrow]"),
        lambda cells: as_pandas(cells, object),
        lambda cells: as_pandas(pd.array(cells, dtype="Int64"), None).astype("category"),
        lambda cells: as_polars(cells, "Int64"),
        lambda cells: as_polars(cells, "UInt64"),
        masked,
        lambda cells: [[cell] for cell in cells],
    ],
    ids=[
        "Int64",
        "UInt64",
        "arrow",
        "object",
        "category",
        "polars Int64",
        "polars UInt64",
        "masked",
        "lists",
    ],
)
def test_large_whole_numbers_stay_what_they_are(cells, frame):
    encoder = fit_encoder(frame(cells))
    assert encoder.columns[0].levels == tuple(LARGE)
    assert codes_of(encoder, frame(cells)) == [0, 1, 2] + [-1] * (len(cells) - 3)
    unseen = [LARGE[0] + 100, *cells[1:]]
    assert codes_of(encoder, frame(unseen))[:2] == [3, 1]


def test_a_frame_that_is_not_computed_yet_says_so():
    polars = pytest.importorskip("polars")
    with pytest.raises(TypeError, match=r"LazyFrame, .* collect it first"):
        fit_encoder(polars.LazyFrame({"a": [1, 2]}))


def as_arrow(cells):
    return pytest.importorskip("pyarrow").array(cells)


def in_chunks(cells):
    return pytest.importorskip("pyarrow").chunked_array([cells])


@pytest.mark.parametrize(
    "column",
    [
        as_arrow,
        in_chunks,
        lambda cells: as_polars(cells, "Int64")["x"],
        lambda cells: pd.Series(cells, dtype="Int64"),
        lambda cells: pd.array(cells, dtype="Int64"),
        lambda cells: as_pandas(cells, "int64[pyarrow]")["x"],
    ],
    ids=[
        "arrow",
        "chunks",
        "polars",
        "pandas",
        "extension array",
        "arrow in pandas",
    ],
)
def test_columns_of_other_libraries_in_a_mapping_are_exact(column):
    cells = [2**60, 2**60 + 1, None] * 4
    encoder = fit_encoder({"id": column(cells)})
    assert encoder == fit_encoder({"id": cells})
    assert encoder.encode({"id": column(cells)})[0].ravel().tolist() == [0, 1, -1] * 4


def test_a_nested_column_in_a_mapping_is_refused_where_it_is_looked_at():
    nested = as_arrow([[1], None])
    assert fit_encoder({"n": [0, 1, 1]}).encode_counting({"n": [0, 1], "more": nested})[3] == [
        "more"
    ]
    with pytest.raises(TypeError, match="column 'more' holds a list"):
        fit_encoder({"n": [0, 1], "more": nested})


NUMBERS = {"a": [1, 2, 1]}


def odd_tables():
    """Tables with a second column `new` that holds no plain values."""
    import polars

    lists, objects = [[1], [2, 3], []], [{"x": 1}, {"x": 2}, {"x": 3}]
    packed = np.zeros(3, dtype=[("a", int), ("new", [("x", int)])])
    packed["a"] = NUMBERS["a"]
    structs = pa.table({**NUMBERS, "new": objects})
    return {
        "arrow list": pa.table({**NUMBERS, "new": lists}),
        "arrow struct": structs,
        "arrow dictionary of lists": pa.table(
            {**NUMBERS, "new": pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array(lists))}
        ),
        "pandas arrow struct": structs.to_pandas(types_mapper=pd.ArrowDtype),
        "polars struct": polars.DataFrame({**NUMBERS, "new": objects}),
        "polars array": polars.DataFrame(
            {**NUMBERS, "new": [[1, 2]] * 3},
            schema_overrides={"new": polars.Array(polars.Int64, 2)},
        ),
        "polars list": polars.DataFrame({**NUMBERS, "new": lists}),
        "pandas list": pd.DataFrame({**NUMBERS, "new": lists}),
        "complex": pd.DataFrame({**NUMBERS, "new": [1j, 2j, 3j]}),
        "bytes": {**NUMBERS, "new": np.zeros(3, dtype="V2")},
        "structured": packed,
    }


@pytest.mark.parametrize("name", list(odd_tables()))
def test_a_new_column_of_any_type_is_ignored(name):
    codes, _, absent, extra = fit_encoder(pd.DataFrame(NUMBERS)).encode_counting(odd_tables()[name])
    assert (codes.ravel().tolist(), absent, extra) == ([0, 1, 0], [], ["new"])


@pytest.mark.parametrize("name", list(odd_tables()))
def test_it_is_refused_where_it_is_learned_or_known(name):
    with pytest.raises(TypeError, match=r"column 'new' holds a \w+ .*leave it out .*--drop"):
        fit_encoder(odd_tables()[name])
    encoder = fit_encoder(pd.DataFrame({"a": [1, 2], "new": ["x", "y"]}))
    with pytest.raises((TypeError, ValueError), match="column 'new' "):
        encoder.encode_counting(odd_tables()[name])
