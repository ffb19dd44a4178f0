"""Parameters of a request: each known, given once, and of its kind."""

import pytest
from starlette.requests import Request

from hld.serve.refusals import Refusal
from hld.serve.request.parameters import Asked

KNOWN = ("alpha", "after", "detail")


def asked(query):
    return Asked(
        Request(
            {
                "type": "http",
                "method": "GET",
                "path": "/",
                "headers": [],
                "query_string": query.encode(),
            }
        ),
        KNOWN,
    )


def test_values_and_defaults():
    found = asked("alpha=1e-3&after=12")
    assert (found.number("alpha", 0.05), found.count("after")) == (0.001, 12)
    assert (asked("").number("alpha", 0.05), asked("").count("after")) == (0.05, None)


@pytest.mark.parametrize(
    ("query", "read", "field", "message"),
    [
        (
            "level=1",
            None,
            "level",
            "`level` is not a parameter here: expected alpha, after, detail",
        ),
        ("alpha=1&alpha=1", None, "alpha", "`alpha` is given twice, expected one value"),
        (
            "alpha=much",
            lambda found: found.number("alpha", 0),
            "alpha",
            "must be a finite number, found 'much'",
        ),
        (
            "alpha=inf",
            lambda found: found.number("alpha", 0),
            "alpha",
            "must be a finite number, found 'inf'",
        ),
        (
            "after=1.5",
            lambda found: found.count("after"),
            "after",
            "must be a whole number of at least 0, found '1.5'",
        ),
        (
            "after=%C2%B2",
            lambda found: found.count("after"),
            "after",
            "must be a whole number of at least 0",
        ),
        ("detail=no", lambda found: found.detail(), "detail", "`detail` must be one of"),
    ],
)
def test_what_is_not_known_or_of_another_kind_is_refused(query, read, field, message):
    with pytest.raises(Refusal, match=message) as refused:
        read(asked(query))
    assert (refused.value.status, refused.value.field) == (400, field)
