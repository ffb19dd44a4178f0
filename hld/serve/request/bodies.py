"""Bodies of requests read from the network: counted while they arrive, timed, and bounded all together."""
from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from hld.serve.limits import BODIES, Limits
from hld.serve.refusals import Refusal, busy

if TYPE_CHECKING:
    from starlette.requests import Request

CLOSE = {"Connection": "close"}  # what else the client sends is not read


class Bodies:
    """The memory that bodies take together; used from one event loop."""

    def __init__(self, limits: Limits) -> None:
        self.limits, self.held = limits, 0

    @contextlib.asynccontextmanager
    async def body(self, request: Request) -> AsyncIterator[bytes]:
        """The body of a request, as long as it is needed."""
        size = _stated_size(request)
        if size > self.limits.max_bytes:
            raise self._too_large()
        if request.headers.get("content-encoding", "identity").lower() != "identity":
            raise Refusal(415, "content-encoding", "the body is encoded, expected it as it is: Parquet is compressed "
                          "by itself", CLOSE)
        parts: list[bytes] = []
        held = 0
        try:
            await self._timed(request, parts)
            held, whole = sum(map(len, parts)), b"".join(parts)
            parts.clear()
            yield whole
        finally:
            self.held -= held + sum(map(len, parts))

    async def _timed(self, request: Request, parts: list[bytes]) -> None:
        """Read a body in the time that there is."""
        try:
            await asyncio.wait_for(self._read(request, parts), self.limits.body_seconds)
        except asyncio.TimeoutError:
            raise Refusal(408, "body", f"the body took longer than {self.limits.body_seconds:g} s", CLOSE) from None

    async def _read(self, request: Request, parts: list[bytes]) -> None:
        """Append what arrives."""
        total = 0
        async for part in request.stream():
            total += len(part)
            if total > self.limits.max_bytes:
                raise self._too_large()
            if self.held + len(part) > BODIES * self.limits.max_bytes:
                raise busy("too many large bodies arrive at a time")
            self.held += len(part)
            parts.append(part)

    def _too_large(self) -> Refusal:
        return Refusal(413, "body", f"the body has more than {self.limits.max_bytes} bytes, expected at most so many: "
                       "send it in parts, or start the service with a larger --max-bytes", CLOSE)


def _stated_size(request: Request) -> int:
    """Bytes that the head of a request announces, 0 where it does not."""
    text = request.headers.get("content-length", "0")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else 0
