"""The encoder as JSON: exact round trips, and refusal of whatever is not an encoder."""

import datetime
import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import ROWS, TEXT, codes_of, column, form, objects

import hld
from hld.schemas.encoder import TableEncoder, fit_encoder
from hld.tables.calendar import Derived
from pcircuit.files.archive import read_archive, write_archive

# Round trips


@given(ROWS)
def test_json_round_trip(rows):
    encoder = fit_encoder(objects(rows), num_bins=3, max_categories=4)
    again = TableEncoder.from_dict(json.loads(form(encoder)))
    assert again == encoder
    assert form(again) == form(encoder)
    assert np.array_equal(again.encode(objects(rows))[0], encoder.encode(objects(rows))[0])


def test_json_round_trip_keeps_types_and_bits():
    cells = column("1", 1, True, 0.1, 1e-310, -math.inf, math.inf, 2**64, "\ud800 \n", False, 3.0)
    encoder = fit_encoder(cells, categorical=[0])
    again = TableEncoder.from_dict(json.loads(form(encoder)))
    levels = (False, -math.inf, 1e-310, 0.1, 3.0, math.inf, 1, 2**64, "1", "\ud800 \n")
    assert again.columns[0].levels == levels
    assert list(map(type, again.columns[0].levels)) == list(map(type, encoder.columns[0].levels))
    assert codes_of(again, cells) == codes_of(encoder, cells)
    assert again.names == ("x0",)


@pytest.mark.parametrize("unit", ["M8[s]", "m8[s]", "time"])
@pytest.mark.parametrize("policy", ["keep", "missing", "refuse"])
def test_columns_of_times_and_policies_come_back(unit, policy):
    seconds = np.random.default_rng(0).integers(0, 80_000, 200)
    cells = [
        (datetime.datetime.min + datetime.timedelta(seconds=s)).time() for s in seconds.tolist()
    ]
    table = {"when": cells if unit == "time" else seconds.astype(unit), "word": ["a", "b"] * 100}
    fitted = fit_encoder(table)
    encoder = replace(fitted, columns=tuple(replace(one, unseen=policy) for one in fitted.columns))
    again = TableEncoder.from_dict(json.loads(form(encoder)))
    assert again == encoder
    assert {one.unseen for one in again.columns} == {policy}
    np.testing.assert_array_equal(again.encode(table)[0], encoder.encode(table)[0])


@pytest.mark.parametrize(
    "level",
    [
        2**63,
        2**64 - 1,
        2**64,
        10**20 - 1,
        10**20,
        -(10**19),
        -(10**19) + 1,
        1234567890123456789012345678901234567890,
        2**1023,
        2**1024 - 2**970 - 1,
        -(2**1024) + 2**970 + 2,
    ],
)
def test_whole_numbers_of_any_length_come_back(level, tmp_path):
    cells = column("1", level, level - 1, 0)
    encoder = fit_encoder(cells, categorical=[0])
    write_archive(tmp_path / "a", {"format": "x", "version": 1, "encoder": encoder.to_dict()}, {})
    again = TableEncoder.from_dict(read_archive(tmp_path / "a", "x", 1)[0]["encoder"])
    assert again == encoder
    assert set(again.columns[0].levels) == {"1", level, level - 1, 0}
    assert codes_of(again, cells) == codes_of(encoder, cells)


def test_whole_numbers_beyond_float64_are_refused_when_fitting():
    for level in (2**1024, -(2**1024), 10**5000):
        with pytest.raises(
            ValueError, match="column 'x0' holds a number beyond the range of double precision"
        ):
            fit_encoder(column("1", level), categorical=[0])


# Damaged and hostile dictionaries

LEVELS = {
    "name": "a",
    "kind": "categorical",
    "levels": [["str", "x"]],
    "merged": False,
    "rare": "YWFhYWFhYWE=",
}
BINS = {
    "name": "b",
    "kind": "continuous",
    "edges": [(1.0).hex()],
    "low": (0.0).hex(),
    "high": (2.0).hex(),
}
ENCODER = {"format": "hld table encoder", "version": 2, "by_name": True, "columns": [LEVELS, BINS]}


def test_the_plain_dictionary_is_accepted():
    assert TableEncoder.from_dict(ENCODER).num_categories == (3, 2)
    assert TableEncoder.from_dict(ENCODER).to_dict() == ENCODER


@pytest.mark.parametrize("merged", [False, True])
def test_the_first_version_is_still_read(merged):
    first = {key: value for key, value in LEVELS.items() if key != "rare"}
    encoder = TableEncoder.from_dict(
        {**ENCODER, "version": 1, "columns": [{**first, "merged": merged}, BINS]}
    )
    assert encoder.num_categories == (2, 2)
    assert encoder.columns[0].merged is merged
    assert codes_of(encoder, objects([("x", 0.0), ("y", 3.0)])) == [0, 1]
    with pytest.raises(ValueError, match="expected an object with the keys"):
        TableEncoder.from_dict({**ENCODER, "version": 1})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "format 'other'"),
        ({"version": 3}, "version 3, expected .* and at most 2"),
        ({"version": True}, "version True"),
        ({"version": [1]}, "version"),
        ({"version": 1.0}, "version 1.0"),
        ({"by_name": 1}, "by_name of type int"),
        ({"columns": {}}, "columns of type dict"),
        ({"columns": []}, "`columns` are 0 with"),
        ({"more": 1}, "expected an object with the keys"),
        ({"columns": [LEVELS, LEVELS]}, "`columns` are 2 with 1 distinct names"),
    ],
)
def test_damaged_encoders_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        TableEncoder.from_dict({**ENCODER, **change})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": 3}, "name 3"),
        ({"kind": ["x"]}, r"kind \['x'\]"),
        ({"kind": "odd"}, "kind 'odd', expected one of"),
        ({"levels": "x"}, "no list"),
        ({"merged": 0}, "merged 0"),
        ({"levels": [["str"]]}, "expected a pair"),
        ({"levels": ["ab"]}, "expected a pair"),
        ({"levels": [["int", True]]}, "value of the type it names"),
        ({"levels": [["str", 1]]}, "value of the type it names"),
        ({"levels": [["list", []]]}, "expected a pair"),
        ({"levels": [["float", 0.5]]}, "number in hexadecimal"),
        ({"levels": [["float", "nan"]]}, "does not allow"),
        ({"levels": [["float", "0x1p+9999"]]}, "number in hexadecimal"),
        ({"levels": [["int", 2**5000]]}, "5001 bits"),
        ({"levels": [["int", "0x1" + "0" * 256]]}, "value of the type it names"),
        ({"levels": [["int", "12"]]}, "value of the type it names"),
        ({"levels": [["int", "0x_1"]]}, "value of the type it names"),
        ({"levels": [["float", "0x1p+0"], ["int", "0x1"]]}, "repeated or unsorted"),
        ({"levels": [["str", "b"], ["str", "a"]]}, "repeated or unsorted"),
        ({"levels": [["bool", True], ["int", 1]]}, "repeated or unsorted"),
        ({"kind": "boolean"}, "kind boolean does not allow"),
        ({"kind": "integer", "levels": []}, "expected some levels"),
        ({"kind": "integer", "levels": [["int", 1]], "merged": True}, "merged = True"),
        ({"kind": "constant", "levels": [["int", 1], ["int", 2]]}, "expected one level"),
        ({"kind": "continuous"}, "keys"),
        ({"unseen": "odd"}, "odd"),
        ({"unseen": None}, "None"),
        ({"unseen": []}, r"\[\]"),
        ({"rare": "x"}, "digests in base 64"),
        ({"rare": 3}, "digests in base 64"),
        ({"rare": None}, "digests in base 64"),
        ({"rare": "YWFh"}, "impossible digests"),
        ({"rare": "YWFhYWFhYWE=", "merged": True}, "impossible digests"),
    ],
)
def test_damaged_columns_of_levels_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        TableEncoder.from_dict({**ENCODER, "columns": [BINS, {**LEVELS, "rare": "", **change}]})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"edges": ["0x1p+0", "0x1p+0"]}, "impossible bins"),
        ({"edges": ["0x1p+2"]}, "impossible bins"),
        ({"edges": ["0x0p+0"]}, "impossible bins"),
        ({"low": "nan"}, "impossible bins"),
        ({"high": "inf"}, "impossible"),
        ({"edges": [], "high": "-0x1p+0"}, "impossible"),
        ({"edges": [1.5]}, "hexadecimal"),
        ({"edges": None}, "no list"),
        ({"low": None}, "hexadecimal"),
        ({"high": "1e5x"}, "hexadecimal"),
        ({"kind": "categorical"}, "keys"),
    ],
)
def test_damaged_continuous_columns_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        TableEncoder.from_dict({**ENCODER, "columns": [LEVELS, {**BINS, **change}]})


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | TEXT
    | st.sampled_from(["continuous", "categorical", "float", "str", "0x1p+0", "nan"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


@given(st.data())
def test_hostile_dictionaries_raise_value_errors_only(data):
    damaged = json.loads(json.dumps(ENCODER))
    place = data.draw(st.sampled_from([damaged, *damaged["columns"]]))
    place[data.draw(st.sampled_from(sorted(place)))] = data.draw(JSON)
    for hostile in (damaged, data.draw(JSON)):
        try:
            encoder = TableEncoder.from_dict(hostile)
        except ValueError:
            continue
        assert form(TableEncoder.from_dict(encoder.to_dict())) == form(encoder)


# Columns that are not among those of the encoder

WIDER = {
    **ENCODER,
    "columns": [LEVELS, {**LEVELS, "name": "when weekday"}],
    "table_names": ["id", "a", "when"],
    "derived": [{"name": "when weekday", "source": "when", "part": "weekday"}],
    "optional": ["day"],
}


def test_columns_that_were_left_out_or_derived_are_kept():
    """What was read from the dictionary had refused the table that the encoder was fitted to, or called them new."""
    encoder = TableEncoder.from_dict(json.loads(json.dumps(WIDER)))
    assert encoder.to_dict() == WIDER
    assert (encoder.table_names, encoder.optional) == (("id", "a", "when"), ("day",))
    assert encoder.derived == (Derived("when weekday", "when", "weekday"),)
    table = pd.DataFrame(
        {
            "id": range(99),
            "a": ["x", "y", "z"] * 33,
            "when": pd.date_range("2026-01-01", periods=99),
        }
    )
    own = hld.learn_schema(table, given=hld.TableSchema(hld.calendar_columns("when"))).encoder()
    again = TableEncoder.from_dict(json.loads(json.dumps(own.to_dict())))
    assert again == own
    np.testing.assert_array_equal(again.encode(table)[0], own.encode(table)[0])
    assert again.check(table)[1].extra == own.check(table)[1].extra == ()


@pytest.mark.parametrize(
    "change",
    [
        {"table_names": ["id"]},
        {"table_names": "id"},
        {"table_names": ["a", "a"]},
        {"table_names": ["a", 1]},
        {"optional": [None]},
        {"optional": {}},
        {"derived": {}},
        {"derived": [3]},
        {"derived": [{}]},
        {"derived": [{"name": "b", "source": "when", "part": "weekday"}]},
        {"derived": [{"name": "a", "source": 1, "part": "weekday"}]},
        {"derived": [{"name": "a", "source": "when", "part": "second"}]},
        {"derived": [{"name": ["a"], "source": "when", "part": ["second"]}]},
    ],
)
def test_damaged_lists_of_other_columns_are_refused(change):
    with pytest.raises(
        ValueError, match=r"the encoder has (table_names|optional|derived columns) .*, expected "
    ):
        TableEncoder.from_dict({**WIDER, **change})
