"""The description of the endpoints: complete, valid, and kept by the answers."""

import json

import pytest
from live_server import csv_bytes

from hld.apps.serve.app import Service
from hld.apps.serve.guard import OPEN
from hld.apps.serve.limits import Limits
from hld.apps.serve.openapi import ENDPOINTS, PARAMETERS, SCHEMAS, description
from hld.apps.serve.tables import FORMS, SUMMARY_FORMS


def test_the_description_has_every_endpoint_and_is_of_openapi(client):
    document = client.json("GET", "/openapi.json")[1]
    assert document == json.loads(json.dumps(description(Limits())))
    assert {
        (path, method) for path, methods in document["paths"].items() for method in methods
    } == {(one.path, one.method.lower()) for one in ENDPOINTS}
    names = set(document["components"]["schemas"])
    text = json.dumps(document)
    assert all(f'"#/components/schemas/{name}"' in text for name in names)
    validator = pytest.importorskip("openapi_spec_validator")
    validator.validate(document)


def test_answers_are_of_the_described_schemas(client, shop):
    jsonschema = pytest.importorskip("jsonschema")
    document = client.json("GET", "/openapi.json")[1]
    table = csv_bytes(shop["moved"]), "text/csv"
    for path, method, arguments in (
        ("/v1/test", "post", table),
        ("/v1/observe", "post", table),
        ("/v1/model", "get", ()),
        ("/v1/monitor", "get", ()),
        ("/v1/reset", "post", ()),
    ):
        answers = document["paths"][path][method]["responses"]
        schema = answers["200"]["content"]["application/json"]["schema"]
        jsonschema.validate(
            client.json(method.upper(), path, *arguments)[1],
            {**schema, "components": document["components"]},
        )
        refused = client.json(method.upper(), path, *arguments, nonsense=1)[1]
        jsonschema.validate(
            refused, {"$ref": "#/components/schemas/Error", "components": document["components"]}
        )


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda one: one.path)
def test_an_endpoint_is_described_as_it_is(endpoint):
    """Its method, parameters, bodies, answers, statuses, and whether it needs the token."""
    assert callable(getattr(Service, endpoint.handler))
    found = description(Limits(), 0.01)["paths"][endpoint.path][endpoint.method.lower()]
    assert [one["name"] for one in found["parameters"]] == list(endpoint.parameters)
    assert {one["name"]: one["schema"].get("default") for one in found["parameters"]}.get(
        "alpha"
    ) in (None, 0.01)
    bodies = {"table": set(FORMS), "summary": set(SUMMARY_FORMS), None: set()}[endpoint.body]
    assert set(found.get("requestBody", {"content": {}})["content"]) == bodies
    assert ("requestBody" in found) == (endpoint.method == "POST" and endpoint.body is not None)
    statuses = {
        "200",
        "403",
        "503",
        *map(str, endpoint.refusals),
        *([] if endpoint.path in OPEN else ["401"]),
    }
    assert set(found["responses"]) == statuses
    assert ("security" in found) == (endpoint.path not in OPEN)
    (media,) = found["responses"]["200"]["content"]
    assert media == (endpoint.answer if "/" in endpoint.answer else "application/json")


def test_limits_are_told_and_nothing_is_described_that_is_not_used():
    document = description(Limits(max_bytes=1234, max_rows=567))
    assert "1234 bytes" in document["info"]["description"]
    assert "567 rows" in document["info"]["description"]
    assert {name for one in ENDPOINTS for name in one.parameters} == set(PARAMETERS)
    assert set(document["components"]["schemas"]) == set(SCHEMAS)
    for schema in SCHEMAS.values():
        assert set(schema.get("required", ())) <= set(schema.get("properties", ()))
