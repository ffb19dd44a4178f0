"""Columns of a database whose type is not that of training: each cell is counted as the encoder would take it."""

import datetime
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import hld
from hld.answers.profile import profile_of
from hld.witnesses.count_law import merged_codes

pytest.importorskip("ibis")
pytest.importorskip("duckdb")
import duckdb
import ibis

import hld.sql
from hld.sql.slots import counted_column, double, part_expression, slot_expression

OPTIONS = {"num_latents": 2, "num_epochs": 1, "num_resamples": 19, "metric": "likelihoods"}
DAYS = [
    datetime.datetime(2024, 3, 1),
    datetime.datetime(2024, 3, 2, 6, 30),
    datetime.datetime(2024, 3, 3),
]
HOURS = [datetime.time(6, 0), datetime.time(6, 0, 0, 500_000), datetime.time(23, 59, 59)]


def fitted(column, **options):
    """A detector of a column and one of two values."""
    table = {"x": column, "y": np.arange(len(column)) % 2}
    if pd.Series(column).dtype.kind == "M":  # moments order the rows
        options["continuous"] = ["x"]
    return hld.HLDDetector(**OPTIONS, **options).fit(pd.DataFrame(table))


def counted(detector, cells, kind):
    """Counts of the column x by a database that holds it as `kind`."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(f"CREATE TABLE t (x {kind}, y INTEGER)")
    connection.executemany(
        "INSERT INTO t VALUES (?, ?)", [[cell, i % 2] for i, cell in enumerate(cells)]
    )
    return hld.sql.count(detector, connection, "t").profile.counts[0].tolist()


def encoded(detector, cells):
    """The same by the encoder."""
    batch = pd.DataFrame({"x": pd.Series(cells, dtype=object), "y": np.arange(len(cells)) % 2})
    codes = detector.encoder_.encode_counting(batch)[0]
    sizes = [counted_column(column).num_categories for column in detector.encoder_.columns]
    return profile_of(merged_codes(detector.encoder_.columns, codes), sizes, ()).counts[0].tolist()


def value_of(expression):
    """What a database makes of an expression."""
    return ibis.duckdb.connect().to_pyarrow(expression).as_py()


WORDS = [str(one) for one in (*DAYS, *HOURS)] + ["2024-03-01", "word"]


@pytest.mark.parametrize(
    ("levels", "cells", "kind"),
    [
        (WORDS, [*DAYS, datetime.datetime(1999, 1, 1), None], "TIMESTAMP"),
        (
            [one.date() for one in DAYS],
            [*(one.date() for one in DAYS), datetime.date(1999, 1, 1), None],
            "DATE",
        ),
        (DAYS, [*DAYS, datetime.datetime(1999, 1, 1), None], "TIMESTAMP"),
        (WORDS, ["word", "", "other", None], "VARCHAR"),
        ([*WORDS, ""], ["word", "", "other", None], "VARCHAR"),
        (WORDS, [*HOURS, datetime.time(1, 1), None], "TIME"),
        (WORDS, ["word", "2024-03-01", str(DAYS[1]), "new", None], "VARCHAR"),
        ([1, 2, 3], [1, 2, 4, None], "BIGINT"),
        ([1, 2, 3], [1.0, 2.5, 3.0, None], "DOUBLE"),
        ([1, 2, 3], [Decimal("1.0"), Decimal("2.5"), None], "DECIMAL(9, 1)"),
        ([0, 1], [True, False, None], "BOOLEAN"),
        ([True, False], [0, 1, 2, None], "INTEGER"),
        ([0.5, 1.5, 2.0], [1, 2, None], "INTEGER"),
        ([1e300, 2.0, 3.0], [2, 5, None], "BIGINT"),
        ([2**70, 3, 5], [3, 4, None], "BIGINT"),
        ([2**62, 3, 5], [2**62, 3, 2**61, None], "HUGEINT"),
        ([2.0**62, 3.0, 0.5], [Decimal(2**62), 3, Decimal("0.5"), None], "DECIMAL(38, 2)"),
        ([2**70, 3, 5], [3.0, float(2**70), None], "DOUBLE"),
        (["1", "2", "z"], [1, 2, 3, None], "INTEGER"),
    ],
    ids=str,
)
def test_counts_are_those_of_the_encoder(levels, cells, kind):
    detector = fitted(
        pd.Series([levels[i % len(levels)] for i in range(60)], dtype=object), categorical=["x"]
    )
    assert counted(detector, cells, kind) == encoded(detector, cells)


NUMBERS = {
    "numbers": np.random.default_rng(0).normal(size=60),
    "whole": np.arange(60) % 3,
    "flags": np.arange(60) % 2 == 0,
    "constant": np.full(60, 0.5),
    "dates": np.datetime64("2024-01-01", "us") + np.arange(60) * 7 % 60 * np.timedelta64(7, "h"),
}


@pytest.mark.parametrize("kind", ["VARCHAR", "ENUM ('', ' ', '1', 'true', 'word')"])
@pytest.mark.parametrize("model", list(NUMBERS))
def test_empty_texts_are_missing_and_others_of_another_type_where_there_are_no_texts(model, kind):
    detector, cells = fitted(NUMBERS[model]), ["", " ", "1", "true", "word", None]
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE t (x {kind}, y INTEGER)")
    connection.executemany("INSERT INTO t VALUES (?, 0)", [[cell] for cell in cells])
    found = hld.sql.count(detector, connection, "t")
    assert found.profile.counts[0].tolist() == encoded(detector, cells)
    assert found.report.num_odd.tolist() == [4, 0]


@pytest.mark.parametrize(
    "kind",
    [
        "VARCHAR",
        "VARCHAR COLLATE NOCASE",
        "VARCHAR COLLATE NOACCENT",
        "VARCHAR COLLATE NFC",
        "ENUM ('a', 'A', 'a ', '\u00e9', 'e\u0301', 'e', 'it''s', '')",
    ],
)
def test_collations_play_no_part(kind):
    detector = fitted(pd.Series(["a", "A", "e", "\u00e9", "it's"] * 12), categorical=["x"])
    cells = ["a", "A", "a ", "\u00e9", "e\u0301", "e", "it's", "", None]
    assert counted(detector, cells, kind) == encoded(detector, cells)


@pytest.mark.parametrize(
    ("levels", "kind"),
    [
        (["01.03.2024", "03.03.2024"], "DATE"),
        (["2024/03/01", "2024/03/03"], "TIMESTAMP"),
        (["01.03.2024", "x"], "DATE"),
        (["2024-03-01T00:00:00Z", "2024-03-01T06:30"], "TIMESTAMP"),
        (["2024-03-01 06:30:00.5", "word"], "TIMESTAMP"),
        (["2024-03-01T01:00+01:00", "word"], "TIMESTAMPTZ"),
        (["2024-03-01 06:30:00+00:00", "word"], "TIMESTAMPTZ"),
        (["2024-03-01 07:30:00+01:00", "2024-03-01"], "TIMESTAMP"),
        (["01.03.2024", "2024-03-01"], "TIMESTAMP"),
        (["2024-03-01T06:30:00.000000001", "2024-03-01"], "TIMESTAMP"),
        (["2024-03-01", "2024-03-01 00:00:00"], "DATE"),
        (["6:30", "23:59:59"], "TIME"),
        (["6:30", "word"], "TIME"),
        (["06:30:00", "06:00:00.5"], "TIME"),
        (["1 day, 6:30:00", "6:30"], "TIME"),
    ],
    ids=str,
)
def test_levels_in_any_form_are_the_times_that_they_stand_for(levels, kind):
    """As in rows: else a model of a file of texts would call every time of a database unseen."""
    cells = [*HOURS, datetime.time(6, 30), None]
    if kind != "TIME":
        cells = [
            *DAYS,
            datetime.datetime(2024, 3, 1, 6, 30),
            datetime.datetime(2024, 3, 1, 6, 30, 0, 500_000),
            None,
        ]
    detector = fitted(
        pd.Series([levels[i % len(levels)] for i in range(60)], dtype=object), categorical=["x"]
    )
    own = [one.date() if kind == "DATE" and one is not None else one for one in cells]
    assert counted(detector, cells, kind) == encoded(detector, own)


@pytest.mark.parametrize(
    ("kind", "cells"),
    [
        ("UBIGINT", [0, 3, 2**64 - 1, None]),
        ("UTINYINT", [0, 3, 255, None]),
        ("TINYINT", [-1, -128, 3, None]),
        ("BOOLEAN", [True, False, None]),
    ],
)
def test_levels_that_no_number_of_a_type_is_equal_to_are_not_there(kind, cells):
    """A level -1 that stands for something else, and a column that has become unsigned."""
    detector = fitted([-1, 0, 3, 300, 2**63, 2**64 - 1] * 10)
    assert detector.encoder_.columns[0].levels == (-1, 0, 3, 300, 2**63, 2**64 - 1)
    assert counted(detector, cells, kind) == encoded(detector, cells)


def test_a_column_of_nothing_is_missing():
    detector = fitted(np.arange(60) % 3)
    found = hld.sql.count(
        detector, duckdb.connect(), "SELECT NULL AS x, 1 AS y FROM range(7)"
    ).profile.counts[0]
    assert (found[-1], found.sum()) == (7, 7)
    assert (
        value_of(slot_expression(counted_column(detector.encoder_.columns[0]), ibis.null())) == -1
    )


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("text", (None, None, None)),
        (3, (None, None, None)),
        (datetime.date(2024, 3, 2), ("Sat", 0, 3)),
        (datetime.datetime(2024, 3, 2, 6, 30), ("Sat", 6, 3)),
    ],
    ids=str,
)
def test_parts_of_dates_and_of_what_is_none(cell, expected):
    found = tuple(
        value_of(part_expression(ibis.literal(cell), part)) for part in ("weekday", "hour", "month")
    )
    assert found == expected


def test_rare_levels_and_unseen_ones_that_are_treated_otherwise_are_refused():
    words = pd.Series([f"w{k % 40 if k % 2 else 0}" for k in range(200)])
    column = fitted(words, categorical=["x"], max_categories=5).encoder_.columns[0]
    assert counted_column(column).merged
    with pytest.raises(
        ValueError, match="column 'x' has rare levels, and unseen ones are to be treated otherwise"
    ):
        counted_column(replace(column, policy="missing"))


def test_edges_outside_the_years_of_databases_are_refused():
    detector = fitted(
        np.datetime64("2024-01-01", "us") + np.arange(60) * 7 % 60 * np.timedelta64(7, "h")
    )
    column = replace(detector.encoder_.columns[0], high=1e15, edges=(1e14,))
    value = ibis.literal(datetime.datetime(2024, 1, 1))
    with pytest.raises(
        ValueError, match="column 'x' of the model has edges outside the years 1 to 9999"
    ):
        slot_expression(column, value)
    assert slot_expression(replace(detector.encoder_.columns[0], high=1e15), value) is not None


@pytest.mark.parametrize("number", [0.1, 5e-324, -0.0, 1.7976931348623157e308])
def test_doubles_are_exact(number):
    found = value_of(double(number))
    assert (found, np.signbit(found)) == (number, np.signbit(number))


@pytest.mark.parametrize(
    ("cells", "kind", "held"),
    [
        (HOURS * 20, "TIME_NS", ["06:00:00"]),
        (list(range(1000, 1060)), "UHUGEINT", [7]),
        ([1, 2] * 30, "UHUGEINT", [1]),
    ],
)
def test_types_that_are_not_known_are_refused_where_numbers_and_times_are_expected(
    cells, kind, held
):
    if (
        kind
        not in duckdb.sql("SELECT upper(type_name) FROM duckdb_types()").fetchnumpy()[
            "upper(type_name)"
        ]
    ):
        pytest.skip(f"this DuckDB has no {kind}")
    with pytest.raises(
        TypeError,
        match=r"column 'x' of the database is of type (TIME_NS|UINT128|unknown), expected ",
    ):
        counted(fitted(cells), held, kind)


def test_the_text_of_a_type_that_is_not_known_is_a_level():
    detector = fitted(["101", "01"] * 30)
    assert counted(detector, ["101", "101", "01", None], "BIT")[:2] == [1, 2]


@pytest.mark.parametrize(
    ("held", "kind"), [([7], "DOUBLE"), (["1 day"], "INTERVAL"), (["0:00:07"], "VARCHAR")]
)
def test_durations_are_refused(held, kind):
    """All had been of another type and so missing, also the seconds that were advised in place of an interval."""
    with pytest.raises(
        TypeError,
        match=r"column 'x' of the model holds durations, .* type .* there: fit the model to",
    ):
        counted(fitted(np.arange(60) * np.timedelta64(1, "s")), held, kind)
