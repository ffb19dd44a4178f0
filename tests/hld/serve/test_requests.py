"""Requests: parameters of their kind, bodies counted while they arrive, limits, and refusals in words."""

import asyncio
import math
from dataclasses import fields

import pytest
from starlette.requests import Request

from hld.apps.serve.limits import BODIES, Limits, Refusal, refusal_of
from hld.apps.serve.requests import Asked, Bodies

LIMITS = Limits(max_bytes=10, body_seconds=0.2)


def request(parts, headers=(), wait=0.0):
    """A request whose body arrives in parts, each after some seconds."""
    messages = [
        {"type": "http.request", "body": part, "more_body": i < len(parts) - 1}
        for i, part in enumerate(parts)
    ]

    async def receive():
        await asyncio.sleep(wait if messages else 60.0)
        return messages.pop(0)

    names = [(name.encode(), value.encode()) for name, value in headers]
    return Request(
        {"type": "http", "method": "POST", "path": "/", "query_string": b"", "headers": names},
        receive,
    )


async def read(bodies, *args, **options):
    async with bodies.body(request(*args, **options)) as body:
        return body, bodies.held


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        ({"parts": [b"12345", b"678901"]}, 413, "the body has more than 10 bytes"),
        (
            {"parts": [], "headers": [("content-length", "11")]},
            413,
            "the body has more than 10 bytes",
        ),
        (
            {"parts": [b"1"], "headers": [("content-encoding", "gzip")]},
            415,
            "the body is encoded, expected it as it is",
        ),
        ({"parts": [b"1"], "wait": 5.0}, 408, "the body took longer than 0.2 s"),
    ],
)
def test_what_is_too_large_too_slow_or_encoded_is_refused(options, status, message):
    bodies = Bodies(LIMITS)
    with pytest.raises(Refusal, match=message) as refused:
        asyncio.run(read(bodies, **options))
    assert refused.value.status == status
    assert refused.value.headers == {"Connection": "close"}
    assert bodies.held == 0


@pytest.mark.parametrize(
    ("headers", "num_left", "status"),
    [
        ((), 0, 413),
        ([("content-length", "60")], 0, 413),
        ([("content-encoding", "gzip")], 0, 415),
        ([("content-length", "60"), ("expect", "100-continue")], 6, 413),
    ],
)
def test_a_body_that_is_refused_is_read_on_for_a_moment(headers, num_left, status):
    """A connection closed while bytes arrive is reset, and the refusal lost; who asks before sending sends nothing."""
    sent, bodies = request([b"1234567890"] * 6, headers), Bodies(LIMITS)

    async def read_all():
        async with bodies.body(sent):
            pass

    with pytest.raises(Refusal) as refused:
        asyncio.run(read_all())
    assert refused.value.status == status
    left = 0
    while True:
        try:
            asyncio.run(asyncio.wait_for(sent.receive(), 0.05))
        except asyncio.TimeoutError:
            break
        left += 1
    assert (left, bodies.held) == (num_left, 0)


def test_too_many_large_bodies_wait_for_one_another():
    bodies = Bodies(LIMITS)

    async def all_at_once():
        blocked = asyncio.Event()

        async def hold():
            async with bodies.body(request([b"1234567890"])):
                await blocked.wait()

        holders = [asyncio.create_task(hold()) for _ in range(BODIES)]
        while bodies.held < 10 * BODIES:
            await asyncio.sleep(0)
        with pytest.raises(Refusal, match="too many large bodies arrive at a time") as refused:
            await read(bodies, [b"1"])
        assert (refused.value.status, bodies.held) == (503, 10 * BODIES)
        blocked.set()
        await asyncio.gather(*holders)
        return await read(bodies, [b"1"])

    assert asyncio.run(all_at_once()) == (b"1", 1)


FORMS = {"text/csv": "csv", "application/json": "json"}


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("text/csv", "csv"),
        (" TEXT/CSV ;charset=UTF-8", "csv"),
        ('application/json; charset="utf-8"', "json"),
        ("text/csv; header=present; charset=us-ascii", "csv"),
        ("", "the body is of no type, expected text/csv or application/json: send it as one"),
        ("application/x", "the body is application/x, expected text/csv"),
        ("text/csv; charset=latin-1", "the body is in latin-1, expected utf-8"),
        ("x" * 500, f"the body is {'x' * 80},"),
    ],
)
def test_forms_are_told_by_their_media_type(given, found):
    asked = Asked(request([], [("content-type", given)]), ())
    if found in FORMS.values():
        assert asked.form(FORMS) == found
        return
    with pytest.raises(Refusal) as refused:
        asked.form(FORMS)
    assert (refused.value.status, refused.value.field) == (415, "content-type")
    assert refused.value.message.startswith(found)


LEAST = {"max_bytes": 1, "max_rows": 1, "connections": 1, "workers": 1, "threads": 1, "queue": 0}
NAMES = [field.name for field in fields(Limits)]


@pytest.mark.parametrize("name", NAMES)
def test_a_limit_that_cannot_be_is_named(name):
    wrong = (
        [LEAST[name] - 1, 2.5, True, "9", None]
        if name in LEAST
        else [0, -1.0, math.nan, math.inf, "9", None]
    )
    for value in wrong:
        with pytest.raises(
            (TypeError, ValueError), match=f"`{name}` must be a (whole|finite) number"
        ):
            Limits(**{name: value})
    least = LEAST.get(name, 1e-9)
    assert getattr(Limits(**{name: least}), name) == least


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
