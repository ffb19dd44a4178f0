"""What a service does not do, and why: a status, the field that is wrong, one sentence.

The library's errors begin with the argument that is wrong, in backticks; that name becomes the field.  For errors in
the contents of a table the field is "body".
"""

from __future__ import annotations

import re
from typing import Any

FIELD = re.compile(r"`(\w+)`")
BREAKS = re.compile(r"\s*[\r\n]\s*")
OF_THE_BODY = ("table", "batch", "rows", "chunks", "columns", "summary", "data", "text")


class Refusal(Exception):
    """A request that is answered with an error."""

    def __init__(
        self, status: int, field: str, message: str, headers: dict[str, Any] | None = None
    ):
        super().__init__(message)
        self.status, self.field, self.headers = status, _printable(field), headers or {}
        self.message = _printable(BREAKS.sub(" ", message).strip())[:2000]

    def to_dict(self) -> dict[str, Any]:
        """The body of the answer."""
        return {"error": {"status": self.status, "field": self.field, "message": self.message}}


def refusal_of(error: Exception) -> Refusal:
    """The refusal of a request by the library."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, MemoryError):
        return Refusal(413, "body", "the request needs more memory than there is: send fewer rows")
    named = FIELD.match(str(error))
    field = named[1] if named and named[1] not in OF_THE_BODY else "body"
    return Refusal(400, field, str(error))


def busy(what: str) -> Refusal:
    """The service has too much to do; come back in a second."""
    return Refusal(503, "service", f"{what}: try again", {"Retry-After": "1"})


def _printable(text: str) -> str:
    """A text with escapes in place of what a terminal or a log would obey, and of halves of characters."""
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode() for one in text
    )
