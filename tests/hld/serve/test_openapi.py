"""The description of the endpoints: valid, complete, and kept by the answers."""

import json

import pytest
from live_server import csv_bytes

from hld.apps.serve.app import Service, description
from hld.apps.serve.limits import Limits


def test_the_description_is_of_openapi_and_has_the_limits_of_the_service(client):
    document = client.json("GET", "/openapi.json")[1]
    assert document == description(Limits())
    said = description(Limits(max_bytes=1234, max_rows=567), 0.01)
    assert "1234 bytes, tables at most 567 rows" in said["info"]["description"]
    assert said["components"]["parameters"]["alpha"]["schema"]["default"] == 0.01
    text = json.dumps(document)
    for kind in ("parameters", "responses", "schemas"):
        for name in document["components"][kind]:
            assert f'"#/components/{kind}/{name}"' in text, name
    pytest.importorskip("openapi_spec_validator").validate(document)


def test_every_endpoint_is_described_as_it_is(guarded):
    """Its handler, its parameters, its refusals, and whether it needs the token."""
    client, _ = guarded
    for path, methods in description(Limits())["paths"].items():
        for method, one in methods.items():
            assert callable(getattr(Service, one["operationId"]))
            assert one["parameters"] == [] or "400" in one["responses"]
            needs_token = "security" in one
            assert needs_token == ("401" in one["responses"])
            found = client.ask(method.upper(), path, headers={"Authorization": ""})[0]
            assert found == (401 if needs_token else 200), path


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
