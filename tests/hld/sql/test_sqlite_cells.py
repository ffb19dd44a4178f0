"""Columns of SQLite hold cells of any type: each is counted as the encoder takes the same cell of a table of rows."""

import functools
import sqlite3

import numpy as np
import pandas as pd
import pytest

import hld
from hld.answers.profile import profile_of
from hld.witnesses.count_law import merged_codes

pytest.importorskip("ibis")
pytest.importorskip("duckdb")

import hld.sql
from hld.sql.slots import counted_column

pytest.importorskip("ibis.backends.sqlite")
pytestmark = pytest.mark.filterwarnings(
    "ignore::FutureWarning", "ignore:.*infer_string"
)  # of ibis and pandas 3

OPTIONS = {"num_latents": 2, "num_epochs": 1, "num_resamples": 19, "metric": "likelihoods"}
START = np.datetime64("2024-01-01", "us")
RNG = np.random.default_rng(0)
FORMATS = {
    "micros": "%Y-%m-%d %H:%M:%S.%f",
    "millis": "%Y-%m-%d %H:%M:%S.000",
    "secs": "%Y-%m-%d %H:%M:%S",
    "iso": "%Y-%m-%dT%H:%M:%S",
    "day": "%Y-%m-%d",
    "minutes": "%Y-%m-%d %H:%M",
}
ODD_CELLS = [
    None,
    "",
    " ",
    "text",
    "1.5",
    "true",
    b"",
    b"\x01",
    b"a",
    b"\xff",
    0,
    1,
    2,
    2**62,
    2**53 + 1,
    -0.0,
    0.5,
    1.0,
    3.5,
    1e300,
    float("inf"),
    -float("inf"),
    "a",
    "A",
    "a ",
    "é",
    "e\u0301",
    "a\0b",
    "2024-01-03",
    "2024-01-03T12:00Z",
    "31.01.2024",
    "12:30",
    "2 days",
    1704067200,
]
MODELS = {
    "numbers": RNG.normal(size=90),
    "whole": np.arange(90) % 4,
    "flags": np.arange(90) % 2 == 0,
    "constant": np.full(90, 0.5),
    "huge": pd.Series([2**62, 3, 5] * 30, dtype=object),
    "words": np.array(["a", "A", "é", "true", "1"], dtype=object)[np.arange(90) % 5],
    "mixed": pd.Series(["a", 1, 2.5] * 30, dtype=object),
    "empty": pd.Series(["a", "", "b"] * 30),
    "dates": START + np.arange(90) * np.timedelta64(7, "h"),
    "spans": pd.to_timedelta(np.arange(90), unit="h"),
    "clocks": pd.Series([f"{k % 24:02}:30" for k in range(90)]),
}


def fitted(cells, **options):
    """A detector of a column, x, in an order of its own, and one of two values, y."""
    cells = pd.Series(cells)[np.random.default_rng(5).permutation(len(cells))].reset_index(
        drop=True
    )
    if cells.dtype.kind == "M":  # dates in no order, and each in one row only
        options["continuous"] = ["x"]
    return hld.HLDDetector(**OPTIONS, **options).fit(
        pd.DataFrame({"x": cells, "y": np.arange(len(cells)) % 2})
    )


def database(path, cells, kind):
    """A file with a table t of a column of some type; returns its URL."""
    connection = sqlite3.connect(path)
    connection.execute(f"CREATE TABLE t (x {kind}, y INTEGER)")
    connection.executemany(
        "INSERT INTO t VALUES (?, ?)", [[cell, i % 2] for i, cell in enumerate(cells)]
    )
    connection.commit()
    connection.close()
    return f"sqlite://{path}"


def stored(path):
    """The cells as SQLite gives them: it makes numbers of some texts, and texts of some numbers."""
    connection = sqlite3.connect(path)
    cells = [cell for (cell,) in connection.execute("SELECT x FROM t ORDER BY rowid")]
    connection.close()
    return cells


def assert_as_rows(detector, found, cells):
    """Raise unless counts, those of pairs and of odd cells are those of rows."""
    batch = pd.DataFrame({"x": pd.Series(cells, dtype=object), "y": np.arange(len(cells)) % 2})
    columns = detector.encoder_.columns
    codes, report, *_ = detector.encoder_.encode_counting(batch)
    sizes = [counted_column(column).num_categories for column in columns]
    expected = profile_of(merged_codes(columns, codes), sizes, detector.profile_.edges)
    for own, other in zip(
        (*found.profile.counts, *found.profile.pairs),
        (*expected.counts, *expected.pairs),
        strict=True,
    ):
        assert own.tolist() == other.tolist()
    for name in ("num_missing", "num_unseen", "num_out_of_range", "num_odd"):
        assert getattr(found.report, name).tolist() == getattr(report, name).tolist(), name


DAYS = START + np.repeat(np.arange(30), 3) * np.timedelta64(1, "D")  # so that edges are hit exactly


@functools.cache
def detector_of(model):
    """A detector of one of the models, or of days, which no test changes."""
    roles = {"categorical": ["x"]} if model in ("words", "mixed", "empty") else {}
    return fitted(DAYS if model == "days" else MODELS[model], **roles)


@pytest.mark.parametrize(
    ("name", "kind"), list(zip(FORMATS, ["TIMESTAMP", "DATE", "TEXT", ""] * 2, strict=False))
)
def test_times_in_every_form_are_those_of_the_rows_edges_included(tmp_path, name, kind):
    detector, texts = detector_of("days"), pd.Series(DAYS).dt.strftime(FORMATS[name]).tolist()
    found = hld.sql.count(detector, database(tmp_path / "t.db", [*texts, None], kind), "t")
    assert_as_rows(detector, found, [*DAYS.tolist(), None])  # as data frames hold them
    assert_as_rows(detector, found, [*texts, None])  # and as SQLite gives them


@pytest.mark.parametrize(
    "kind",
    [
        "REAL",
        "TEXT COLLATE NOCASE",
    ],
)
@pytest.mark.parametrize("model", list(MODELS))
def test_cells_of_any_type_are_those_of_the_rows(tmp_path, model, kind):
    detector, url = detector_of(model), database(tmp_path / "t.db", ODD_CELLS, kind)
    cells = stored(tmp_path / "t.db")
    assert_as_rows(detector, hld.sql.count(detector, url, "t"), cells)
    assert_as_rows(detector, hld.sql.count(detector, url, "SELECT * FROM t -- all"), cells)


def test_seconds_since_1970_are_no_times_until_they_are_converted(tmp_path):
    detector = detector_of("dates")
    url = database(tmp_path / "t.db", [1704067200, 1704153600], "INTEGER")
    assert hld.sql.count(detector, url, "t").report.num_odd.tolist() == [2, 0]
    query = "SELECT datetime(x, 'unixepoch') AS x, y FROM t"
    assert_as_rows(
        detector, hld.sql.count(detector, url, query), [START, START + np.timedelta64(1, "D")]
    )


def test_parts_of_dates_are_those_of_the_rows(tmp_path):
    schema = hld.TableSchema(hld.calendar_columns("x", ("weekday", "hour", "month"), keep=True))
    times = START + np.arange(300) * np.timedelta64(31, "h")
    detector = fitted(times, schema=schema)
    cells = [
        "2024-01-06 23:59:59.999999",
        "2024-02-29T00:00:00Z",
        "1969-12-31",
        None,
        "",
        "never",
        5,
        "2024-01-01 00:30+01:00",
    ]
    assert_as_rows(
        detector,
        hld.sql.count(detector, database(tmp_path / "t.db", cells, "TIMESTAMP"), "t"),
        cells,
    )


def test_rare_levels_count_as_unseen(tmp_path):
    words = pd.Series([f"w{k % 40 if k % 2 else 0}" for k in range(200)])
    detector = fitted(words, categorical=["x"], max_categories=5)
    found = hld.sql.count(
        detector, database(tmp_path / "t.db", ["w0", "w7", "new", None], "TEXT"), "t"
    )
    assert (found.profile.counts[0][-1], found.profile.counts[0].sum()) == (1, 4)
    assert found.profile.counts[0][-2] == 2  # the rare one and the new one


def test_text_that_is_not_utf_8_is_refused(tmp_path):
    detector = detector_of("words")
    url = database(tmp_path / "t.db", ["a"], "TEXT")
    connection = sqlite3.connect(tmp_path / "t.db")
    connection.execute("INSERT INTO t VALUES (CAST(x'ff61' AS TEXT), 1)")
    connection.commit()
    connection.close()
    with pytest.raises(ValueError, match="the table cannot be counted: Could not decode to UTF-8"):
        hld.sql.count(detector, url, "t")
