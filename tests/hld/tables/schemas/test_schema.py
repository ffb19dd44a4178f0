"""Schemas: changed, and written by hand; what cannot be is refused."""

import datetime
import json
import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import ROWS, TEXT, objects

import hld
from hld.tables.cells import column_cells
from hld.tables.schemas.columns import fit_column
from hld.tables.schemas.learn_schema import AS_TEXT, count_missing, identifier_note
from hld.tables.schemas.schema import ColumnSchema, TableSchema


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
        (lambda: ColumnSchema(3), TypeError, "`name` of column 3 must be text"),
        (
            lambda: ColumnSchema("a", "odd"),
            ValueError,
            "`kind` of column 'a' must be one of None, 'categorical'",
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
            "`num_rows` must be a whole number of at least 9 .* found 3",
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
            "different ones of kind boolean",
        ),
        (
            lambda: hld.learn_schema(
                [[0.5], [0.7]], names=["a"], given=TableSchema([ColumnSchema("a", "duration")])
            ),
            TypeError,
            "holds 0.5, expected a duration, as the schema says",
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
    assert "0 .. 60.5 cut at" in learned.replace("a", low=0)["a"].values_text()
    day = ColumnSchema("day", "date", low="2020-01-31", high="01.02.2020")
    assert (day.low, day.high) == (1580428800.0, 1580515200.0)
    for what, value in (
        ("low", "2020-01-31"),
        ("high", 10**400),
        ("low", True),
    ):
        with pytest.raises(
            ValueError, match=f"`{what}` of column 'a' must be a number, or a text of a time where "
        ):
            ColumnSchema("a", "continuous", **{what: value})
    with pytest.raises(ValueError, match=r"`edges` of column 'a' must be numbers, .*, found 1000"):
        ColumnSchema("a", "continuous", edges=(10**400,))


SCHEMA = {
    "format": "hld table schema",
    "version": 1,
    "by_name": True,
    "num_rows": 9,
    "columns": [
        {"name": "a", "kind": "categorical", "levels": ["x", 2], "missing": 1},
        {
            "name": "b",
            "kind": "continuous",
            "edges": [1.0],
            "low": 0.0,
            "high": 2.0,
            "missing": 0,
            "unseen": "missing",
        },
        {"name": "c", "kind": "left out", "note": "row numbers"},
    ],
}


def test_a_schema_is_plain_json():
    schema = TableSchema.from_dict(SCHEMA)
    assert schema.to_dict() == SCHEMA  # what is the default is not written
    assert schema.trained == (9, (1, 0))
    assert [one.name for one in schema.left_out] == ["c"]
    assert TableSchema(schema.columns).trained is None  # nobody knows of how many rows
    assert (
        TableSchema([ColumnSchema("a", "integer", levels=(1, 2))], num_rows=9).trained is None
    )  # or of which cells
    extremes = (2**70, -(2**80), math.inf, -math.inf, 0.1, 1e-310, "\ud800", True)
    odd = TableSchema([ColumnSchema("a", "categorical", levels=extremes)])
    text = json.dumps(odd.to_dict(), allow_nan=False)
    assert TableSchema.from_dict(json.loads(text)) == odd


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "format 'other'"),
        ({"version": 2}, "version 2"),
        ({"version": True}, "version True"),
        ({"columns": {}}, "list of columns"),
        ({"columns": []}, "distinct names"),
        ({"more": 1}, "expected an object"),
        ({"num_rows": 0}, "`num_rows` must be a whole number"),
        ({"by_name": 1}, "True or False"),
        ({"columns": [{"kind": "date"}]}, "an object with a name"),
        ({"columns": [{"name": "a", "kind": "odd"}]}, "must be one of"),
        (
            {"columns": [{"name": "a", "missing": 10}]},
            "`num_rows` must be a whole number of at least 10",
        ),
        ({"columns": [{"name": "a", "missing": -1}]}, "at least 0"),
        ({"columns": [{"name": "a", "levels": [1]}]}, r"columns\[0\] of .* needs a `kind` out of"),
        (
            {"columns": [{"name": "a", "edges": {"1": 2}}]},
            r"edges of columns\[0\] .* must be a list",
        ),
        ({"columns": [{"name": "a", "rare": "?"}]}, r"columns\[0\] of the schema: "),
        ({"columns": [{"name": "a", "note": 3}]}, "`note` of column 'a' must be text"),
        ({"columns": [{"name": "a", "optional": 1}]}, "`optional` must be True or False"),
        (
            {
                "columns": [
                    {"name": "a", "kind": "continuous", "edges": [2.0, 1.0], "low": 0, "high": 3}
                ]
            },
            "impossible bins",
        ),
        (
            {"columns": [{"name": "a", "kind": "integer", "levels": ["x"]}]},
            "different ones of kind integer",
        ),
    ],
)
def test_damaged_schemas_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        TableSchema.from_dict({**SCHEMA, **change})


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | TEXT
    | st.sampled_from(["continuous", "categorical", "left out", "date", "keep"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=50)
@given(st.data())
def test_hostile_schemas_raise_value_errors_only(data):
    damaged = json.loads(json.dumps(SCHEMA))
    place = data.draw(st.sampled_from([damaged, *damaged["columns"]]))
    place[data.draw(st.sampled_from(sorted(place)))] = data.draw(JSON)
    for hostile in (damaged, data.draw(JSON)):
        try:
            schema = TableSchema.from_dict(hostile)
        except ValueError:
            continue
        assert TableSchema.from_dict(schema.to_dict()) == schema
        assert str(schema)


@pytest.mark.parametrize(
    ("level", "written"),
    [
        (10**19, 10**19),
        (10**20, {"int": "0x56bc75e2d63100000"}),
        (-(10**19), {"int": "-0x8ac7230489e80000"}),
        (math.inf, {"float": "inf"}),
        (-math.inf, {"float": "-inf"}),
        (0.1, 0.1),
        (True, True),
        ("1", "1"),
    ],
)
def test_levels_that_readers_of_json_round_or_refuse_have_a_form_of_their_own(level, written):
    """Whole numbers of more than 20 characters, the sign among them, and infinities."""
    (own,) = TableSchema([ColumnSchema("a", "categorical", levels=(level,))]).to_dict()["columns"]
    assert (own["levels"], type(own["levels"][0])) == ([written], type(written))
    found = TableSchema.from_dict(
        {**SCHEMA, "columns": [{"name": "a", "kind": "categorical", "levels": [written]}]}
    )
    assert (found["a"].levels, type(found["a"].levels[0])) == ((level,), type(level))


@pytest.mark.parametrize(
    "level",
    [
        {"int": "0x" + "f" * 257},
        {"int": "0xF"},
        {"int": "0x"},
        {"int": 7},
        {"float": "nan"},
        {"float": "1.5"},
        {"int": "0x1", "float": "inf"},
        2**1024,
        math.nan,
        [1],
    ],
)
def test_levels_of_another_form_are_refused_where_they_are(level):
    column = {"name": "a", "kind": "categorical", "levels": [level]}
    with pytest.raises(
        ValueError,
        match=r"columns\[0\] of the schema: `levels` of column 'a' must hold text, numbers",
    ):
        TableSchema.from_dict({**SCHEMA, "columns": [column]})


@settings(max_examples=30)
@given(ROWS)
def test_a_learned_schema_makes_the_encoder_of_the_table(rows):
    table = objects(rows)
    schema = hld.learn_schema(table, num_bins=3, max_categories=4)
    encoder = hld.fit_encoder(table, num_bins=3, max_categories=4)
    kept = [one for one in encoder.columns if schema[one.name].kind != "left out"]
    assert list(schema.encoder().columns) == kept
    assert schema.num_rows == len(table)
    codes, report = schema.encoder().encode(table)
    assert [schema[one.name].num_missing for one in kept] == report.num_missing.tolist()
    again = TableSchema.from_dict(json.loads(json.dumps(schema.to_dict())))
    assert again == schema
    assert json.dumps(again.to_dict()) == json.dumps(schema.to_dict())
    np.testing.assert_array_equal(again.encoder().encode(table)[0], codes)


@pytest.mark.parametrize(
    ("known", "kind", "part"),
    [
        ({"kind": "integer"}, "integer", ("levels", tuple(range(100)))),
        ({"kind": "continuous", "edges": (10, 50)}, "continuous", ("low", 0.0)),
        (
            {"kind": "continuous", "edges": (-5,)},
            "continuous",
            ("low", math.nextafter(-5, -math.inf)),
        ),
        ({"kind": "categorical", "levels": (1, 2)}, "categorical", ("levels", (1, 2))),
        ({"policy": "missing"}, "continuous", ("policy", "missing")),
        ({"kind": "left out"}, "left out", ("levels", None)),
    ],
)
def test_what_a_schema_leaves_open_is_learned(known, kind, part):
    rows = np.random.default_rng(0).permutation(100).tolist() * 2
    schema = hld.learn_schema(
        {"x": rows, "y": [0, 1] * 100}, given=TableSchema([ColumnSchema("x", **known)])
    )
    assert schema["x"].kind == kind
    assert getattr(schema["x"], part[0]) == part[1]


def test_columns_that_were_left_out_of_the_table_already_are_kept_as_such():
    """A batch may have what the user dropped before learning, and nothing is said of it."""
    rng = np.random.default_rng(0)
    table = {"a": rng.integers(0, 3, 60), "b": rng.integers(0, 2, 60)}
    schema = hld.TableSchema((hld.ColumnSchema("secret", "left out", note="dropped"),))
    learned = hld.learn_schema(table, given=schema)
    assert [column.name for column in learned.left_out] == ["secret"]
    assert learned.check(table | {"secret": rng.integers(0, 9, 60)}).extra == ()
    assert learned.check(table | {"other": rng.integers(0, 9, 60)}).extra == ("other",)
    assert (
        hld.learn_schema(np.column_stack(list(table.values())), given=schema).left_out == ()
    )  # no names
    assert learned.table_names == ("a", "b")
    assert TableSchema.from_dict(json.loads(json.dumps(learned.to_dict()))) == learned
    assert learned.to_dict()["columns"][-1] == {
        "name": "secret",
        "kind": "left out",
        "note": "dropped",
        "optional": True,
    }
    assert learned.encoder().encode(table | {"secret": np.zeros(60)})[0].shape == (60, 2)
    with pytest.raises(
        ValueError, match="`optional` is for columns that are left out, found it for 'a'"
    ):
        ColumnSchema("a", "integer", optional=True)


@pytest.mark.parametrize(
    "known",
    [
        {},
        {"kind": "continuous", "edges": (0.0,)},
        {"kind": "continuous", "edges": (0.0,), "low": -9.0, "high": 9.0},
    ],
)
def test_empty_texts_that_are_no_level_are_missing_in_training(known):
    """They are missing in a batch: if training had not counted them, every batch like it would be a shift."""
    number = [["", -1.5, 2.5][i % 3] for i in range(60)]
    word = [["", "a", "b"][i % 3] for i in range(60)]
    frame = pd.DataFrame({"number": pd.Series(number, dtype=object), "word": word})
    given = TableSchema(
        [ColumnSchema("number", **known), ColumnSchema("word", "categorical", levels=("a", "b"))]
    )
    for table in ({"number": number, "word": word}, frame):
        schema = hld.learn_schema(table, given=given)
        assert [column.num_missing for column in schema.columns] == [20, 20]
        report = schema.encoder().encode(table)[1]
        assert report.num_missing.tolist() == [20, 20]
    assert hld.learn_schema(frame)["word"].num_missing == 0


@pytest.mark.parametrize(
    ("known", "said"),
    [
        (
            {"levels": (1, 2)},
            "`levels` of column 'a' of the schema needs a `kind` out of 'categorical', .*, found None",
        ),
        (
            {"kind": "continuous", "levels": (1, 2)},
            "`levels` of column 'a' .* found 'continuous': give one, or leave",
        ),
        (
            {"edges": (1.5,)},
            "`edges` of column 'a' of the schema needs a `kind` out of 'continuous', .*, found None",
        ),
        ({"kind": "integer", "edges": (1.5,)}, "`edges` of column 'a' .* found 'integer'"),
        ({"kind": "categorical", "high": 1.5}, "`high` of column 'a' .* found 'categorical'"),
    ],
)
def test_what_a_schema_says_is_used_or_refused(known, said):
    with pytest.raises(ValueError, match=said):
        hld.learn_schema({"a": [1, 2, 3, 1]}, given=TableSchema([ColumnSchema("a", **known)]))


def test_a_given_range_is_kept_where_edges_are_learned():
    numbers = {"a": np.linspace(2, 8, 60), "b": [0, 1] * 30}
    for known, expected in (
        ({"low": 0.0, "high": 10.0}, (0.0, 10.0)),
        ({"high": 10.0}, (2.0, 10.0)),
    ):
        for rows in (None, np.arange(30)):
            found = hld.learn_schema(
                numbers, given=TableSchema([ColumnSchema("a", "continuous", **known)]), rows=rows
            )
            assert (found["a"].low, found["a"].high) == expected
            assert len(found["a"].edges) == 7
    with pytest.raises(ValueError, match="column 'a' has impossible bins"):
        hld.learn_schema(numbers, given=TableSchema([ColumnSchema("a", "continuous", low=5.0)]))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"categorical": ["size"]},
            "`categorical` names the column 'size', which is continuous by the schema",
        ),
        (
            {"continuous": ["kind"]},
            "`continuous` names the column 'kind', which is integer by the schema",
        ),
        (
            {"categorical": ["when"]},
            r"'when', which is left out \(its parts are used\) by the schema: leave it out of",
        ),
    ],
)
def test_a_column_that_is_asked_for_as_what_the_schema_says_it_is_not_is_refused(options, said):
    when = np.arange("2026-01-01", "2026-04-01", dtype="M8[D]")
    table = {"size": np.arange(90) / 7, "kind": np.arange(90) % 3, "when": when}
    given = hld.TableSchema(
        (
            *hld.learn_schema({name: table[name] for name in ("size", "kind")}).columns,
            *hld.calendar_columns("when"),
        )
    )
    with pytest.raises(ValueError, match=said):
        hld.learn_schema(table, given=given, **options)
    same = hld.learn_schema(table, given=given, categorical=["kind"], continuous=["size"])
    assert [one.kind for one in same.columns[:2]] == ["continuous", "integer"]


def test_levels_of_a_given_kind_are_those_of_the_rows_or_of_all_where_these_have_none():
    table = {"a": [1.0, math.nan, 2.0, math.nan] * 5, "b": [0, 1] * 10}
    given = TableSchema([ColumnSchema("a", "integer")])
    for rows, levels in ((None, (1, 2)), (np.array([0, 4]), (1,)), (np.array([1, 3]), (1, 2))):
        assert hld.learn_schema(table, given=given, rows=rows)["a"].levels == levels
        assert (
            hld.learn_schema(table, rows=rows)["a"].levels == levels
        )  # as of a column that nothing was known of


@pytest.mark.parametrize(
    ("cells", "kind", "message"),
    [
        (
            [1.0, math.inf],
            "integer",
            "column 'a' has the levels inf, 1, expected different ones of kind integer",
        ),
        ([2**1023, 2**1024], "integer", "column 'a' .*beyond"),
        (
            [None, math.nan],
            "boolean",
            "column 'a' has the levels , expected different ones of kind boolean, at least one",
        ),
        (
            [1, 2],
            "constant",
            "column 'a' has the levels 1, 2, expected different ones of kind constant, one",
        ),
    ],
)
def test_cells_that_a_given_kind_cannot_have_are_named(cells, kind, message):
    """An infinity had been "cannot convert float infinity to integer"."""
    table = {"a": np.array(cells, dtype=object), "b": [0, 1]}
    with pytest.raises(ValueError, match=message):
        hld.learn_schema(table, given=TableSchema([ColumnSchema("a", kind)]))


@pytest.mark.parametrize(
    ("policy", "levels"), [("keep", (0, 1)), ("missing", (0, 1, 2)), ("refuse", (0, 1, 2))]
)
def test_levels_that_others_must_not_have_are_those_of_all_rows(policy, levels):
    """Else a row of the training table that was not learned from would be refused."""
    table = {"a": [0, 1, 2] * 10, "b": [0, 1] * 15}
    given = TableSchema([ColumnSchema("a", "integer", policy=policy)])
    found = hld.learn_schema(table, given=given, rows=np.array([0, 1, 3]))
    assert (found["a"].levels, found["a"].policy) == (levels, policy)


def test_holes_are_counted_and_not_what_is_there():
    for cells in (
        np.array([math.nan, 2.0, math.nan]),
        np.array(["NaT", "2026-01-01", "NaT"], dtype="M8[D]"),
        np.array(["NaT", 5, "NaT"], dtype="m8[s]"),
        np.array([None, "", math.nan], dtype=object),
    ):
        cells = column_cells(cells)
        assert (count_missing(cells), count_missing(cells[1:2])) == (2, 0)
    for cells in (np.array(["", "a", ""]), np.array(["", 1, None], dtype=object)):
        assert count_missing(column_cells(cells), has_empty=True) == 2


@pytest.mark.parametrize(
    ("cells", "error", "message"),
    [
        (
            ["2026-01-01", "2026-01-02", "unknown"],
            TypeError,
            "holds 'unknown', expected a date, as the schema says",
        ),
        ([datetime.date(2026, 1, 1), 3], TypeError, "holds 3, expected a date, as the schema says"),
        ([1, 2], TypeError, "holds 1, expected a date, as the schema says"),
    ],
)
def test_columns_that_the_schema_calls_dates_are_not_asked_for_numbers(cells, error, message):
    """'2026-01-01' was said to be text where numbers were expected."""
    with pytest.raises(error, match=message):
        hld.learn_schema({"x": cells}, given=hld.TableSchema([hld.ColumnSchema("x", "date")]))


def test_who_leaves_all_columns_out_is_told_how_to_keep_one():
    """By a schema without a note it was "left out ()", and the options that were named refuse such a column."""
    table, out = {"a": [1, 2, 3], "b": list(range(100, 103))}, [ColumnSchema("a", "left out")]
    with pytest.raises(
        ValueError, match=r"'a' is left out \(as the schema says\); keep one in the schema"
    ):
        hld.learn_schema(table, given=TableSchema([*out, ColumnSchema("b", "left out")]))
    numbers = {"a": [1, 2] * 60, "b": list(range(120))}
    with pytest.raises(
        ValueError, match=r"'b' is left out \(row numbers: .*\); name columns in `categorical` or"
    ):
        hld.learn_schema(numbers, given=TableSchema(out))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([f"id {i}" for i in range(200)], "left out"),
        ([f"id {i % 190}" for i in range(200)], "left out"),  # 180 of 200 occur in one row only
        ([f"id {i % 150}" for i in range(200)], "categorical"),
        ([f"id {i}" for i in range(60)], "categorical"),  # few enough to be kept
        (list(range(1000, 1200)), "left out"),
        (list(range(200))[::-1], "left out"),
        (np.random.default_rng(0).permutation(200).tolist(), "left out"),
        ((np.random.default_rng(0).permutation(200) * 7 % 1000).tolist(), "continuous"),
        (np.linspace(0, 1, 200).tolist(), "continuous"),
        (list(range(90)), "continuous"),
    ],
)
def test_columns_that_tell_rows_apart_are_left_out(values, kind):
    table = pd.DataFrame({"x": values, "y": np.arange(len(values)) % 2})
    schema = hld.learn_schema(table)
    assert schema["x"].kind == kind
    asked = hld.learn_schema(table, categorical=["x"])
    assert asked["x"].kind == "categorical"
    assert (schema["x"].note == "") == (kind != "left out")


def note(values):
    """What is said of a column that is fitted by itself."""
    values = column_cells(values)
    return identifier_note(
        "x", values, fit_column("x", values, None, num_bins=8, max_categories=64)
    )


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        (range(100), "in the order of the rows"),
        (range(500, 0, -3), "in the order of the rows"),
        (range(99), ""),
        ([*range(100, 199), 198], ""),
        ([*range(500, 200, -3), 203], ""),
        ([*range(0, 300, 3), 297], ""),  # one twice
        ([0, *range(2, 100), 1, 100], "in the order of the rows"),
        ([0, *range(2, 100), 1, 101], ""),
        ([-(2**63), *range(98), 2**63 - 1], "in the order of the rows"),
        ([-(2**63), *range(98, 0, -1), 2**63 - 1], ""),
    ],
)
@pytest.mark.parametrize("dtype", [np.int64, object])
def test_row_numbers_are_ascending_descending_or_without_a_gap(numbers, words, dtype):
    """Objects, as lists of rows with a text in them hold, had been cut into bins."""
    found = note(np.array(list(map(int, numbers)), dtype=dtype))
    assert words in found
    assert (found == "") == (words == "")


def test_numbers_that_are_not_whole_number_no_rows():
    for cells in ([*range(199), None], [True, *range(2, 201)], [*range(199), 200.0]):
        assert note(np.array(cells, dtype=object)) == ""
    assert note(np.arange(200.0)) == ""
    table = [[i, "ab"[i % 2], 0.5] for i in range(200)]
    assert [column.name for column in hld.learn_schema(table).left_out] == ["x0"]


def test_a_note_says_how_many_values_occur_once_and_how_many_read_as_numbers():
    words = [f"w{i}" for i in range(90)] + ["often"] * 10
    assert note(words) == "nearly unique: 90 of 100 values occur in one row only"
    assert note([*words, "often"]) == ""  # 90 of 101 are less than nine in ten
    assert note(np.array([*words, None, None], object)) == note(words)
    numbers = [f"{i},5" for i in range(51)]
    assert (
        note(words[:49] + numbers)
        == f"{AS_TEXT}: 51 of 100 values read as numbers, 100 occur in one row only"
    )
    assert (
        note(words[:50] + numbers[:50]) == "nearly unique: 100 of 100 values occur in one row only"
    )
