"""Refusals: which field and which column is wrong, and in which words."""

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
