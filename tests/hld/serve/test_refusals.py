"""Refusals: which field and which column is wrong, and in which words."""

import json

import pytest

from hld.serve.refusals import Refusal, busy, refusal_of


def answer(error):
    """The inner part of the answer to a request that an error ended."""
    return refusal_of(error).to_dict()["error"]


@pytest.mark.parametrize(
    ("message", "field"),
    [
        ("`alpha` must be below 1", "alpha"),
        ("`table` has no rows", "body"),
        ("`batch` has none", "body"),
        ("`summary` is of another model", "body"),
        ("the file is damaged", "body"),
        ("found `alpha`", "body"),
        ("", "body"),
    ],
)
def test_the_field_is_the_argument_that_the_message_begins_with(message, field):
    for kind in (ValueError, TypeError):
        assert answer(kind(message)) == {"status": 400, "field": field, "message": message}


@pytest.mark.parametrize(
    "name",
    ["size", "it's", 'a "size"', "it's \"", "a\\b", "two  blanks", "a\nb", "\u2028", "\ud800"],
)
def test_the_column_is_named_as_it_is_and_not_as_it_is_shown(name):
    """Names with an apostrophe had been left out, those with two blanks and with backslashes changed."""
    found = answer(
        TypeError(f"`table` column {name!r} holds text, expected numbers: column 'other' does not")
    )
    assert found["column"] == name
    assert repr(name) in found["message"]
    assert "column" not in answer(
        ValueError(f"`alpha` is of column {name!r}")
    )  # that is no part of the body
    assert "column" not in answer(ValueError("`table` column 7 of 9"))


@pytest.mark.parametrize(
    ("shown", "name"), [(r"'C:\Users\x'", r"C:\Users\x"), (r"'\ud800'", "\ud800")]
)
def test_a_column_that_python_cannot_have_shown_is_left_as_it_is(shown, name):
    found = answer(ValueError(f"column {shown} is odd"))
    assert found["column"] == name
    assert json.dumps(found)


def test_messages_are_one_line_of_bounded_length():
    assert answer(ValueError("first\n   second \r\n third "))["message"] == "first second third"
    assert len(answer(ValueError("x" * 10_000))["message"]) == 2000
    forged = Refusal(400, "a\nb", "\x1b[2J \x00 \u202e \ud800 é")
    assert (forged.field, forged.message) == (r"a\nb", r"\x1b[2J \x00 \u202e \ud800 é")


def test_refusals_stay_and_memory_has_a_status_of_its_own():
    refusal = Refusal(409, "after", "`after` is 3", {"Retry-After": "9"})
    assert refusal_of(refusal) is refusal
    assert (refusal.headers, Refusal(400, "body", "x").headers) == ({"Retry-After": "9"}, {})
    assert answer(MemoryError())["status"] == 413
    full = busy("all threads are busy")
    assert (full.status, full.message, full.headers) == (
        503,
        "all threads are busy: try again",
        {"Retry-After": "1"},
    )
