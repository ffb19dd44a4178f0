"""Data frames: no column is rounded, cut or flattened on its way to an array."""

import datetime
import decimal

import numpy as np
import pandas as pd
import pytest
from tables import codes_of

from hld.schemas.encoder import fit_encoder

LARGE = [1234567890123456701, 1234567890123456702, 1234567890123456703]
HUGE = [2**64 - 1, 2**64 - 2, 2**64 - 3]


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
        lambda cells: as_polars(cells, "Int128"),
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
        "polars Int128",
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


@pytest.mark.parametrize(
    "frame",
    [
        lambda cells: as_pandas(cells, "UInt64"),
        lambda cells: as_polars(cells, "UInt64"),
        lambda cells: as_polars(cells, "Int128"),
    ],
)
def test_the_largest_unsigned_numbers(frame):
    encoder = fit_encoder(frame([*HUGE, None]))
    assert encoder.columns[0].levels == tuple(sorted(HUGE))
    assert codes_of(encoder, frame([None, *HUGE])) == [-1, 2, 1, 0]


def test_a_hole_does_not_change_the_codes_of_the_other_rows():
    """One missing cell once made unshifted rows look like a sure shift."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(
        {"id": pd.array(rng.choice(LARGE, 300), dtype="Int64"), "x": rng.integers(0, 3, 300)}
    )
    encoder = fit_encoder(rows)
    codes, report = encoder.encode(rows.head(30))
    rows.loc[7, "id"] = pd.NA
    holed, holed_report = encoder.encode(rows.head(30))
    assert report.num_unseen.tolist() == holed_report.num_unseen.tolist() == [0, 0]
    assert holed[7, 0] == -1
    np.testing.assert_array_equal(np.delete(codes, 7, axis=0), np.delete(holed, 7, axis=0))


def test_small_whole_numbers_with_holes_stay_numbers():
    for frame in (
        as_pandas([1, None, 3], "Int64"),
        as_polars([1, None, 3], "Int64"),
        as_pandas([1, None, 3], "int8[pyarrow]"),
    ):
        encoder = fit_encoder(frame)
        assert (encoder.columns[0].kind, encoder.columns[0].levels) == ("integer", (1, 3))
        assert codes_of(encoder, frame) == [0, -1, 1]


def test_true_floats_stay_floats():
    for frame in (
        as_pandas([1e300, None, 2.0**60], "Float64"),
        as_polars([1e300, None, 2.0**60], "Float64"),
        as_pandas([1e300, None, 2.0**60], "double[pyarrow]"),
        as_pandas([1e300, None, 2.0**60], float),
    ):
        encoder = fit_encoder(frame, continuous=["x"])
        assert codes_of(encoder, frame) == [1, -1, 0]


def test_nested_columns_are_refused():
    polars = pytest.importorskip("polars")
    for cells in (
        polars.Series([[1], [2]], dtype=polars.Array(polars.Int64, 1)),
        polars.Series([{"a": 1}, {"a": 2}]),
    ):
        with pytest.raises(
            TypeError, match=r"`table` column 'x' holds nested values \(.*\), expected one value in"
        ):
            fit_encoder(polars.DataFrame({"x": cells}))


def test_lists_in_cells_are_refused():
    polars = pytest.importorskip("polars")
    for frame in (polars.DataFrame({"x": [[1], [2]]}), pd.DataFrame({"x": [[1], [2]]})):
        with pytest.raises(TypeError, match="`table` column 'x' holds a"):
            fit_encoder(frame)


def test_times_of_the_day_are_cut_to_microseconds():
    polars = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    nanoseconds = [0, 1, 999, 1000, 2001, None, 86_399_999_999_999]
    frame = polars.DataFrame(
        {"x": polars.Series(nanoseconds, dtype=polars.Int64).cast(polars.Time)}
    )
    micros = [None if one is None else one // 1000 for one in nanoseconds]
    python = {
        "x": [
            None
            if one is None
            else (datetime.datetime.min + datetime.timedelta(microseconds=one)).time()
            for one in micros
        ]
    }
    for roles in ({}, {"categorical": ["x"]}):
        encoder = fit_encoder(frame, **roles)
        assert encoder == fit_encoder(python, **roles) == fit_encoder(frame.to_arrow(), **roles)
        assert encoder.columns[0].kind == ("categorical" if roles else "time")
        for one in (frame, frame.to_arrow(), python):
            np.testing.assert_array_equal(encoder.encode(one)[0], encoder.encode(python)[0])


def test_dates_of_frames_are_those_of_arrays():
    polars = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    values = np.array(
        ["2020-01-01T00:00:00.000000001", "2020-01-01T00:00:00", "NaT"], dtype="M8[ns]"
    )
    encoder = fit_encoder(values[:, None])
    for frame in (
        pd.DataFrame({"x": values}),
        polars.DataFrame({"x": values}),
        pd.DataFrame({"x": pd.Series(values).astype("timestamp[ns][pyarrow]")}),
    ):
        assert codes_of(encoder, frame) == [1, 0, -1]


@pytest.mark.parametrize(
    "form",
    [
        lambda frame: frame.astype(object),
        lambda frame: {"when": frame["when"].tolist()},
        lambda frame: frame.to_dict("records"),
    ],
)
def test_periods_as_objects_are_those_of_their_column(form):
    """They had been levels of text in training, and of another type in a batch."""
    frame = pd.DataFrame({"when": pd.period_range("2026-01", periods=40, freq="M")})
    frame.loc[3, "when"] = pd.NaT
    encoder = fit_encoder(frame)
    assert fit_encoder(form(frame)) == encoder
    np.testing.assert_array_equal(encoder.encode(form(frame))[0], encoder.encode(frame)[0])


def test_periods_of_several_lengths_are_levels():
    mixed = {"when": [pd.Period("2026-01", "M"), pd.Period("2026-01-05", "D")] * 3}
    assert fit_encoder(mixed).columns[0].levels == ("2026-01", "2026-01-05")


def test_periods_are_dates():
    frame = pd.DataFrame({"when": pd.period_range("2026-01", periods=40, freq="D")})
    assert fit_encoder(frame) == fit_encoder(
        pd.DataFrame({"when": pd.date_range("2026-01-01", periods=40)})
    )


def test_a_frame_that_is_not_computed_yet_says_so():
    polars = pytest.importorskip("polars")
    with pytest.raises(TypeError, match=r"LazyFrame .* collect it first"):
        fit_encoder(polars.LazyFrame({"a": [1, 2]}))


def test_columns_of_arrow_in_pandas_are_those_of_arrow():
    """pandas itself takes no dictionary of anything but text apart."""
    pa = pytest.importorskip("pyarrow")
    day = datetime.date(2026, 1, 31)
    for cells in (
        [day, None, datetime.date(2026, 2, 1)],
        [decimal.Decimal("1.5"), None, decimal.Decimal(2)],
        [datetime.time(1), None, datetime.time(2)],
        [2**60, None, 2**60 + 1],
        ["a", None],
        [0.5, None],
    ):
        for column in (pa.array(cells), pa.array(cells).dictionary_encode()):
            table = pa.table({"x": column})
            frame = table.to_pandas(types_mapper=pd.ArrowDtype)
            assert fit_encoder(frame) == fit_encoder(table)
            np.testing.assert_array_equal(
                fit_encoder(table).encode(frame)[0], fit_encoder(table).encode(table)[0]
            )


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
        lambda cells: as_polars(cells, "Int128")["x"],
        lambda cells: pd.Series(cells, dtype="Int64"),
        lambda cells: pd.array(cells, dtype="Int64"),
        lambda cells: as_pandas(cells, "int64[pyarrow]")["x"],
    ],
    ids=[
        "arrow",
        "chunks",
        "polars",
        "polars Int128",
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
    assert fit_encoder({"n": [0, 1, 1]}).check({"n": [0, 1], "more": nested})[1].extra == ("more",)
    with pytest.raises(TypeError, match="column 'more' holds nested values"):
        fit_encoder({"n": [0, 1], "more": nested})
