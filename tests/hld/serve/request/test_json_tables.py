"""JSON is counted before it is parsed, parsed in pieces, and refused where it is none."""

import json
import random

import numpy as np
import pytest

import hld
from hld.serve.limits import SPARE_COLUMNS, Limits
from hld.serve.refusals import Refusal
from hld.serve.request import json_tables
from hld.serve.request.json_tables import (
    MOST_DIGITS,
    SPARE_BRACKETS,
    check_text,
    json_chunks,
    marks,
)

ENCODER = hld.fit_encoder([["a", 1], ["b", 2], ["a", 3]])
LIMITS = Limits(max_rows=2000, max_bytes=10_000_000)
MOST = SPARE_COLUMNS + 4


def read(text, limits=LIMITS):
    (columns,) = json_chunks(text if isinstance(text, bytes) else text.encode(), ENCODER, limits)
    return {name: cells.tolist() for name, cells in columns.items()}


def of(items):
    return "[" + ",".join(items) + "]"


@pytest.mark.parametrize(
    ("text", "status", "message"),
    [
        (
            '{"columns": {"x": ' + of(["[]"] * 70_000) + "}}",
            413,
            "the body has 70003 lists and objects",
        ),
        (
            '{"columns": {"x": ' + of(["1"] * 2001) + "}}",
            413,
            "a list or object of 2001 values, expected at most 2000",
        ),
        (
            '{"rows": ' + of(["{}"] * (SPARE_BRACKETS + LIMITS.max_rows + MOST)) + "}",
            413,
            "lists and objects, expected at most 68540: send it in parts",
        ),
        ('{"nothing": ' + of(["7"] * 100_000) + "}", 413, "a list or object of 100000 values"),
        (
            '{"columns": {"x": [' + "9" * (MOST_DIGITS + 1) + "]}}",
            400,
            "a number of 1001 digits, expected at most 1000",
        ),
    ],
)
def test_what_is_too_much_is_not_parsed(monkeypatch, text, status, message):
    monkeypatch.setattr(json_tables, "_Reader", None)
    with pytest.raises(Refusal, match=message) as refused:
        read(text)
    assert (refused.value.status, refused.value.field) == (status, "body")


def test_as_much_as_is_allowed_is_parsed():
    cells = [7] * 2000
    assert read(json.dumps({"columns": {"x": cells, "y": cells}})) == {"x": cells, "y": cells}
    assert read(json.dumps({"rows": [{"x": 7}] * 2000})) == {"x": cells}
    text = ",[{" * 30_000  # in a cell they are letters
    assert read(json.dumps({"rows": [{"x": text}]})) == {"x": [text]}
    assert read(json.dumps({"rows": [{"x": 10 ** (MOST_DIGITS - 1)}]})) == {
        "x": [10 ** (MOST_DIGITS - 1)]
    }


@pytest.mark.parametrize("step", [1, 2, 5, 64])
def test_marks_are_those_of_a_parser(monkeypatch, step):
    """Against a walk over the parsed value, whatever the texts hold and wherever the steps cut."""
    monkeypatch.setattr(json_tables, "STEP", step)
    chance = random.Random(step)
    for _ in range(200):
        value = grown(chance, 4)
        text = json.dumps(value, indent=chance.choice([None, 1]))
        brackets, items, digits = marks(text.encode())
        found = walked(value)
        assert (brackets, digits) == (found[0], found[2]), text
        assert items >= found[1], (
            text
        )  # commas on both sides of a bracket may add up for no list alone


def grown(chance, depth):
    """A value of JSON whose texts look like JSON."""
    kind = chance.randrange(5 if depth else 3)
    if kind == 0:
        return chance.randrange(10 ** chance.randrange(1, 9))
    if kind < 3:
        return "".join(chance.choice('a"\\,[]{}7é') for _ in range(chance.randrange(6)))
    items = [grown(chance, depth - 1) for _ in range(chance.randrange(4))]
    return items if kind == 3 else {f'{i}"{{': item for i, item in enumerate(items)}


def walked(value):
    """Lists and objects, items of the longest list of plain values, digits of the longest number."""
    if not isinstance(value, (list, dict)):
        return 0, 1, len(str(value)) if isinstance(value, int) else 0
    items = list(value.values()) if isinstance(value, dict) else value
    found = [walked(item) for item in items] or [(0, 1, 0)]
    plain = len(items) if not any(isinstance(item, (list, dict)) for item in items) else 1
    brackets, lengths, digits = zip(*found, strict=True)
    return 1 + sum(brackets), max(plain, *lengths), max(digits)


@pytest.mark.parametrize(
    ("text", "field", "message"),
    [
        ("", "body", "the body is not JSON: Expecting value"),
        ("{", "body", "not JSON: Expecting property name"),
        ('{"rows": [{"x": 1}', "body", "not JSON: Expecting ',' or ']'"),
        ('{"rows": [{"x": 1},]}', "rows", "must be a list of objects"),
        ('{"rows": [{"x": 1}]} 2', "body", "not JSON: Extra data"),
        ('{"rows" [{"x": 1}]}', "body", "not JSON: Expecting ':'"),
        ('{"rows": [{"x": tru}]}', "body", "not JSON: Expecting value"),
        ('{"rows": [{"x": 1}], "columns": {"x": [1]}}', "body", "must be a JSON object"),
        ("{}", "body", "must be a JSON object"),
        ('"rows"', "body", "must be a JSON object"),
        ('{"rows": {"x": 1}}', "rows", "must be a list of objects"),
        ('{"rows": [1]}', "rows", "must be a list of objects"),
        ('{"columns": {}}', "columns", "must be an object of lists"),
        ('{"columns": {"x": 1}}', "columns", "must be an object of lists"),
        ('{"columns": {"x": [1], "y": [1, 2]}}', "columns", "lists of different lengths"),
        ('{"columns": {"x": [1], "x": [2]}}', "body", "an object has the name 'x' twice"),
        ('{"rows": [{"x": 1, "x": 2}]}', "body", "an object has the name 'x' twice"),
        ('{"columns": {"x": [NaN]}}', "body", "NaN is no value of JSON"),
        ('{"columns": {"x": [[1]]}}', "body", "column 'x' holds nested values"),
        (
            '{"columns": {"x": ' + "[" * 60_000 + "}}",
            "body",
            "nested too deeply",
        ),  # Python 3.13 parses 9,000
        ('{"rows": [{"x": "é"}]}'.encode("latin-1"), "body", "not text in UTF-8"),
        ('{"rows": [{"x": "é"}]}'.encode("utf-16"), "body", "not text in UTF-8"),
    ],
)
def test_what_is_no_table_is_refused(text, field, message):
    with pytest.raises(Refusal, match=message) as refused:
        read(text)
    assert (refused.value.status, refused.value.field) == (400, field)


def test_blanks_and_the_order_of_cells_do_not_matter():
    rows = [{"x": 1, "y": "a"}, {"y": None}, {"x": 2.5, "y": 'é "[,'}]
    expected = {"x": [1, None, 2.5], "y": ["a", None, 'é "[,']}
    for indent in (None, 2, "\t"):
        assert read(json.dumps({"rows": rows}, indent=indent)) == expected
        assert (
            read("\ufeff \r\n" + json.dumps({"columns": expected}, indent=indent) + "\n")
            == expected
        )


def test_more_rows_and_columns_than_allowed_are_refused():
    few = Limits(max_rows=3)
    for value in ({"rows": [{"x": 1}] * 4}, {"columns": {"x": [1] * 4}}):
        with pytest.raises(Refusal, match="the table has 4 rows, expected at most 3") as refused:
            read(json.dumps(value), few)
        assert refused.value.status == 413
    wide = {str(i): 1 for i in range(MOST + 1)}
    two = [dict(list(wide.items())[:700]), dict(list(wide.items())[700:])]
    for value, message in (
        ({"rows": [wide]}, f"a list or object of {MOST + 1} values, expected at most {MOST}"),
        ({"rows": two}, f"at least {MOST + 1} columns, expected at most {MOST}"),
        ({"columns": {name: [1] for name in wide}}, f"at least {MOST + 1} columns"),
    ):
        with pytest.raises(Refusal, match=message):
            read(json.dumps(value), few)
    with pytest.raises(Refusal, match="more cells than the body has bytes"):
        read(json.dumps({"rows": [{str(i): 1} for i in range(900)]}), Limits(max_bytes=100_000))


@pytest.mark.parametrize(
    "value",
    [
        {"rows": [{"\ud800": 1}]},
        {"rows": [{"x": "a\udfff"}]},
        {"columns": {"x": ["é", "\udc00\ud800"]}},
    ],
)
def test_half_a_character_is_refused(value):
    with pytest.raises(Refusal, match="with half a character") as refused:
        read(json.dumps(value))
    assert (refused.value.status, refused.value.field) == (400, "body")
    refused.value.message.encode()


def test_a_whole_character_in_halves_is_read():
    text = json.dumps({"columns": {"😀": ["😀", "é", None]}})
    assert "\\ud83d" in text
    assert read(text) == {"😀": ["😀", "é", None]}
    check_text([1, None, {"é": ["😀"]}])


def test_columns_are_of_the_types_of_their_cells():
    (columns,) = json_chunks(b'{"columns": {"x": [1, "a", null, true, 1.5]}}', ENCODER, LIMITS)
    assert columns["x"].dtype == np.dtype(object)
    assert columns["x"].tolist() == [1, "a", None, True, 1.5]


@pytest.mark.parametrize(
    ("text", "found"),
    [('{"rows": []}', "0 rows"), ('{"rows": [{}, {}]}', "2 rows without any cell")],
)
def test_rows_without_a_cell_are_said_to_be_so(text, found):
    """And not to have none of the columns of the model."""
    with pytest.raises(
        Refusal, match=f"the table has {found}: expected at least one row"
    ) as refused:
        read(text)
    assert (refused.value.status, refused.value.field) == (400, "body")


def test_nested_cells_of_columns_that_the_model_does_not_know_are_ignored():
    encoder = hld.fit_encoder({"a": [1, 2, 1], "b": ["x", "y", "x"]})
    (chunk,) = json_chunks(
        b'{"rows": [{"a": 1, "b": "x", "tags": ["p"]}, {"a": 2, "b": "y"}]}', encoder, LIMITS
    )
    codes, _, absent, extra = encoder.encode_counting(chunk)
    assert (codes.tolist(), list(absent), list(extra)) == ([[0, 0], [1, 1]], [], ["tags"])
    with pytest.raises(Refusal, match="column 'b' holds nested values"):
        list(json_chunks(b'{"rows": [{"a": 1, "b": {"x": 1}}]}', encoder, LIMITS))
