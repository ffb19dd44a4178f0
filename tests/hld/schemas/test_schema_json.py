"""Schemas as plain JSON and back: what is written, and what is refused, where it is and in which words."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import TEXT

from hld.schemas.schema import ColumnSchema, TableSchema
from hld.schemas.schema_json import column_form, read_schema

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
    assert schema.to_dict() == SCHEMA
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
        ({"num_rows": 0}, "num_rows of the schema must be a whole number"),
        ({"by_name": 1}, "true or false"),
        ({"columns": [{"kind": "date"}]}, "an object with a name"),
        ({"columns": [{"name": "a", "kind": "odd"}]}, "must be one of"),
        ({"columns": [{"name": "a", "missing": 10}]}, "more missing cells than there are rows"),
        ({"columns": [{"name": "a", "missing": -1}]}, "at least 0"),
        ({"columns": [{"name": "a", "levels": [None]}]}, "must hold text, numbers"),
        ({"columns": [{"name": "a", "levels": [{"int": "7"}]}]}, "must hold text, numbers"),
        ({"columns": [{"name": "a", "edges": ["1"]}]}, "must be a finite number"),
        ({"columns": [{"name": "a", "edges": [math.nan]}]}, "must be a finite number"),
        ({"columns": [{"name": "a", "rare": "?"}]}, "digests in base 64"),
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
            "kind integer does not allow",
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


def test_what_is_the_default_is_not_written():
    assert column_form(ColumnSchema("a")) == {"name": "a"}
    assert column_form(ColumnSchema("a", "boolean", levels=(False, True), num_missing=0)) == {
        "name": "a",
        "kind": "boolean",
        "levels": [False, True],
        "missing": 0,
    }
    assert column_form(ColumnSchema("a", "left out", note="dropped", optional=True)) == {
        "name": "a",
        "kind": "left out",
        "note": "dropped",
        "optional": True,
    }
    assert read_schema(
        {"format": "hld table schema", "version": 1, "columns": [{"name": "a"}]}
    ) == (True, None, [{"name": "a"}])
    all_missing = {**SCHEMA, "columns": [{"name": "a", "missing": 9}]}
    assert read_schema(all_missing) == (True, 9, [{"name": "a", "num_missing": 9}])


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
    column = ColumnSchema("a", "categorical", levels=(level,))
    assert column_form(column)["levels"] == [written]
    assert type(column_form(column)["levels"][0]) is type(written)
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
    with pytest.raises(
        ValueError, match=r"levels of columns\[0\] of the schema must hold text, numbers"
    ):
        read_schema({**SCHEMA, "columns": [{"name": "a", "levels": [level]}]})


def test_every_bit_of_a_number_and_every_digest_comes_back():
    edges = (-0.0, 5e-324, 0.1, 1 / 3, 2.0**53 + 2)
    columns = (
        ColumnSchema("a", "continuous", edges=edges, low=-1e308, high=1.7e308, policy="refuse"),
        ColumnSchema(
            "b", "categorical", levels=("x",), rare=bytes(range(8)) + b"\xff" * 8, num_missing=2
        ),
    )
    form = json.loads(json.dumps(TableSchema(columns, 5, False).to_dict()))
    assert (form["columns"][0]["unseen"], form["columns"][1]["rare"]) == (
        "refuse",
        "AAECAwQFBgf//////////w==",
    )
    found = TableSchema.from_dict(form)
    assert found == TableSchema(columns, 5, False)
    assert [edge.hex() for edge in found["a"].edges] == [edge.hex() for edge in edges]
