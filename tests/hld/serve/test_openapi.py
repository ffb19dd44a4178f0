"""The description of the endpoints: complete, valid, and kept by the answers."""
import json

import pytest
from live_server import csv_bytes

from hld.serve.limits import Limits
from hld.serve.openapi import ENDPOINTS, description


def test_the_description_has_every_endpoint_and_is_of_openapi(client):
    document = client.json("GET", "/openapi.json")[1]
    assert document == json.loads(json.dumps(description(Limits())))
    assert {(path, method) for path, methods in document["paths"].items() for method in methods} == {
        (one.path, one.method.lower()) for one in ENDPOINTS}
    names = set(document["components"]["schemas"])
    text = json.dumps(document)
    assert all(f'"#/components/schemas/{name}"' in text for name in names)
    validator = pytest.importorskip("openapi_spec_validator")
    validator.validate(document)


def test_answers_are_of_the_described_schemas(client, shop):
    jsonschema = pytest.importorskip("jsonschema")
    document = client.json("GET", "/openapi.json")[1]
    table = csv_bytes(shop["moved"]), "text/csv"
    for path, method, arguments in (("/v1/test", "post", table), ("/v1/observe", "post", table),
                                    ("/v1/model", "get", ()), ("/v1/monitor", "get", ()), ("/v1/reset", "post", ())):
        answers = document["paths"][path][method]["responses"]
        schema = answers["200"]["content"]["application/json"]["schema"]
        jsonschema.validate(client.json(method.upper(), path, *arguments)[1],
                            {**schema, "components": document["components"]})
        refused = client.json(method.upper(), path, *arguments, nonsense=1)[1]
        jsonschema.validate(refused, {"$ref": "#/components/schemas/Error", "components": document["components"]})
