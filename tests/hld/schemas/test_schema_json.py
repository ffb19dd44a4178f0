"""Schemas as plain JSON and back: what is written, and what is refused, where it is and in which words."""
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import TEXT

from hld.schemas.schema import ColumnSchema, TableSchema

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
