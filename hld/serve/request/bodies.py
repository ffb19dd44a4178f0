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
LINGER_SECONDS, LINGER_BYTES = 5.0, 2**27  # what is read of a body that is refused, and thrown away


class Bodies:
    """The memory that bodies take together; used from one event loop."""

    def __init__(self, limits: Limits) -> None:
        self.limits, self.held = limits, 0

    @contextlib.asynccontextmanager
    async def body(self, request: Request) -> AsyncIterator[bytes]:
        """The body of a request, as long as it is needed."""
        size = _stated_size(request)
        if size > self.limits.max_bytes:
            await self._discard(request)
            raise self._too_large()
        if request.headers.get("content-encoding", "identity").lower() != "identity":
            await self._discard(request)
            raise Refusal(
                415,
                "content-encoding",
                "the body is encoded, expected it as it is: Parquet is compressed by itself",
                CLOSE,
            )
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
            raise Refusal(
                408, "body", f"the body took longer than {self.limits.body_seconds:g} s", CLOSE
            ) from None
        except _TooLarge as error:
            if not error.is_whole:
                await self._discard(request)
            raise self._too_large() from None

    async def _read(self, request: Request, parts: list[bytes]) -> None:
        """Append what arrives."""
        total, is_whole = 0, False
        while not is_whole:
            part, is_whole = await _next_part(request)
            total += len(part)
            if total > self.limits.max_bytes:
                raise _TooLarge(is_whole)
            if self.held + len(part) > BODIES * self.limits.max_bytes:
                raise busy("too many large bodies arrive at a time")
            self.held += len(part)
            parts.append(part)

    async def _discard(self, request: Request) -> None:
        """Read on for a moment without keeping anything.

        A connection that is closed while bytes arrive is reset, and the client then may never see the refusal.  Many
        clients look for an answer only when they have sent all of their body: these see it if the body has at most
        `LINGER_BYTES` and arrives in `LINGER_SECONDS`.
        """
        if request.headers.get("expect"):  # a client that asks before it sends has sent nothing
            return
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(_drain(request), min(LINGER_SECONDS, self.limits.body_seconds))

    def _too_large(self) -> Refusal:
        return Refusal(
            413,
            "body",
            f"the body has more than {self.limits.max_bytes} bytes, expected at most so many: "
            "send it in parts, or start the service with a larger --max-bytes",
            CLOSE,
        )


class _TooLarge(Exception):
    """More has arrived than is allowed."""

    def __init__(self, is_whole: bool) -> None:
        super().__init__()
        self.is_whole = is_whole


async def _next_part(request: Request) -> tuple[bytes, bool]:
    """A part of a body, and whether it is the last."""
    from starlette.requests import ClientDisconnect

    message = await request.receive()
    if message["type"] == "http.disconnect":
        raise ClientDisconnect
    return message.get("body", b""), not message.get("more_body", False)


async def _drain(request: Request) -> None:
    """Read what is left of a body, up to `LINGER_BYTES`."""
    from starlette.requests import ClientDisconnect

    total, is_whole = 0, False
    with contextlib.suppress(ClientDisconnect):
        while total < LINGER_BYTES and not is_whole:
            part, is_whole = await _next_part(request)
            total += len(part)


def _stated_size(request: Request) -> int:
    """Bytes that the head of a request announces, 0 where it does not."""
    text = request.headers.get("content-length", "0")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else 0
