"""The OpenAPI document describes every route and its responses."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from jsonschema import Draft202012Validator, FormatChecker
from openapi_spec_validator import OpenAPIV31SpecValidator
from sqlalchemy import Engine
from werkzeug.test import TestResponse

from snoozer.db.scopes import ALL_SCOPES
from snoozer.queue.promise import CHOICES
from tests.factories import HOUR, People, a_snooze, now

METHODS = {"get", "post", "put", "patch", "delete"}

Call = Callable[..., TestResponse]


@pytest.fixture
def document(client: FlaskClient) -> dict[str, Any]:
    served: dict[str, Any] = client.get("/api/v1/openapi.json").get_json()
    return served


@pytest.fixture
def call(client: FlaskClient, people: People, document: dict[str, Any]) -> Call:
    """Sends a request as Ann and checks that the response is one that the document describes."""
    bearer = people.ann().bearer

    def send(method: str, path: str, *, described_as: str | None = None, **options: Any) -> TestResponse:
        response = client.open(f"/api/v1{path}", method=method, **({"headers": bearer} | options))
        operation = document["paths"][described_as or path.partition("?")[0]][method.lower()]
        described = operation["responses"][str(response.status_code)]["content"][response.mimetype]["schema"]
        Draft202012Validator({**document, **described}).validate(response.get_json())
        return response

    return send


def test_every_route_is_described_and_nothing_else_is(app: Flask, document: dict[str, Any]) -> None:
    routed = {
        (re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule.removeprefix("/api/v1")), method.lower())
        for rule in app.url_map.iter_rules()
        if rule.rule.startswith("/api")
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }
    described = {
        (path, method) for path, operations in document["paths"].items() for method in operations if method in METHODS
    }
    assert described == routed


def test_the_document_is_valid_openapi_3_1(document: dict[str, Any]) -> None:
    OpenAPIV31SpecValidator(document).validate()


def test_every_reference_is_defined_and_every_schema_is_used(document: dict[str, Any]) -> None:
    names = set(re.findall(r"#/components/schemas/(\w+)", str(document)))
    assert names == set(document["components"]["schemas"])
    assert document["servers"] == [{"url": "http://snoozer.example/api/v1"}]


def test_every_route_but_the_document_requires_a_bearer_token_with_one_scope(document: dict[str, Any]) -> None:
    assert document["components"]["securitySchemes"]["bearer"]["scheme"] == "bearer"
    for path, operations in document["paths"].items():
        for operation in operations.values():
            if path == "/openapi.json":
                assert operation["security"] == []
                continue
            [requirement] = operation["security"]
            [scope] = requirement["bearer"]
            assert scope in ALL_SCOPES


def test_every_refusal_is_described_as_a_problem(document: dict[str, Any]) -> None:
    for operations in document["paths"].values():
        for operation in operations.values():
            refusals = {code: reply for code, reply in operation["responses"].items() if code >= "400"}
            assert {"413", "500"} <= set(refusals)
            for reply in refusals.values():
                schema = {"schema": {"$ref": "#/components/schemas/Problem"}}
                assert reply["content"] == {"application/problem+json": schema}


def test_every_answer_has_an_example_that_its_schema_takes(document: dict[str, Any]) -> None:
    examples = {}
    for path, operations in document["paths"].items():
        for operation in operations.values():
            for code in ("200", "201"):
                media = operation["responses"].get(code, {}).get("content", {}).get("application/json")
                if media is not None and path != "/openapi.json":
                    validator = Draft202012Validator({**document, **media["schema"]}, format_checker=FormatChecker())
                    validator.validate(media["example"])
                    examples[operation["operationId"]] = media["example"]
    assert "…" not in str(examples), "a field of text has no example and no usual value"
    assert examples["getSnooze"]["sends"][0]["state"] == "sent"
    assert examples["changeSnoozes"]["results"][0]["snooze"]["subject"] == "Offer"


def test_requests_are_described_with_their_fields_limits_and_examples(document: dict[str, Any]) -> None:
    schemas, paths = document["components"]["schemas"], document["paths"]
    new = schemas["NewSnooze"]
    timed = {"remind_at", "when", "recurrence", "zone", "locale", *CHOICES}
    fields = {"message_id", "subject", "sender_email", "mailbox", "conversation", "note"} | timed
    assert set(new["properties"]) == fields
    of_new = {"message_id", "subject", "sender_email", "mailbox", "conversation"}
    assert set(schemas["Change"]["properties"]) == fields - of_new | {"occurrence"}
    assert new["additionalProperties"] is schemas["Change"]["additionalProperties"] is False
    assert new["properties"]["when"]["examples"] == ["tomorrow 8am"]
    limits = {name: field["maxLength"] for name, field in new["properties"].items() if "maxLength" in field}
    assert limits == {
        "message_id": 998,
        "subject": 998,
        "note": 2000,
        "when": 200,
        "serialization_key": 200,
        "reference": 200,
    }
    limit = paths["/snoozes"]["get"]["parameters"][0]["schema"]
    assert limit == {"type": "integer", "minimum": 1, "maximum": 200, "default": 50}
    for example in new["examples"] + schemas["Change"]["examples"]:
        assert set(example) <= fields | {"occurrence"}
    parameters = {
        (path, parameter["name"], parameter["in"], parameter["required"])
        for path in ("/snoozes", "/when", "/snoozes/{id}")
        for operation in paths[path].values()
        for parameter in operation["parameters"]
    }
    assert parameters == {
        ("/snoozes", "Idempotency-Key", "header", False),
        ("/snoozes/{id}", "If-Match", "header", False),
        *((path, "If-None-Match", "header", False) for path in ("/snoozes", "/snoozes/{id}", "/when")),
        *(("/snoozes", name, "query", False) for name in ("limit", "cursor", "state", "q", "message_id")),
        ("/when", "phrase", "query", True),
        *(("/when", name, "query", False) for name in ("zone", "locale", "now")),
        ("/snoozes/{id}", "id", "path", True),
    }


TEXTS = ("", " ", "\r\n", "a", "a\x00b", "a\nb", None, 5, "tomorrow", "Europe/Berlin", "en_GB", "ann@example.org")
_NAMES = ("message_id", "subject", "sender_email", "note", "when", "remind_at", "zone", "locale")
FIELDS = (*_NAMES, "reply_policy", "reply_scope", "at_any_hour")


def test_what_the_schema_refuses_is_refused(
    client: FlaskClient, people: People, engine: Engine, document: dict[str, Any]
) -> None:
    """And what is refused for its emptiness, a null or a NUL is refused by the schema."""
    bearer, id = people.ann().bearer, a_snooze(engine)
    bases = (
        ("POST", "/api/v1/snoozes", "NewSnooze", {"message_id": "m", "when": "tomorrow"}),
        ("POST", "/api/v1/snoozes", "NewSnooze", {"subject": "s", "remind_at": "2031-01-01T00:00:00Z"}),
        ("PATCH", f"/api/v1/snoozes/{id}", "Change", {"when": "in 3 days"}),
        ("PATCH", f"/api/v1/snoozes/{id}", "Change", {"note": "n"}),
    )
    for method, path, schema, base in bases:
        validator = Draft202012Validator({**document, "$ref": f"#/components/schemas/{schema}"})
        assert validator.is_valid(base)
        for field in FIELDS:
            if schema == "Change" and field in {"message_id", "subject", "sender_email"}:
                continue
            for value in TEXTS:
                body = base | {field: value}
                status = client.open(path, method=method, json=body, headers=bearer).status_code
                if not validator.is_valid(body):
                    assert status == 422, body
                elif value is None or "\x00" in str(value) or not str(value).strip():
                    assert status in {200, 201}, body


def test_parameters_of_a_query_are_never_null(document: dict[str, Any]) -> None:
    for operations in document["paths"].values():
        for operation in operations.values():
            for parameter in operation["parameters"]:
                assert "null" not in parameter["schema"]["type"]
                assert None not in parameter["schema"].get("enum", ())


def test_two_processes_generate_the_same_document(document: dict[str, Any]) -> None:
    program = """
import json, sys
from snoozer.db.engine import make_engine
from snoozer.settings import Settings
from snoozer.web import create_app

engine = make_engine("postgresql+psycopg://127.0.0.1:9/none", name="openapi")
app = create_app(engine=engine, settings=Settings(**json.load(sys.stdin)))
print(app.test_client().get("/api/v1/openapi.json").get_data(as_text=True))
"""
    given = {
        "DATABASE_URL": "postgresql://127.0.0.1:9/none",
        "SECRET_KEY": "a-test-key-of-enough-length",
        "BASE_URL": "http://snoozer.example",
        "SMTP_URL": "smtp://127.0.0.1:9",
        "MAIL_FROM": "snoozer@snoozer.example",
    }
    other = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(given),
        env=os.environ | {"PYTHONHASHSEED": "1"},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    ).stdout
    assert json.dumps(json.loads(other)) == json.dumps(document)


def test_responses_match_their_schemas(call: Call, engine: Engine) -> None:
    one = "/snoozes/{id}"
    key = {"json": {"message_id": "m", "when": "tomorrow"}}
    made = call("POST", "/snoozes", **key)
    assert (made.status_code, call("POST", "/snoozes", **key).status_code) == (201, 200)
    failed = a_snooze(engine, attempts=2, last_error="rcpt: 550 unknown", last_error_at=now(), remind_at=now() + HOUR)
    shown = call("GET", f"/snoozes/{failed}", described_as=one)
    assert shown.get_json()["last_error"] == "rcpt: 550 unknown"
    assert call("GET", "/snoozes?limit=1").get_json()["next"]
    path = f"/snoozes/{made.get_json()['id']}"
    assert call("PATCH", path, described_as=one, json={"when": "every day 9am"}).status_code == 200
    assert call("DELETE", path, described_as=one).status_code == 200
    for phrase in ("tomorrow", "every monday 9am", "until they reply"):
        assert call("GET", f"/when?phrase={phrase}").status_code == 200
    assert call("GET", "/openapi.json").status_code == 200


def test_refusals_match_their_schemas(call: Call, engine: Engine) -> None:
    one, over = "/snoozes/{id}", a_snooze(engine, inactive=True, outcome="cancelled", finished_at=now())
    refused = [
        (400, call("POST", "/snoozes", data=b"{", content_type="application/json")),
        (401, call("GET", "/snoozes", headers={})),
        (404, call("GET", "/snoozes/77", described_as=one)),
        (409, call("PATCH", f"/snoozes/{over}", described_as=one, json={"when": "tomorrow"})),
        (409, call("DELETE", f"/snoozes/{over}", described_as=one)),
        (413, call("POST", "/snoozes", data=b"x" * 70_000)),
        (415, call("POST", "/snoozes", data=b"a=b", content_type="text/plain")),
        (422, call("POST", "/snoozes", json={"when": "tomorow", "message_id": "m"})),
        (422, call("POST", "/snoozes", json={"when": "tomorrow", "zone": "Mars/Olympus", "to": "eve", "subject": 7})),
        (422, call("PATCH", f"/snoozes/{over}", described_as=one, json={"note": "n", "zone": "UTC"})),
        (422, call("GET", "/snoozes?limit=0")),
        (422, call("GET", "/when?phrase=gibberish")),
        (422, call("GET", "/when?phrase=tomorrow&zone=nowhere")),
    ]
    assert [response.status_code for _, response in refused] == [status for status, _ in refused]
