"""The service as an ASGI application: endpoints, what they answer, and what happens when they cannot.

One thread, the event loop, reads the network; the pool does all computation.  Answers are JSON, errors included,
except for the pages and the metrics for Prometheus.  The page in the browser is one HTML file, whose only script is
identified by its hash, so that no other may run.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import functools
import hashlib
import importlib.resources
import json
import logging
import re
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any

from hld.answers.reports import STYLE
from hld.apps.serve.guard import Guard
from hld.apps.serve.limits import Limits, Refusal, refusal_of
from hld.apps.serve.models import Models
from hld.apps.serve.numbers import Numbers
from hld.apps.serve.openapi import ENDPOINTS, description
from hld.apps.serve.pool import Pool, apart
from hld.apps.serve.requests import Asked, Bodies
from hld.apps.serve.tables import FORMS, SUMMARY_FORMS, form_of
from hld.apps.serve.work import (
    describe_model,
    encode_table,
    judge_summary,
    judge_table,
    observe_rows,
    report_page,
    reset_monitor,
    state_of,
)

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    Handler = Callable[[Request], Awaitable[Response]]

LOG = logging.getLogger("hld.serve")
REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; sandbox"
)
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")  # as Host headers have them


class Service:
    """The endpoints, over models and a pool of threads."""

    def __init__(self, models: Models, limits: Limits, token: str | None) -> None:
        self.models, self.limits, self.token = models, limits, token
        self.pool, self.bodies = Pool(limits), Bodies(limits)
        self.numbers = Numbers(models, self.pool)
        self.is_ready = False
        self._turns: dict[
            str, Any
        ] = {}  # of those who wait for one monitor, so that they do not fill the pool

    async def test(self, request: Request) -> Response:
        """POST /v1/test."""
        return await self._judged(request, judge_table, FORMS)

    async def summaries(self, request: Request) -> Response:
        """POST /v1/summaries."""
        return await self._judged(request, judge_summary, SUMMARY_FORMS)

    async def _judged(
        self, request: Request, judge: Callable[..., Any], forms: dict[str, str]
    ) -> Response:
        """The verdict on what a body holds in one of some forms."""
        asked = Asked(request, ("model", "alpha", "detail"))
        model, alpha = asked.model(self.models), asked.number("alpha", self.models.alpha)
        detail, form = asked.detail(), form_of(request.headers.get("content-type", ""), forms)
        async with self.bodies.body(request) as body:
            answer = await self.pool.run(judge, model, body, form, alpha, detail, self.limits)
        self.numbers.tested(answer)
        return _json(answer)

    async def observe(self, request: Request) -> Response:
        """POST /v1/observe."""
        asked = Asked(request, ("model", "after"))
        model, after = asked.model(self.models), asked.count("after")
        form = form_of(request.headers.get("content-type", ""))
        async with self.bodies.body(request) as body:
            rows, differs = await self.pool.run(encode_table, model, body, form, self.limits)
        async with self._turns.setdefault(model.name, asyncio.Lock()):
            answer = await self.pool.run(observe_rows, model, rows, differs, after)
        self.numbers.rows.labels(model.name, "observe").inc(len(rows[0]))
        return _json(answer)

    async def monitor(self, request: Request) -> Response:
        """GET /v1/monitor."""
        model = Asked(request, ("model",)).model(self.models)
        return _json({**state_of(model), "history": model.watch.history})

    async def reset(self, request: Request) -> Response:
        """POST /v1/reset."""
        model = Asked(request, ("model",)).model(self.models)
        return _json(await self.pool.run(reset_monitor, model))

    async def model(self, request: Request) -> Response:
        """GET /v1/model."""
        asked = Asked(request, ("model",))
        chosen = (
            [asked.model(self.models)]
            if "model" in asked.values
            else list(self.models.loaded.values())
        )
        return _json(
            {"models": [describe_model(one, self.models.errors.get(one.name)) for one in chosen]}
        )

    async def report(self, request: Request) -> Response:
        """GET /v1/report."""
        asked = Asked(request, ("model", "id"))
        text = await self.pool.run(report_page, asked.model(self.models), asked.values.get("id"))
        return _html(text, REPORT_POLICY)

    async def reload(self, request: Request) -> Response:
        """POST /v1/reload."""
        Asked(request, ())
        if self.token is None:
            raise Refusal(
                403,
                "authorization",
                "models are reloaded by request only where the service has a token: "
                "send SIGHUP to the process, or replace the file",
            )
        return _json({"models": await apart(self.models.reload)})

    async def healthz(self, request: Request) -> Response:
        """GET /healthz."""
        return _json({"status": "alive"})

    async def readyz(self, request: Request) -> Response:
        """GET /readyz."""
        if not self.is_ready:
            raise Refusal(
                503, "service", "the service is starting or stopping", {"Retry-After": "1"}
            )
        return _json({"status": "ready", "models": list(self.models.loaded)})

    async def metrics(self, request: Request) -> Response:
        """GET /metrics."""
        from prometheus_client import CONTENT_TYPE_LATEST
        from starlette.responses import Response

        return Response(self.numbers.text(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def openapi(self, request: Request) -> Response:
        """GET /openapi.json."""
        return _json(description(self.limits, self.models.alpha))

    async def page(self, request: Request) -> Response:
        """GET /."""
        return _html(page(self.models.alpha), policy())

    async def api(self, request: Request) -> Response:
        """GET /api."""
        return _html(page(name="api.html"), policy("api.html"))


def build_app(service: Service, watch_seconds: float) -> Guard:
    """The application of a service."""
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.routing import Route

    routes = [
        Route(one.path, _answered(one.path, getattr(service, one.handler)), methods=[one.method])
        for one in ENDPOINTS
    ]
    app = Starlette(
        routes=routes,
        lifespan=lambda app: _life(service, watch_seconds),
        exception_handlers={HTTPException: _http_error},
        middleware=[
            Middleware(
                TrustedHostMiddleware,
                allowed_hosts=LOOPBACK if service.token is None else ["*"],
                www_redirect=False,
            )
        ],
    )
    app.router.redirect_slashes = (
        False  # a path with a slash too many is no path: the answer says so
    )
    return Guard(app, _refusal, service.token, service.numbers)


@contextlib.asynccontextmanager
async def _life(service: Service, watch_seconds: float) -> AsyncIterator[None]:
    """From ready to stopped."""
    watcher = asyncio.create_task(_watch(service.models, watch_seconds)) if watch_seconds else None
    service.is_ready = True
    yield
    service.is_ready = False
    if watcher is not None:
        watcher.cancel()
    service.pool.close()


async def _watch(models: Models, seconds: float) -> None:
    """Look at the model files again and again."""
    while True:
        await asyncio.sleep(seconds)
        await apart(functools.partial(models.reload, only_changed=True))


def _answered(path: str, handler: Handler) -> Handler:
    """A handler whose errors are answers."""
    from starlette.requests import ClientDisconnect

    async def endpoint(request: Request) -> Response:
        try:
            return await handler(request)
        except (Refusal, ValueError, TypeError, MemoryError) as error:
            refusal = refusal_of(error)
            # whose frames hold the body and, in a circle, the error: both would stay until they are collected
            traceback.clear_frames(error.__traceback__)
            LOG.info("%s refused with %d: %s", path, refusal.status, refusal.message)
            return _refusal(refusal)
        except asyncio.CancelledError:  # a second Ctrl-C, or there is no time left
            return _refusal(
                Refusal(
                    503,
                    "service",
                    "the service is stopping and has given up the request: send it "
                    "again when it is back",
                    {"Connection": "close"},
                )
            )
        except ClientDisconnect:
            return _refusal(Refusal(400, "body", "the client has disconnected"))
        except Exception:
            LOG.exception("%s failed", path)
            return _refusal(Refusal(500, "service", "unexpected error: see the log of the service"))

    endpoint.path = path  # type: ignore[attr-defined]  # which requests are counted by
    return endpoint


async def _http_error(request: Request, error: Any) -> Response:
    """No such path, or not with this method."""
    words = {
        404: ("path", "there is nothing at this path: /openapi.json lists what there is"),
        405: ("method", "this path does not take the method: /openapi.json lists what there is"),
    }
    field, message = words.get(error.status_code, ("request", str(error.detail)))
    return _refusal(Refusal(error.status_code, field, message, dict(error.headers or {})))


def _refusal(refusal: Refusal) -> Response:
    """The answer to a request that is refused."""
    return _json(refusal.to_dict(), refusal.status, refusal.headers)


def _json(value: Any, status: int = 200, headers: dict[str, Any] | None = None) -> Response:
    """A value in ASCII: names of columns may hold halves of characters, which UTF-8 has not."""
    from starlette.responses import Response

    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return Response(text, status, headers, "application/json")


def _html(text: str, policy: str) -> Response:
    from starlette.responses import HTMLResponse

    content = text.encode("utf-8", "replace")
    return HTMLResponse(content, headers={"Content-Security-Policy": policy})


@functools.cache
def page(alpha: float = 0.05, name: str = "page.html") -> str:
    """A page in the browser, with the level of the service in its form."""
    text = importlib.resources.files("hld.apps.serve").joinpath(name).read_text(encoding="utf-8")
    return text.replace("/* the looks of a report */", STYLE).replace(
        'value="0.05"', f'value="{float(alpha)!r}"'
    )


@functools.cache
def policy(name: str = "page.html") -> str:
    """The Content-Security-Policy of a page: its own script, its own server, nothing else."""
    scripts = re.findall(r"<script>(.*?)</script>", page(name=name), re.DOTALL)
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(one.encode()).digest()).decode()}'"
        for one in scripts
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; connect-src 'self'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
