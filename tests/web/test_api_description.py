"""The page that shows the OpenAPI document, and what announces that an operation will go."""

import re
from datetime import UTC, datetime

from flask import Flask, Response
from flask.testing import FlaskClient

from snoozer.web.api import openapi
from snoozer.web.api.deprecation import Deprecation
from snoozer.web.api.models.document import Document
from snoozer.web.people.programs import reference


def test_the_page_shows_every_operation_and_schema_without_a_script_from_elsewhere(client: FlaskClient) -> None:
    document = client.get("/api/v1/openapi.json").get_json()
    page = client.get("/docs/api").text
    for path, item in document["paths"].items():
        for method, described in item.items():
            assert f"<code>{method.upper()} {path}</code>" in page
            assert f'id="{described["operationId"]}"' in page
    ids = set(re.findall(r'id="([\w-]+)"', page))
    assert {f"schema-{name}" for name in document["components"]["schemas"]} <= ids
    assert set(re.findall(r'href="#([\w-]+)"', page)) - {"main"} <= ids
    assert "scope snoozes:write" in page
    assert not re.findall(r'src="(?!/)', page)


def test_a_type_is_shown_in_words() -> None:
    assert reference.kind_of({"type": ["string", "null"], "format": "date-time"}) == "string (date-time) or null"
    assert reference.kind_of({"enum": ["a", None]}) == '"a" or null'
    assert reference.kind_of({"type": "array", "items": {"$ref": "#/components/schemas/Send"}}) == "array of Send"
    assert reference.kind_of({"type": "integer", "minimum": 1, "maximum": 9}) == "integer, from 1, to 9"


def test_a_deprecated_operation_announces_when_it_ends(app: Flask) -> None:
    end = Deprecation(
        since=datetime(2026, 12, 1, tzinfo=UTC),
        sunset=datetime(2027, 12, 1, tzinfo=UTC),
        link="https://snoozer.example/docs",
    )

    @openapi.operation("old", returns={200: (Document, "Old.")}, scope=None, deprecated=end)
    def view() -> Response:
        """An old one"""
        return Response("{}", mimetype="application/json")

    app.view_functions["api.browse"] = view
    answer = app.test_client().get("/api/v1/snoozes")
    assert answer.headers["Deprecation"] == "@1796083200"
    assert answer.headers["Sunset"] == "Wed, 01 Dec 2027 00:00:00 GMT"
    assert answer.headers["Link"] == '<https://snoozer.example/docs>; rel="deprecation"; type="text/html"'
    assert "Deprecation" not in app.test_client().get("/api/v1/openapi.json").headers
    with app.app_context():
        document = openapi.generate()
    assert document["paths"]["/snoozes"]["get"]["deprecated"] is True
    assert not document["paths"]["/openapi.json"]["get"].get("deprecated", False)
