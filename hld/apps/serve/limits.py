"""What a service allows a request to cost: bytes, rows, seconds, and how many requests at a time.

Every number bounds something that a stranger could otherwise make large.  Bodies are counted while they arrive, rows
and cells while they are read: with the limits as they come, a body takes less than 256 MB and 5 s of a thread.

What a service does not do, and why: a status, the field that is wrong, one sentence.  The library's errors begin with
the argument that is wrong, in backticks; that name becomes the field.  For errors in the contents of a table the field
is "body".
"""

import asyncio
import os
import re
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import ClientDisconnect

from pcircuit.arguments import check_number, check_whole_number

FIELD = re.compile(r"`(\w+)`")
OF_THE_BODY = ("table", "batch", "rows", "chunks", "columns", "summary", "data", "text")
CELLS = 10  # for each row of `max_rows`, that a table may have
SPARE_COLUMNS = 1000  # that a table may have beside twice those of training
BODIES = 8  # of the largest size that may wait in memory together


class Refusal(Exception):
    """A request that is answered with an error."""

    def __init__(
        self, status: int, field: str, message: str, headers: dict[str, Any] | None = None
    ):
        super().__init__(status, field, message, headers)
        self.status, self.field, self.headers = status, _printable(field), headers or {}
        self.message = _printable(" ".join(message.split()))[:2000]

    def __str__(self) -> str:
        return self.message

    def to_dict(self) -> dict[str, Any]:
        """The body of the answer."""
        return {"error": {"status": self.status, "field": self.field, "message": self.message}}


def refusal_of(error: BaseException) -> Refusal:
    """The answer to a request that an error ended."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, (ValueError, TypeError)):
        named = FIELD.match(str(error))
        return Refusal(
            400, named[1] if named and named[1] not in OF_THE_BODY else "body", str(error)
        )
    for kind, refusal in OTHERS:
        if isinstance(error, kind):
            return Refusal(*refusal)
    return Refusal(500, "service", "unexpected error: see the log of the service")


def busy(what: str) -> Refusal:
    """The service has too much to do; come back in a second."""
    return Refusal(503, "service", f"{what}: try again", {"Retry-After": "1"})


def _printable(text: str) -> str:
    """A text with escapes in place of what a terminal or a log would obey, and of halves of characters."""
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode() for one in text
    )


OTHERS: tuple[tuple[type[BaseException], tuple[Any, ...]], ...] = (
    (
        MemoryError,
        (413, "body", "the request needs more memory than there is: send fewer rows"),
    ),
    (
        asyncio.CancelledError,  # a second Ctrl-C, or there is no time left
        (
            503,
            "service",
            "the service is stopping and has given up the request: send it again when it is back",
            {"Connection": "close"},
        ),
    ),
    (ClientDisconnect, (400, "body", "the client has disconnected")),
)


class OutOfTime(Exception):
    """The request that work is done for has been answered, or will be in a moment."""


_own = threading.local()  # the deadline of the work of a thread


def set_deadline(at: float) -> None:
    """When the work of this thread has to end, by `time.monotonic`."""
    _own.deadline = at


def check_time() -> None:
    """Raise `OutOfTime` after the deadline of what this thread works at."""
    if time.monotonic() > getattr(_own, "deadline", float("inf")):
        raise OutOfTime


def _processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class Limits:
    """Bounds of a service."""

    max_bytes: int = 2**23
    max_rows: int = 100_000
    seconds: float = 30.0
    body_seconds: float = 30.0
    head_seconds: float = 10.0
    workers: int = 1
    threads: int = field(default_factory=_processors)
    queue: int = 64
    connections: int = 512

    def __post_init__(self) -> None:
        for name in ("max_bytes", "max_rows", "connections", "workers", "threads"):
            check_whole_number(getattr(self, name), name, 1)
        check_whole_number(self.queue, "queue", 0)
        for name in ("seconds", "body_seconds", "head_seconds"):
            check_number(getattr(self, name), name, above=0)

    @property
    def most_cells(self) -> int:
        """Cells that a table may have."""
        return CELLS * self.max_rows
