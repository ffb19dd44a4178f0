"""Schemas: learned, printed, changed, written by hand and read back; hostile ones are refused."""
import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import ROWS, TEXT, column, objects

import hld
from hld.schemas.learn_schema import count_missing
from hld.schemas.schema import ColumnSchema, TableSchema

# Learning


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


@pytest.mark.parametrize(("values", "kind"), [
    ([f"id {i}" for i in range(200)], "left out"),
    ([f"id {i % 190}" for i in range(200)], "left out"),            # 180 of 200 occur in one row only
    ([f"id {i % 150}" for i in range(200)], "categorical"),
    ([f"id {i}" for i in range(60)], "categorical"),                # few enough to be kept
    (list(range(1000, 1200)), "left out"), (list(range(200))[::-1], "left out"),
    (np.random.default_rng(0).permutation(200).tolist(), "left out"),
    ((np.random.default_rng(0).permutation(200) * 7 % 1000).tolist(), "continuous"),
    (np.linspace(0, 1, 200).tolist(), "continuous"), (list(range(90)), "continuous"),
])
def test_columns_that_tell_rows_apart_are_left_out(values, kind):
    table = pd.DataFrame({"x": values, "y": np.arange(len(values)) % 2})
    schema = hld.learn_schema(table)
    assert schema["x"].kind == kind
    asked = hld.learn_schema(table, categorical=["x"])
    assert asked["x"].kind == "categorical"
    assert (schema["x"].note == "") == (kind != "left out")


def test_a_table_of_identifiers_alone_has_nothing_to_learn():
    with pytest.raises(ValueError, match=r"no column to learn from: 'x0' is left out \(nearly unique"):
        hld.learn_schema(column(*[f"id {i}" for i in range(200)]))


def test_missing_cells_are_counted_in_every_type():
    for values, count in ((np.array([1.0, np.nan]), 1), (np.array([1, 2]), 0), (np.array([True]), 0),
                          (np.array(["NaT", "2020-01-01"], dtype="M8[D]"), 1), (np.array(["a", ""]), 0),
                          (np.array([None, pd.NA, pd.NaT, math.nan, 0], dtype=object), 4)):
        assert count_missing(values) == count


# Changing and writing by hand


def test_changes_make_another_schema():
    schema = hld.learn_schema([[i % 3, i / 7, "ab"[i % 2]] for i in range(40)], names=["n", "x", "w"])
    other = schema.replace("n", levels=(0, 1)).replace("x", kind="categorical").replace("w", policy="refuse")
    assert schema["n"].levels == (0, 1, 2)
    assert (other["n"].levels, other["x"].levels, other["w"].policy) == ((0, 1), None, "refuse")
    with pytest.raises(ValueError, match="`levels` or `edges` of 'x' are still to be learned"):
        other.encoder()
    learned = hld.learn_schema([[i % 3, i / 7, "ab"[i % 2]] for i in range(40)], names=["n", "x", "w"], given=other)
    assert (learned["n"].levels, learned["x"].kind, learned["w"].policy) == ((0, 1), "categorical", "refuse")
    assert len(learned["x"].levels) == 40
    with pytest.raises(KeyError, match="no column 'z', expected one of n, x, w"):
        schema.replace("z", kind="date")


@pytest.mark.parametrize(("known", "kind", "part"), [
    ({"kind": "integer"}, "integer", ("levels", tuple(range(100)))),
    ({"kind": "continuous", "edges": (10, 50)}, "continuous", ("low", 0.0)),
    ({"kind": "continuous", "edges": (-5,)}, "continuous", ("low", math.nextafter(-5, -math.inf))),
    ({"kind": "categorical", "levels": (1, 2)}, "categorical", ("levels", (1, 2))),
    ({"policy": "missing"}, "continuous", ("policy", "missing")), ({"kind": "left out"}, "left out", ("levels", None)),
])
def test_what_a_schema_leaves_open_is_learned(known, kind, part):
    rows = np.random.default_rng(0).permutation(100).tolist() * 2
    schema = hld.learn_schema({"x": rows, "y": [0, 1] * 100}, given=TableSchema([ColumnSchema("x", **known)]))
    assert schema["x"].kind == kind
    assert getattr(schema["x"], part[0]) == part[1]


@pytest.mark.parametrize(("make", "error", "message"), [
    (lambda: ColumnSchema(3), TypeError, "`name` of a column must be text"),
    (lambda: ColumnSchema("a", "odd"), ValueError, "`kind` of column 'a' must be one of 'categorical'"),
    (lambda: ColumnSchema("a", policy="drop"), ValueError, "`policy` of column 'a' must be one of 'keep'"),
    (lambda: ColumnSchema("a", "categorical", levels="ab"), TypeError, "`levels` of column 'a' must be a sequence"),
    (lambda: TableSchema([]), ValueError, "must have distinct names"),
    (lambda: TableSchema([ColumnSchema("a"), ColumnSchema("a")]), ValueError, "must have distinct names"),
    (lambda: TableSchema(["a"]), TypeError, "must be of ColumnSchema"),
    (lambda: hld.learn_schema([["x"], ["y"]], names=["a"], given=TableSchema([ColumnSchema("a", "date")])),
     TypeError, "column 'a' holds text"),
    (lambda: hld.learn_schema([[0.5], [0.7]], names=["a"], given=TableSchema([ColumnSchema("a", "boolean")])),
     ValueError, "kind boolean does not allow"),
    (lambda: hld.learn_schema([[0.5], [0.7]], names=["a"], given=TableSchema([ColumnSchema("a", "duration")])),
     ValueError, "is continuous, and the schema says duration"),
])
def test_what_cannot_be_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


# JSON

SCHEMA = {"format": "hld table schema", "version": 1, "by_name": True, "num_rows": 9, "columns": [
    {"name": "a", "kind": "categorical", "levels": ["x", 2], "missing": 1},
    {"name": "b", "kind": "continuous", "edges": [1.0], "low": 0.0, "high": 2.0, "missing": 0, "unseen": "missing"},
    {"name": "c", "kind": "left out", "note": "row numbers"}]}


def test_a_schema_is_plain_json():
    schema = TableSchema.from_dict(SCHEMA)
    assert schema.to_dict() == SCHEMA
    assert schema.trained == (9, (1, 0))
    assert [one.name for one in schema.left_out] == ["c"]
    assert TableSchema(schema.columns).trained is None                          # nobody knows of how many rows
    assert TableSchema([ColumnSchema("a", "integer", levels=(1, 2))], num_rows=9).trained is None  # or of which cells
    extremes = (2 ** 70, -(2 ** 80), math.inf, -math.inf, 0.1, 1e-310, "\ud800", True)
    odd = TableSchema([ColumnSchema("a", "categorical", levels=extremes)])
    text = json.dumps(odd.to_dict(), allow_nan=False)
    assert TableSchema.from_dict(json.loads(text)) == odd


@pytest.mark.parametrize(("change", "message"), [
    ({"format": "other"}, "format 'other'"), ({"version": 2}, "version 2"), ({"version": True}, "version True"),
    ({"columns": {}}, "list of columns"), ({"columns": []}, "distinct names"), ({"more": 1}, "expected an object"),
    ({"num_rows": 0}, "num_rows of the schema must be a whole number"), ({"by_name": 1}, "true or false"),
    ({"columns": [{"kind": "date"}]}, "an object with a name"),
    ({"columns": [{"name": "a", "kind": "odd"}]}, "must be one of"),
    ({"columns": [{"name": "a", "missing": 10}]}, "more missing cells than there are rows"),
    ({"columns": [{"name": "a", "missing": -1}]}, "at least 0"),
    ({"columns": [{"name": "a", "levels": [None]}]}, "must hold text, numbers"),
    ({"columns": [{"name": "a", "levels": [{"int": "7"}]}]}, "must hold text, numbers"),
    ({"columns": [{"name": "a", "edges": ["1"]}]}, "must be a finite number"),
    ({"columns": [{"name": "a", "edges": [math.nan]}]}, "must be a finite number"),
    ({"columns": [{"name": "a", "rare": "?"}]}, "digests in base 64"),
    ({"columns": [{"name": "a", "kind": "continuous", "edges": [2.0, 1.0], "low": 0, "high": 3}]}, "impossible bins"),
    ({"columns": [{"name": "a", "kind": "integer", "levels": ["x"]}]}, "kind integer does not allow"),
])
def test_damaged_schemas_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        TableSchema.from_dict({**SCHEMA, **change})


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | TEXT | st.sampled_from(
    ["continuous", "categorical", "left out", "date", "keep"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=6)


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


def test_columns_that_were_left_out_of_the_table_already_are_kept_as_such():
    """A batch may have what the user dropped before learning, and nothing is said of it."""
    rng = np.random.default_rng(0)
    table = {"a": rng.integers(0, 3, 60), "b": rng.integers(0, 2, 60)}
    schema = hld.TableSchema((hld.ColumnSchema("secret", "left out", note="dropped"),))
    learned = hld.learn_schema(table, given=schema)
    assert [column.name for column in learned.left_out] == ["secret"]
    assert learned.check(table | {"secret": rng.integers(0, 9, 60)}).extra == ()
    assert learned.check(table | {"other": rng.integers(0, 9, 60)}).extra == ("other",)
    assert hld.learn_schema(np.column_stack(list(table.values())), given=schema).left_out == ()    # no names
    assert learned.table_names == ("a", "b")
    assert TableSchema.from_dict(json.loads(json.dumps(learned.to_dict()))) == learned
    assert learned.to_dict()["columns"][-1] == {"name": "secret", "kind": "left out", "note": "dropped",
                                                "optional": True}
    assert learned.encoder().encode(table | {"secret": np.zeros(60)})[0].shape == (60, 2)
    with pytest.raises(ValueError, match="`optional` is for columns that are left out, found it for 'a'"):
        ColumnSchema("a", "integer", optional=True)


@pytest.mark.parametrize("known", [
    {}, {"kind": "continuous", "edges": (0.0,)}, {"kind": "continuous", "edges": (0.0,), "low": -9.0, "high": 9.0}])
def test_empty_texts_that_are_no_level_are_missing_in_training(known):
    """They are missing in a batch: if training had not counted them, every batch like it would be a shift."""
    number = [["", -1.5, 2.5][i % 3] for i in range(60)]
    word = [["", "a", "b"][i % 3] for i in range(60)]
    frame = pd.DataFrame({"number": pd.Series(number, dtype=object), "word": word})
    given = TableSchema([ColumnSchema("number", **known), ColumnSchema("word", "categorical", levels=("a", "b"))])
    for table in ({"number": number, "word": word}, frame):
        schema = hld.learn_schema(table, given=given)
        assert [column.num_missing for column in schema.columns] == [20, 20]
        report = schema.encoder().encode(table)[1]
        assert report.num_missing.tolist() == [20, 20]
    assert hld.learn_schema(frame)["word"].num_missing == 0


@pytest.mark.parametrize(("known", "said"), [
    ({"levels": (1, 2)}, "`levels` of column 'a' of the schema needs a `kind` out of 'categorical', .*, found None"),
    ({"kind": "continuous", "levels": (1, 2)}, "`levels` of column 'a' .* found 'continuous': give one, or leave"),
    ({"edges": (1.5,)}, "`edges` of column 'a' of the schema needs a `kind` out of 'continuous', .*, found None"),
    ({"kind": "integer", "edges": (1.5,)}, "`edges` of column 'a' .* found 'integer'"),
    ({"kind": "categorical", "high": 1.5}, "`high` of column 'a' .* found 'categorical'")])
def test_what_a_schema_says_is_used_or_refused(known, said):
    with pytest.raises(ValueError, match=said):
        hld.learn_schema({"a": [1, 2, 3, 1]}, given=TableSchema([ColumnSchema("a", **known)]))


def test_a_given_range_is_kept_where_edges_are_learned():
    numbers = {"a": np.linspace(2, 8, 60), "b": [0, 1] * 30}
    for known, expected in (({"low": 0.0, "high": 10.0}, (0.0, 10.0)), ({"high": 10.0}, (2.0, 10.0))):
        for rows in (None, np.arange(30)):
            found = hld.learn_schema(numbers, given=TableSchema([ColumnSchema("a", "continuous", **known)]), rows=rows)
            assert (found["a"].low, found["a"].high) == expected
            assert len(found["a"].edges) == 7
    with pytest.raises(ValueError, match="column 'a' of the encoder has impossible bins"):
        hld.learn_schema(numbers, given=TableSchema([ColumnSchema("a", "continuous", low=5.0)]))


def test_edges_that_are_texts_are_times():
    """Others had been years, and an empty one a number of 14 digits."""
    assert ColumnSchema("a", "date", edges=("31.01.2020", "2020-02-01T12:00Z")).edges == (1580428800.0, 1580558400.0)
    assert ColumnSchema("a", "time", edges=("6:30", "12:00:00.5")).edges == (23400.0, 43200.5)
    assert ColumnSchema("a", "duration", edges=("-1 day, 0:00:00", "36:00")).edges == (-86400.0, 129600.0)
    for kind, edge in (("continuous", "5"), ("date", ""), ("date", "NaT"), ("date", "2020"), ("time", "x"), (None, "")):
        with pytest.raises(ValueError, match=f"`edges` of column 'a' must be numbers, or texts of times .* {edge!r}"):
            ColumnSchema("a", kind, edges=(edge,))


@pytest.mark.parametrize(("options", "said"), [
    ({"categorical": ["size"]}, "`categorical` names the column 'size', which is continuous by the schema"),
    ({"continuous": ["kind"]}, "`continuous` names the column 'kind', which is integer by the schema"),
    ({"categorical": ["when"]}, r"'when', which is left out \(its parts are used\) by the schema: leave it out of")])
def test_a_column_that_is_asked_for_as_what_the_schema_says_it_is_not_is_refused(options, said):
    when = np.arange("2026-01-01", "2026-04-01", dtype="M8[D]")
    table = {"size": np.arange(90) / 7, "kind": np.arange(90) % 3, "when": when}
    given = hld.TableSchema((*hld.learn_schema({name: table[name] for name in ("size", "kind")}).columns,
                             *hld.calendar_columns("when")))
    with pytest.raises(ValueError, match=said):
        hld.learn_schema(table, given=given, **options)
    same = hld.learn_schema(table, given=given, categorical=["kind"], continuous=["size"])
    assert [one.kind for one in same.columns[:2]] == ["continuous", "integer"]
