"""Parameters are known, given once and of their kind; bodies are counted while they arrive."""

import asyncio

import pytest
from starlette.requests import Request

from hld.serve.limits import BODIES, Limits
from hld.serve.refusals import Refusal
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
