"""Learning a schema: as the encoder is fitted, with what is known of it, and counting what is missing."""

import datetime
import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from tables import ROWS, column, objects

import hld
from hld.schemas.columns import fit_column
from hld.schemas.learn_schema import AS_TEXT, count_missing, identifier_note
from hld.schemas.schema import ColumnSchema, TableSchema


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


def test_a_table_of_identifiers_alone_has_nothing_to_learn():
    with pytest.raises(
        ValueError, match=r"no column to learn from: 'x0' is left out \(nearly unique"
    ):
        hld.learn_schema(column(*[f"id {i}" for i in range(200)]))


def test_missing_cells_are_counted_in_every_type():
    for values, count in (
        (np.array([1.0, np.nan]), 1),
        (np.array([1, 2]), 0),
        (np.array([True]), 0),
        (np.array(["NaT", "2020-01-01"], dtype="M8[D]"), 1),
        (np.array(["a", ""]), 0),
        (np.array([None, pd.NA, pd.NaT, math.nan, 0], dtype=object), 4),
    ):
        assert count_missing(values) == count


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
    with pytest.raises(ValueError, match="column 'a' of the encoder has impossible bins"):
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
            "column 'a' .* has level inf, which kind integer does not allow",
        ),
        ([1.0, 1.5], "integer", "column 'a' .* has level 1.5, which kind integer does not allow"),
        ([2**1023, 2**1024], "integer", "column 'a' .*beyond"),
        (
            [None, math.nan],
            "boolean",
            "`table` column 'a' holds no value, expected some: the schema says boolean",
        ),
        ([1, 2], "constant", "column 'a' .* has 2 levels .* expected one level"),
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
        assert (count_missing(cells), count_missing(cells[1:2])) == (2, 0)
    for cells in (np.array(["", "a", ""]), np.array(["", 1, None], dtype=object)):
        assert count_missing(cells, has_empty=True) == 2


@pytest.mark.parametrize(
    ("cells", "error", "message"),
    [
        (
            ["2026-01-01"] * 40,
            ValueError,
            "holds a single date, expected two and more to cut between: give `edges`",
        ),
        (
            [datetime.date(2026, 1, 1), None],
            ValueError,
            "holds a single date, expected two and more to cut between",
        ),
        (
            ["2026-01-01", "2026-01-02", "unknown"],
            TypeError,
            "holds 'unknown', expected a date, as the schema says",
        ),
        ([datetime.date(2026, 1, 1), 3], TypeError, "holds 3, expected a date, as the schema says"),
        (["a", "b"], TypeError, "holds 'a', expected a date, as the schema says"),
        ([1, 2], ValueError, "is continuous, and the schema says date"),
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
    values = np.asarray(values)
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
        ([0, *range(2, 100), 1, 100], "all different, without a gap"),
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
