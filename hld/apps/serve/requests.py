"""What comes with a request: parameters, each checked, and a body, counted while it arrives, timed, and bounded.

Bodies are bounded one by one and all together.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from starlette.requests import Request

from hld.apps.serve.limits import BODIES, Limits, Refusal, busy
from hld.apps.serve.models import LoadedModel, Models

DETAILS = ("full", "verdict")  # of an answer
CLOSE = {"Connection": "close"}  # what else the client sends is not read
EXPECTED = {
    "alpha": "a number",
    "after": "a whole number of at least 0",
    "detail": " or ".join(DETAILS),
}
LINGER_BYTES = 2**27  # that are read of a body that is refused


class Asked:
    """A request, with its parameters."""

    def __init__(self, request: Request, known: Sequence[str]) -> None:
        self.request, self.values = request, dict[str, str]()
        for name, value in request.query_params.multi_items():
            if name not in known and request.url.path.startswith("/v1/"):
                raise Refusal(
                    400,
                    name[:64],
                    f"`{name[:64]}` is not a parameter here: expected {', '.join(known) or 'none'}",
                )
            if name in self.values:
                raise Refusal(400, name, f"`{name}` is given twice, expected one value")
            self.values[name] = value

    def model(self, models: Models) -> LoadedModel:
        """The requested model; the only one if none is named."""
        loaded, name = models.loaded, self.values.get("model")
        if name is None and len(loaded) > 1:
            raise Refusal(400, "model", f"`model` is missing: expected one of {', '.join(loaded)}")
        if name is not None and name not in loaded:
            raise Refusal(
                404, "model", f"`model` is {name[:64]!r}, expected one of {', '.join(loaded)}"
            )
        return loaded[next(iter(loaded)) if name is None else name]

    def value(self, name: str, read: Callable[[str], Any], default: Any) -> Any:
        """A parameter as a function reads it, which raises ValueError for what it cannot be."""
        text = self.values.get(name)
        try:
            return default if text is None else read(text)
        except ValueError:
            raise Refusal(
                400, name, f"`{name}` must be {EXPECTED[name]}, found {text!r:.66}"
            ) from None

    def form(self, forms: Mapping[str, str]) -> str:
        """Which of some forms the media type is; `Refusal` for another type or charset."""
        media, _, rest = self.request.headers.get("content-type", "").partition(";")
        form = forms.get(media.strip().lower())
        if form is None:
            raise Refusal(
                415,
                "content-type",
                f"the body is {media.strip()[:80] or 'of no type'}, expected {' or '.join(forms)}: "
                "send it as one of these",
            )
        charset = rest.lower().partition("charset=")[2].strip('" ')
        if charset not in ("", "utf-8", "utf8", "us-ascii"):
            raise Refusal(415, "content-type", f"the body is in {charset[:40]}, expected utf-8")
        return form


def whole_number(text: str) -> int:
    """A whole number of at least 0; ValueError for anything else."""
    if not text.isdecimal():
        raise ValueError
    return int(text)


class Bodies:
    """The memory that bodies take together; used from one event loop."""

    def __init__(self, limits: Limits) -> None:
        self.limits, self.held = limits, 0

    @contextlib.asynccontextmanager
    async def body(self, request: Request) -> AsyncIterator[bytes]:
        """The body of a request, as long as it is needed."""
        parts: list[bytes] = []
        refusal, held = self._unwanted(request), 0
        if refusal is not None and "expect" in request.headers:  # the client has sent nothing yet
            raise refusal
        try:
            await asyncio.wait_for(self._read(request, parts, refusal), self.limits.body_seconds)
            held, whole = sum(map(len, parts)), b"".join(parts)
            parts.clear()
            yield whole
        except asyncio.TimeoutError:
            late = f"the body took longer than {self.limits.body_seconds:g} s"
            raise refusal or Refusal(408, "body", late, CLOSE) from None
        finally:
            self.held -= held + sum(map(len, parts))

    async def _read(self, request: Request, parts: list[bytes], refusal: Refusal | None) -> None:
        """Append what arrives; what is refused is read on and thrown away.

        A connection that is closed while bytes arrive is reset, and many clients look for an answer only when they have
        sent all of their body: these see it if the body has at most `LINGER_BYTES`.
        """
        total = 0
        async for part in request.stream():
            total += len(part)
            if total > self.limits.max_bytes:
                refusal = refusal or self._too_large()
            if refusal is not None:
                if total > LINGER_BYTES:
                    break
                continue
            if self.held + len(part) > BODIES * self.limits.max_bytes:
                raise busy("too many large bodies arrive at a time")
            self.held += len(part)
            parts.append(part)
        if refusal is not None:
            raise refusal

    def _unwanted(self, request: Request) -> Refusal | None:
        """Why a body is refused by what the head says of it."""
        size = request.headers.get("content-length", "0")
        if not size.isdecimal() or len(size) > 20 or int(size) > self.limits.max_bytes:
            return self._too_large()
        if request.headers.get("content-encoding", "identity").lower() != "identity":
            message = "the body is encoded, expected it as it is"
            return Refusal(415, "content-encoding", message, CLOSE)
        return None

    def _too_large(self) -> Refusal:
        return Refusal(
            413,
            "body",
            f"the body has more than {self.limits.max_bytes} bytes, expected at most so many: "
            "send it in parts, or start the service with a larger --max-bytes",
            CLOSE,
        )
