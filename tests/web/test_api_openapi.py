"""The description and the routes are the same thing."""

import re
from typing import Any

from flask import Flask
from flask.testing import FlaskClient

from tests.factories import People, a_snooze

METHODS = {"get", "post", "put", "patch", "delete"}


def described(client: FlaskClient) -> dict[str, Any]:
    document: dict[str, Any] = client.get("/api/v1/openapi.json").get_json()
    return document


def test_every_route_is_described_and_nothing_else_is(app: Flask, client: FlaskClient) -> None:
    routed = {
        (re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule.removeprefix("/api/v1")), method.lower())
        for rule in app.url_map.iter_rules()
        if rule.rule.startswith("/api")
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }
    told = {
        (path, method)
        for path, operations in described(client)["paths"].items()
        for method in operations
        if method in METHODS
    }
    assert told == routed


def test_every_reference_leads_somewhere(client: FlaskClient) -> None:
    document = described(client)
    names = set(re.findall(r"#/components/schemas/(\w+)", str(document)))
    assert names == set(document["components"]["schemas"])
    assert document["servers"] == [{"url": "http://snoozer.example/api/v1"}]


def test_answers_hold_what_is_described(client: FlaskClient, people: People, engine: Any) -> None:
    ann = people.ann()
    schemas = described(client)["components"]["schemas"]
    made = client.post("/api/v1/snoozes", json={"message_id": "m", "when": "tomorrow"}, headers=ann.bearer).get_json()
    assert set(made) == set(schemas["Snooze"]["properties"])
    told = client.get(f"/api/v1/snoozes/{a_snooze(engine)}", headers=ann.bearer).get_json()
    own = schemas["SnoozeHistory"]["allOf"][1]["properties"]
    assert set(told) == set(schemas["Snooze"]["required"]) | set(own)
    page = client.get("/api/v1/snoozes", headers=ann.bearer).get_json()
    assert set(page) == set(schemas["SnoozePage"]["properties"])
    problem = client.get("/api/v1/when?phrase=gibberish", headers=ann.bearer).get_json()
    assert set(problem) <= set(schemas["Problem"]["properties"])
