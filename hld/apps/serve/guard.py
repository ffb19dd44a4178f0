"""Who may ask: the token, the host, the origin; and what every answer says to browsers.

A service on the loopback address can be reached by every page that a browser on the same machine shows.  A page of
another site may send requests there, and a host name that changes its address (DNS rebinding) makes it look like the
same site.  So, without a token, the host name of a request must be one of this machine (`TrustedHostMiddleware` of
Starlette, `hld.apps.serve.app`); and a request sent by a page must come from the service's own page.
"""

import hmac
import time
from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hld.apps.serve.limits import Refusal
from hld.apps.serve.numbers import Numbers

HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
)


class Guard:
    """An ASGI application around another one."""

    def __init__(
        self,
        app: ASGIApp,
        refuse: Callable[[Refusal], ASGIApp],
        token: str | None,
        without_token: set[str],
        numbers: Numbers,
    ) -> None:
        self.app, self.refuse, self.token, self.numbers = app, refuse, token, numbers
        self.without_token = without_token  # paths that tell nothing of the data
        self.is_full: Callable[[], bool] = lambda: False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, and count it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, seen = time.perf_counter(), {"status": 0}

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                seen["status"] = message["status"]
                message = {**message, "headers": [*message["headers"], *HEADERS]}
            await send(message)

        app = self.app
        try:
            self._check(scope)
        except Refusal as refusal:
            app = self.refuse(refusal)
        try:
            await app(scope, receive, answer)
        finally:  # also of a request whose client has gone
            # paths that strangers make up are one
            name = getattr(scope.get("endpoint"), "path", "other")
            self.numbers.requests.labels(name, seen["status"]).inc()
            self.numbers.seconds.labels(name).observe(time.perf_counter() - start)

    def _check(self, scope: Scope) -> None:
        """Raise `Refusal` unless the request may be answered."""
        if self.is_full():
            raise Refusal(
                503,
                "service",
                "more connections are open than the service allows: try again",
                {"Retry-After": "1", "Connection": "close"},
            )
        headers = Headers(scope=scope)
        if "content-length" in headers and "transfer-encoding" in headers:
            raise Refusal(
                400,
                "content-length",
                "the request has Content-Length and Transfer-Encoding, expected one of them",
                {"Connection": "close"},
            )
        host = headers.get("host", "").lower()
        if any(one.partition("://")[2].lower() != host for one in headers.getlist("origin")):
            raise Refusal(
                403,
                "origin",
                "the request comes from a page of another site, expected one of the service",
            )
        if (
            self.token is not None
            and scope["path"] not in self.without_token
            and not same_token(headers.get("authorization", ""), self.token)
        ):
            raise Refusal(
                401,
                "authorization",
                "the request needs the header `Authorization: Bearer TOKEN` with the "
                "token of the service",
                {"WWW-Authenticate": "Bearer"},
            )


def same_token(header: str, token: str) -> bool:
    """Whether a header has the token; takes as long whatever it has instead."""
    scheme, _, given = header.partition(" ")
    return (
        hmac.compare_digest(given.strip().encode(), token.encode()) and scheme.lower() == "bearer"
    )
