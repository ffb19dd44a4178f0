"""The endpoints, and their description as an OpenAPI 3.1 document: one list is the source of both."""

from dataclasses import dataclass
from typing import Any

import pcircuit
from hld.apps.serve.guard import OPEN
from hld.apps.serve.limits import Limits
from hld.apps.serve.tables import FORMS, SUMMARY_FORMS
from hld.apps.serve.work import DETAILS

PARAMETERS: dict[str, tuple[str, dict[str, Any]]] = {
    "model": ("Name of the model; may be left out where there is one.", {"type": "string"}),
    "alpha": (
        "Level of the test; by default the level that the service was started with (--alpha), which its "
        "monitors have, too.",
        {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    ),
    "detail": (
        "The whole result, or without columns, pairs and data quality.",
        {"type": "string", "enum": list(DETAILS), "default": DETAILS[0]},
    ),
    "after": (
        "Rows that the monitor must have seen before these; otherwise 409, and nothing changes.",
        {"type": "integer", "minimum": 0},
    ),
    "id": ("Number of a result, from its answer; by default the last one.", {"type": "string"}),
}
NUMBER, TEXT, TRUTH, COUNT = ({"type": name} for name in ("number", "string", "boolean", "integer"))
NAMES = {"type": "array", "items": TEXT}
COUNT_OR_NULL = {"type": ["integer", "null"]}
SCHEMAS = {
    "Error": {
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["status", "field", "message"],
                "properties": {"status": COUNT, "field": TEXT, "message": TEXT},
            }
        },
    },
    "Verdict": {
        "type": "object",
        "required": ["model", "digest", "id", "summary", "pvalue", "reject"],
        "properties": {
            "model": TEXT,
            "digest": TEXT,
            "id": TEXT,
            "summary": TEXT,
            "pvalue": NUMBER,
            "reject": TRUTH,
            "alpha": NUMBER,
            "statistic": NUMBER,
            "threshold": {"type": ["number", "null"]},
            "effect": NUMBER,
            "num_samples": COUNT,
            "num_missing": COUNT,
            "columns": {"type": "array", "items": {"type": "object"}},
            "pairs": {"type": "array", "items": {"type": "object"}},
            "data_quality": {"type": "object"},
        },
    },
    "Monitor": {
        "type": "object",
        "required": ["model", "digest", "num_rows", "alarm", "pvalue"],
        "properties": {
            "model": TEXT,
            "digest": TEXT,
            "num_rows": COUNT,
            "alarm": TRUTH,
            "alarm_row": COUNT_OR_NULL,
            "pvalue": NUMBER,
            "e_value": NUMBER,
            "log_e_value": NUMBER,
            "alpha": NUMBER,
            "witness": TEXT,
            "columns": NAMES,
            "num_missing": COUNT,
            "warning": {"type": ["string", "null"]},
            "absent": NAMES,
            "extra": NAMES,
            "history": {
                "type": "array",
                "items": {"type": "array", "prefixItems": [COUNT, NUMBER, NUMBER]},
            },
        },
    },
    "Models": {
        "type": "object",
        "required": ["models"],
        "properties": {
            "models": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["name", "digest", "columns"],
                    "properties": {
                        "name": TEXT,
                        "digest": TEXT,
                        "loaded": NUMBER,
                        "num_train": COUNT,
                        "num_nodes": COUNT,
                        "columns": {"type": "array", "items": {"type": "object"}},
                        "heard": {"type": "object"},
                    },
                },
            }
        },
    },
    "Columns": {
        "type": "object",
        "additionalProperties": False,
        "required": ["columns"],
        "properties": {"columns": {"type": "object", "additionalProperties": {"type": "array"}}},
    },
    "Rows": {
        "type": "object",
        "additionalProperties": False,
        "required": ["rows"],
        "properties": {"rows": {"type": "array", "items": {"type": "object"}}},
    },
    "Summary": {
        "type": "object",
        "required": ["format", "version", "model", "num_rows", "num_missing", "arrays"],
        "properties": {
            "format": {"const": "hld.summary"},
            "version": COUNT,
            "model": TEXT,
            "num_rows": COUNT,
            "num_missing": COUNT,
            "arrays": {"type": "object"},
        },
    },
    "Any": {"type": "object"},
}


@dataclass(frozen=True)
class Endpoint:
    """A path with a method."""

    method: str
    path: str
    handler: str
    summary: str
    parameters: tuple[Any, ...] = ()
    body: str | None = None
    answer: str = "Any"
    refusals: tuple[Any, ...] = ()


OF_A_TABLE = (400, 404, 408, 413, 415, 503, 504)
ENDPOINTS = (
    Endpoint(
        "POST",
        "/v1/test",
        "test",
        "Does a batch follow the model?",
        ("model", "alpha", "detail"),
        "table",
        "Verdict",
        OF_A_TABLE,
    ),
    Endpoint(
        "POST",
        "/v1/summaries",
        "summaries",
        "The same for a summary of a batch, or the sum of several.",
        ("model", "alpha", "detail"),
        "summary",
        "Verdict",
        OF_A_TABLE,
    ),
    Endpoint(
        "POST",
        "/v1/observe",
        "observe",
        "The next rows of a stream, for the monitor of the model.",
        ("model", "after"),
        "table",
        "Monitor",
        (*OF_A_TABLE, 409),
    ),
    Endpoint(
        "GET",
        "/v1/monitor",
        "monitor",
        "State and history of the monitor.",
        ("model",),
        answer="Monitor",
        refusals=(400, 404),
    ),
    Endpoint(
        "POST",
        "/v1/reset",
        "reset",
        "Reset the monitor: it forgets its rows and its alarm.",
        ("model",),
        answer="Monitor",
        refusals=(400, 404, 503, 504),
    ),
    Endpoint(
        "GET",
        "/v1/model",
        "model",
        "The models, their columns and versions.",
        ("model",),
        answer="Models",
        refusals=(400, 404),
    ),
    Endpoint(
        "GET",
        "/v1/report",
        "report",
        "The page about a tested batch.",
        ("model", "id"),
        answer="text/html",
        refusals=(400, 404, 503, 504),
    ),
    Endpoint("POST", "/v1/reload", "reload", "Read the model files again.", refusals=(400, 403)),
    Endpoint("GET", "/healthz", "healthz", "The process is alive."),
    Endpoint("GET", "/readyz", "readyz", "Requests are served.", refusals=(503,)),
    Endpoint("GET", "/metrics", "metrics", "Numbers for Prometheus.", answer="text/plain"),
    Endpoint("GET", "/openapi.json", "openapi", "This document."),
    Endpoint("GET", "/api", "api", "This document, for people.", answer="text/html"),
    Endpoint("GET", "/", "page", "The page for people.", answer="text/html"),
)


def description(limits: Limits, alpha: float = 0.05) -> dict[str, Any]:
    """The OpenAPI document."""
    paths: dict[str, Any] = {}
    for one in ENDPOINTS:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one, alpha)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "hld",
            "version": pcircuit.__version__,
            "description": "Does a batch of data still follow the distribution that a model learned? Bodies have "
            f"at most {limits.max_bytes} bytes, tables at most {limits.max_rows} rows.",
        },
        "paths": paths,
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(one: Endpoint, alpha: float) -> dict[str, Any]:
    """An endpoint in the words of OpenAPI."""
    content = (
        {one.answer: {}}
        if "/" in one.answer
        else {"application/json": {"schema": _schema(one.answer)}}
    )
    refusals = {
        403,
        503,
        *one.refusals,
        *([] if one.path in OPEN else [401]),
    }  # 503: too many connections
    answers = {"200": {"description": "Done.", "content": content}} | {
        str(status): {
            "description": "Refused.",
            "content": {"application/json": {"schema": _schema("Error")}},
        }
        for status in sorted(refusals)
    }
    operation = {
        "summary": one.summary,
        "operationId": one.handler,
        "responses": answers,
        "parameters": [
            {
                "name": name,
                "in": "query",
                "description": PARAMETERS[name][0],
                "schema": PARAMETERS[name][1] | ({"default": alpha} if name == "alpha" else {}),
            }
            for name in one.parameters
        ],
    }
    if one.body == "table":
        forms = {
            media: {"schema": {"oneOf": [_schema("Columns"), _schema("Rows")]}}
            if form == "json"
            else {}
            for media, form in FORMS.items()
        }
        operation["requestBody"] = {"required": True, "content": forms}
    if one.body == "summary":
        either = {"oneOf": [_schema("Summary"), {"type": "array", "items": _schema("Summary")}]}
        operation["requestBody"] = {
            "required": True,
            "content": {media: {"schema": either} for media in SUMMARY_FORMS},
        }
    return operation | ({} if one.path in OPEN else {"security": [{"token": []}, {}]})


def _schema(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}
