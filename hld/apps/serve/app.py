"""The service as an ASGI application: endpoints, what they answer, and what happens when they cannot.

One thread, the event loop, reads the network; the pool does all computation.  Answers are JSON, errors included,
except for the pages and the metrics for Prometheus.  The page in the browser is one HTML file, whose only script is
identified by its hash, so that no other may run.
"""

import asyncio
import base64
import contextlib
import functools
import hashlib
import importlib.resources
import json
import logging
import re
import secrets
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

import pcircuit
from hld.answers.reports import STYLE
from hld.apps.serve.guard import Guard
from hld.apps.serve.limits import Limits, Refusal, refusal_of
from hld.apps.serve.models import LoadedModel, Models
from hld.apps.serve.numbers import Numbers
from hld.apps.serve.pool import Pool
from hld.apps.serve.requests import DETAILS, Asked, Bodies, whole_number
from hld.apps.serve.work import Batch, encode_table, json_bytes, judge, report

LOG = logging.getLogger("hld.serve")
REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; sandbox"
)
TABLES = {"text/csv": "csv", "application/json": "json"}
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")  # as Host headers have them


class Service:
    """The endpoints, over models and a pool; their names are the `operationId` of `openapi.json`."""

    def __init__(self, models: Models, limits: Limits, token: str | None) -> None:
        self.models, self.limits, self.token = models, limits, token
        self.pool, self.bodies = Pool(limits, models), Bodies(limits)
        self.numbers = Numbers(models, self.pool)
        self.is_ready = False
        # of those who wait for one monitor
        self._turns: dict[str, Any] = {}

    async def test(self, asked: Asked) -> Response:
        """A table tested."""
        return await self._judged(asked, TABLES)

    async def summaries(self, asked: Asked) -> Response:
        """The same of a summary, or of the sum of several."""
        return await self._judged(asked, {"application/json": "summary"})

    async def _judged(self, asked: Asked, forms: dict[str, str]) -> Response:
        """The verdict on what a body holds in one of some forms."""
        model, form = asked.model(self.models), asked.form(forms)
        alpha = asked.value("alpha", float, self.models.alpha)
        is_full = asked.value("detail", DETAILS.index, 0) == 0
        own = {"model": model.name, "digest": model.digest, "id": secrets.token_hex(8)}
        async with self.bodies.body(asked.request) as body:
            batch = Batch(body, form, alpha)
            verdict = await self.pool.run(judge, model, batch, is_full, own, self.limits)
        self.numbers.tested(model.name, verdict)
        model.heard.keep(own["id"], batch, verdict)
        return Response(verdict.content, media_type="application/json")

    async def observe(self, asked: Asked) -> Response:
        """Rows shown to the monitor, and where it stands then."""
        model, after = asked.model(self.models), asked.value("after", whole_number, None)
        form = asked.form(TABLES)
        async with self.bodies.body(asked.request) as body:
            codes, marks, differs = await self.pool.run(
                encode_table, model, body, form, self.limits
            )
        async with self._turns.setdefault(model.name, asyncio.Lock()):
            result = await asyncio.to_thread(model.watch.observe, codes, marks, after)
        self.numbers.rows.labels(model.name, "observe").inc(len(codes))
        return _json(_state_of(model, result) | differs)

    async def monitor(self, asked: Asked) -> Response:
        """Where the monitor stands, and how it came there."""
        model = asked.model(self.models)
        return _json(_state_of(model, model.watch.last) | {"history": model.watch.history})

    async def reset(self, asked: Asked) -> Response:
        """The monitor without its rows."""
        model = asked.model(self.models)
        return _json(_state_of(model, await asyncio.to_thread(model.watch.reset)))

    async def model(self, asked: Asked) -> Response:
        """What a model is, or all of them."""
        loaded = self.models.loaded.values()
        chosen = [asked.model(self.models)] if "model" in asked.values else loaded
        return _json({"models": [self._described(one) for one in chosen]})

    def _described(self, model: LoadedModel) -> dict[str, Any]:
        """What a model is, what it was asked about, and what was wrong with its file when it was last read again."""
        detector, watch = model.detector, model.watch
        error = self.models.errors.get(model.name)
        return {
            "name": model.name,
            "digest": model.digest,
            "loaded": model.loaded,
            "num_train": detector.num_train_,
            "columns": [
                {"name": one.name, "kind": one.kind, "num_categories": one.num_categories}
                for one in detector.encoder_.columns
            ],
            "num_nodes": len(detector.test_.nodes),
            "reference": detector.test_.reference,
            "log_likelihood": detector.history_[-1],
            "heard": {
                **model.heard.facts,
                "monitor_rows": watch.last.num_rows,
                "monitor_last": watch.times["rows"],
                "alarm_row": watch.last.alarm_row,
                "last_alarm": watch.times["alarm"],
            },
            "reload_error": None if error is None else error[1],
        }

    async def report(self, asked: Asked) -> Response:
        """The page about a batch."""
        model = asked.model(self.models)
        batch = model.heard.find(asked.values.get("id"))
        return _html(await self.pool.run(report, model, batch, self.limits), REPORT_POLICY)

    async def reload(self, asked: Asked) -> Response:
        """The model files read again."""
        if self.token is None:
            raise Refusal(
                403,
                "authorization",
                "models are reloaded by request only where the service has a token: "
                "send SIGHUP to the process, or replace the file",
            )
        return _json({"models": await asyncio.to_thread(self.models.reload)})

    async def healthz(self, asked: Asked) -> Response:
        """The process is alive."""
        return _json({"status": "alive"})

    async def readyz(self, asked: Asked) -> Response:
        """Requests are served."""
        if not self.is_ready:
            raise Refusal(
                503, "service", "the service is starting or stopping", {"Retry-After": "1"}
            )
        return _json({"status": "ready", "models": list(self.models.loaded)})

    async def metrics(self, asked: Asked) -> Response:
        """Numbers for Prometheus."""
        return Response(self.numbers.text(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def openapi(self, asked: Asked) -> Response:
        """The description of the endpoints."""
        return _json(description(self.limits, self.models.alpha))

    async def page(self, asked: Asked) -> Response:
        """The page for people."""
        return _html(page(self.models.alpha), policy())

    async def api(self, asked: Asked) -> Response:
        """The description, for people."""
        return _html(page(name="api.html"), policy("api.html"))


def build_app(service: Service, watch_seconds: float) -> Guard:
    """The application of a service."""
    paths = description(service.limits, service.models.alpha)["paths"]
    operations = [
        (path, method, one) for path, methods in paths.items() for method, one in methods.items()
    ]
    hosts = LOOPBACK if service.token is None else ["*"]
    app = Starlette(
        routes=[
            Route(path, _endpoint(service, path, one), methods=[method.upper()])
            for path, method, one in operations
        ],
        lifespan=lambda app: _life(service, watch_seconds),
        exception_handlers={HTTPException: _http_error},
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False)],
    )
    # a path with a slash too many is no path: the answer says so
    app.router.redirect_slashes = False
    without_token = {path for path, _, one in operations if "security" not in one}
    return Guard(app, _refusal, service.token, without_token, service.numbers)


def description(limits: Limits, alpha: float = 0.05) -> dict[str, Any]:
    """The OpenAPI document, with the version, the limits and the level of a service."""
    found: dict[str, Any] = json.loads(_file("openapi.json"))
    found["info"]["version"] = pcircuit.__version__
    found["info"]["description"] += (
        f" Bodies have at most {limits.max_bytes} bytes, tables at most {limits.max_rows} rows."
    )
    found["components"]["parameters"]["alpha"]["schema"]["default"] = alpha
    return found


@contextlib.asynccontextmanager
async def _life(service: Service, watch_seconds: float) -> AsyncIterator[None]:
    """From ready to stopped; the model files are looked at again and again, never where the seconds are 0."""

    async def watch() -> None:
        while watch_seconds:
            await asyncio.sleep(watch_seconds)
            await asyncio.to_thread(service.models.reload, only_changed=True)

    watcher = asyncio.create_task(watch())
    service.is_ready = True
    yield
    service.is_ready = False
    watcher.cancel()
    service.pool.close()


def _endpoint(
    service: Service, path: str, operation: dict[str, Any]
) -> Callable[[Request], Awaitable[Response]]:
    """The handler of an operation, whose errors are answers."""
    handler = getattr(service, operation["operationId"])
    known = [one["$ref"].rpartition("/")[2] for one in operation["parameters"]]

    async def endpoint(request: Request) -> Response:
        try:
            return await handler(Asked(request, known))
        except (Exception, asyncio.CancelledError) as error:
            refusal = refusal_of(error)
            if refusal.status == 500:
                LOG.exception("%s failed", path)
            else:
                LOG.info("%s refused with %d: %s", path, refusal.status, refusal.message)
            # whose frames hold the body and, in a circle, the error: both would stay until they are collected
            traceback.clear_frames(error.__traceback__)
        return _refusal(refusal)

    endpoint.path = path  # type: ignore[attr-defined]  # which requests are counted by
    return endpoint


def _state_of(model: LoadedModel, result: Any) -> dict[str, Any]:
    """Where a monitor stands."""
    own = {"model": model.name, "digest": model.digest, "warning": model.watch.warning}
    return result.to_dict() | own


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
    return Response(json_bytes(value), status, headers, "application/json")


def _html(text: str, policy: str) -> Response:
    content = text.encode("utf-8", "replace")
    return HTMLResponse(content, headers={"Content-Security-Policy": policy})


@functools.cache
def page(alpha: float = 0.05, name: str = "page.html") -> str:
    """A page in the browser, with the level of the service in its form."""
    return (
        _file(name)
        .replace("/* the looks of a report */", STYLE)
        .replace('value="0.05"', f'value="{float(alpha)!r}"')
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


def _file(name: str) -> str:
    """The text of a file of this package."""
    return importlib.resources.files("hld.apps.serve").joinpath(name).read_text(encoding="utf-8")
