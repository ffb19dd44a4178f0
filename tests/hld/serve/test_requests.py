"""Requests: parameters of their kind, bodies counted while they arrive, limits, and refusals in words."""

import asyncio
import math
import os
from dataclasses import fields

import pytest
from starlette.requests import Request

from hld.serve.limits import BODIES, Limits
from hld.serve.refusals import Refusal, busy, refusal_of
from hld.serve.requests import Asked, Bodies

KNOWN = ("alpha", "after", "detail")
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
    return Request({"type": "http", "method": "POST", "path": "/", "headers": names}, receive)


async def read(bodies, *args, **options):
    async with bodies.body(request(*args, **options)) as body:
        return body, bodies.held


def test_a_body_counts_as_long_as_it_is_needed():
    bodies = Bodies(LIMITS)
    assert asyncio.run(read(bodies, [b"abc", b"defg"])) == (b"abcdefg", 7)
    assert bodies.held == 0


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


LEAST = {"max_bytes": 1, "max_rows": 1, "connections": 1, "workers": 0, "queue": 0}
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


def test_threads_are_as_many_as_asked_for_or_as_processors(monkeypatch):
    assert Limits(workers=3).threads == 3
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 2, 5}, raising=False)
    assert Limits().threads == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert Limits().threads == 1


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
