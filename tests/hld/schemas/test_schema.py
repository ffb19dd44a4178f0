"""Schemas: changed, and written by hand; what cannot be is refused."""

import json
from decimal import Decimal

import numpy as np
import pytest

import hld
from hld.schemas.schema import ColumnSchema, TableSchema


def test_changes_make_another_schema():
    schema = hld.learn_schema(
        [[i % 3, i / 7, "ab"[i % 2]] for i in range(40)], names=["n", "x", "w"]
    )
    other = (
        schema.replace("n", levels=(0, 1))
        .replace("x", kind="categorical")
        .replace("w", policy="refuse")
    )
    assert schema["n"].levels == (0, 1, 2)
    assert (other["n"].levels, other["x"].levels, other["w"].policy) == ((0, 1), None, "refuse")
    with pytest.raises(ValueError, match="`levels` or `edges` of 'x' are still to be learned"):
        other.encoder()
    learned = hld.learn_schema(
        [[i % 3, i / 7, "ab"[i % 2]] for i in range(40)], names=["n", "x", "w"], given=other
    )
    assert (learned["n"].levels, learned["x"].kind, learned["w"].policy) == (
        (0, 1),
        "categorical",
        "refuse",
    )
    assert len(learned["x"].levels) == 40
    with pytest.raises(KeyError, match="no column 'z', expected one of 'n', 'x', 'w'"):
        schema.replace("z", kind="date")


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: ColumnSchema(3), TypeError, "`name` of a column must be text"),
        (
            lambda: ColumnSchema("a", "odd"),
            ValueError,
            "`kind` of column 'a' must be one of 'categorical'",
        ),
        (
            lambda: ColumnSchema("a", policy="drop"),
            ValueError,
            "`policy` of column 'a' must be one of 'keep'",
        ),
        (
            lambda: ColumnSchema("a", "categorical", levels="ab"),
            TypeError,
            "`levels` of column 'a' must be a sequence",
        ),
        (lambda: TableSchema([]), ValueError, "must have distinct names"),
        (
            lambda: TableSchema([ColumnSchema("a"), ColumnSchema("a")]),
            ValueError,
            "must have distinct names",
        ),
        (lambda: TableSchema(["a"]), TypeError, "must be of ColumnSchema"),
        (
            lambda: TableSchema([ColumnSchema("a")], num_rows=0),
            ValueError,
            "`num_rows` must be a whole number of at least",
        ),
        (
            lambda: TableSchema([ColumnSchema("a", num_missing=9)], num_rows=3),
            ValueError,
            "`num_rows` must be a whole number of at least 9, found 3",
        ),
        (
            lambda: TableSchema([ColumnSchema("a")], num_rows=2.5),
            TypeError,
            "`num_rows` must be a whole number",
        ),
        (
            lambda: hld.learn_schema(
                [["x"], ["y"]], names=["a"], given=TableSchema([ColumnSchema("a", "date")])
            ),
            TypeError,
            "column 'a' holds 'x', expected a date",
        ),
        (
            lambda: hld.learn_schema(
                [[0.5], [0.7]], names=["a"], given=TableSchema([ColumnSchema("a", "boolean")])
            ),
            ValueError,
            "kind boolean does not allow",
        ),
        (
            lambda: hld.learn_schema(
                [[0.5], [0.7]], names=["a"], given=TableSchema([ColumnSchema("a", "duration")])
            ),
            ValueError,
            "is continuous, and the schema says duration",
        ),
    ],
)
def test_what_cannot_be_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_edges_that_are_texts_are_times():
    """Others had been years, and an empty one a number of 14 digits."""
    assert ColumnSchema("a", "date", edges=("31.01.2020", "2020-02-01T12:00Z")).edges == (
        1580428800.0,
        1580558400.0,
    )
    assert ColumnSchema("a", "time", edges=("6:30", "12:00:00.5")).edges == (23400.0, 43200.5)
    assert ColumnSchema("a", "duration", edges=("-1 day, 0:00:00", "36:00")).edges == (
        -86400.0,
        129600.0,
    )
    for kind, edge in (
        ("continuous", "5"),
        ("date", ""),
        ("date", "NaT"),
        ("date", "2020"),
        ("time", "x"),
        (None, ""),
    ):
        with pytest.raises(
            ValueError,
            match=f"`edges` of column 'a' must be numbers, or texts of times .* {edge!r}",
        ):
            ColumnSchema("a", kind, edges=(edge,))


def test_ends_of_the_range_may_be_any_numbers_and_texts_of_times_as_edges_may():
    given = ColumnSchema("a", "continuous", edges=(30, Decimal("50.5")), low=0, high=np.int64(100))
    assert given == ColumnSchema("a", "continuous", edges=(30.0, 50.5), low=0.0, high=100.0)
    assert (given.column().low, given.column().high) == (0.0, 100.0)
    learned = hld.learn_schema([[1], [40], [60.5]], names=["a"])
    assert "the training range [0, 60.5]" in learned.replace("a", low=0).encoder().describe()
    day = ColumnSchema("day", "date", low="2020-01-31", high="01.02.2020")
    assert (day.low, day.high) == (1580428800.0, 1580515200.0)
    for what, value in (
        ("low", "2020-01-31"),
        ("high", 10**400),
        ("low", True),
        ("high", Decimal("sNaN")),
    ):
        with pytest.raises(
            ValueError, match=f"`{what}` of column 'a' must be a number, or a text of a time where "
        ):
            ColumnSchema("a", "continuous", **{what: value})
    with pytest.raises(ValueError, match=r"`edges` of column 'a' must be numbers, .*, found 1000"):
        ColumnSchema("a", "continuous", edges=(10**400,))


@pytest.mark.parametrize(
    ("kind", "levels"),
    [
        ("categorical", ["x", "y"]),
        ("integer", [1, 2]),
        ("boolean", [False, True]),
        ("categorical", [0.5, 1.5]),
    ],
)
def test_levels_may_be_an_array(kind, levels):
    given = ColumnSchema("a", kind, levels=np.array(levels))
    assert given == ColumnSchema("a", kind, levels=levels)
    assert given.column().levels == tuple(levels)
    assert (
        TableSchema.from_dict(json.loads(json.dumps(TableSchema([given]).to_dict())))["a"] == given
    )


def test_counts_of_a_schema_are_whole_numbers_of_any_type():
    """NumPy's could not be written as JSON, -3 of 5 cells were printed as the share -0.6, and text compared with 1."""
    counted = TableSchema(
        [ColumnSchema("a", "integer", levels=(1, 2), num_missing=np.int64(3))], num_rows=np.uint8(5)
    )
    assert json.loads(json.dumps(counted.to_dict()))["num_rows"] == 5
    assert TableSchema.from_dict(counted.to_dict()) == counted
    with pytest.raises(
        ValueError, match="`num_missing` must be a whole number of at least 0, found -3"
    ):
        ColumnSchema("a", num_missing=-3)
    for odd in ("3", 1.5, True):
        with pytest.raises(TypeError, match="`num_missing` must be a whole number"):
            ColumnSchema("a", num_missing=odd)
