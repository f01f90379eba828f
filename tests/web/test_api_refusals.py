"""Every refusal is a problem (RFC 9457) with a code, and leaves nothing half-saved."""

from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.db import schema
from snoozer.db.engine import make_engine
from snoozer.settings import Settings
from snoozer.web import body_limits
from tests.factories import People, a_snooze
from tests.web.problems import is_problem

SNOOZES = "/api/v1/snoozes"


def nothing_is_saved(engine: Engine) -> bool:
    with engine.connect() as connection:
        return not connection.execute(text("SELECT count(*) FROM email_snoozes")).scalar_one()


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ({}, "invalid_fields", "when"),
        ({"message_id": "m"}, "invalid_fields", "when"),
        ({"message_id": "m", "when": "tomorrow", "remind_at": "2099-01-01T00:00:00Z"}, "invalid_fields", "remind_at"),
        ({"when": "tomorrow"}, "invalid_fields", "message_id"),
        ({"when": "tomorrow", "subject": "\u200b"}, "invalid_fields", "message_id"),
        ({"message_id": "m", "when": "tomorrow", "to": "eve@evil.example"}, "invalid_fields", "to"),
        ({"message_id": "m", "when": "tomorrow", "user_email": "eve@evil.example"}, "invalid_fields", "user_email"),
        ({"message_id": 7, "when": "tomorrow"}, "invalid_fields", "message_id"),
        ({"message_id": ["m"], "when": "tomorrow"}, "invalid_fields", "message_id"),
        ({"message_id": "m", "when": True}, "invalid_fields", "when"),
        ({"message_id": "m", "remind_at": 1773300000}, "invalid_fields", "remind_at"),
        ({"message_id": "m", "remind_at": "soon"}, "invalid_fields", "remind_at"),
        ({"message_id": "m", "remind_at": "2099-02-30T08:00:00Z"}, "invalid_fields", "remind_at"),
        ({"message_id": "m", "remind_at": "2099-02-03"}, "invalid_fields", "remind_at"),
        ({"message_id": "m", "when": "tomorrow", "zone": "Mars/Olympus"}, "invalid_fields", "zone"),
        ({"message_id": "m", "when": "tomorrow", "zone": "../../etc/passwd"}, "invalid_fields", "zone"),
        ({"message_id": "m", "when": "tomorrow", "locale": "klingon!"}, "invalid_fields", "locale"),
        ({"message_id": "m", "when": "tomorrow", "locale": "xx_YY"}, "invalid_fields", "locale"),
        ({"message_id": "m", "when": "tomorrow", "subject": "x" * 999}, "invalid_fields", "subject"),
        ({"message_id": "m", "when": "tomorrow", "sender_email": "no address"}, "invalid_fields", "sender_email"),
        ({"message_id": "m\x00", "when": "tomorrow"}, "invalid_fields", "message_id"),
        ({"message_id": "m", "when": "tomorrow", "note": "\ud800"}, "invalid_fields", "note"),
    ],
)
def test_a_wrong_field_is_named(
    client: FlaskClient, people: People, engine: Engine, body: dict[str, Any], code: str, field: str
) -> None:
    problem = is_problem(client.post(SNOOZES, json=body, headers=people.ann().bearer), 422, code)
    assert [error["field"] for error in problem["errors"]] == [field]
    assert nothing_is_saved(engine)


def test_every_wrong_field_is_named_in_the_order_of_the_body(client: FlaskClient, people: People) -> None:
    body = {"to": "eve", "zone": "Mars/Olympus", "note": 7, "\ud800": "x", "when": "tomorrow"}
    problem = is_problem(client.post(SNOOZES, json=body, headers=people.ann().bearer), 422, "invalid_fields")
    assert [error["field"] for error in problem["errors"]] == ["to", "zone", "note", "?"]
    assert problem["detail"] == " ".join(error["detail"] for error in problem["errors"])


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"message_id": "m", "remind_at": "2001-01-01T00:00:00Z"}, "past"),
        ({"message_id": "m", "remind_at": "2099-01-01T00:00:00Z"}, "too_far"),
        ({"message_id": "m", "remind_at": "2001-01-01T00:00:00"}, "past"),
        ({"message_id": "m", "when": "yesterday 8am"}, "past"),
        ({"message_id": "m", "when": "when the cows come home"}, "unrecognised"),
        ({"message_id": "m", "when": ""}, "empty"),
        ({"message_id": "m", "when": "until they reply"}, "condition"),
        ({"message_id": "m", "when": "tomorrow", "note": "x" * 2001}, "note_too_long"),
        ({"message_id": "", "when": "tomorrow"}, "bad_message_id"),
        ({"message_id": "x" * 999, "when": "tomorrow"}, "bad_message_id"),
        ({"message_id": "復" * 333, "when": "tomorrow"}, "bad_message_id"),
        ({"message_id": "復" * 998, "when": "tomorrow"}, "bad_message_id"),
    ],
)
def test_a_time_or_text_that_cannot_be_kept_is_refused_with_its_code(
    client: FlaskClient, people: People, engine: Engine, body: dict[str, Any], code: str
) -> None:
    is_problem(client.post(SNOOZES, json=body, headers=people.ann().bearer), 422, code)
    assert nothing_is_saved(engine)


def test_a_message_id_of_998_octets_is_taken(client: FlaskClient, people: People) -> None:
    ann = people.ann()
    for name in ("x" * 998, "復" * 332):
        body = {"message_id": name, "when": "tomorrow"}
        assert client.post(SNOOZES, json=body, headers=ann.bearer).status_code == 201


@pytest.mark.parametrize(
    ("field", "value", "limit"),
    [
        ("subject", "a\x00", "998"),
        ("subject", "x" * 9000, "998"),
        ("note", "a\x00", "2000"),
        ("note", "x" * 2001, "2000"),
    ],
)
def test_the_refusal_of_a_long_text_names_the_limit_of_its_field(
    client: FlaskClient, people: People, field: str, value: str, limit: str
) -> None:
    ann = people.ann()
    body = {"message_id": "m", "when": "tomorrow"}
    detail = client.post(SNOOZES, json=body | {field: value}, headers=ann.bearer).get_json()["detail"]
    assert limit in detail
    assert "under" not in detail
    assert client.post(SNOOZES, json=body | {field: "x" * int(limit)}, headers=ann.bearer).status_code == 201


def test_a_refused_phrase_comes_with_suggestions_that_work(client: FlaskClient, people: People) -> None:
    ann = people.ann()
    body = {"message_id": "m", "when": "tomorow 8 o clck"}
    problem = is_problem(client.post(SNOOZES, json=body, headers=ann.bearer), 422, "unrecognised")
    assert 1 <= len(problem["suggestions"]) <= 3
    for phrase in problem["suggestions"]:
        assert client.post(SNOOZES, json={"message_id": phrase, "when": phrase}, headers=ann.bearer).status_code == 201


@pytest.mark.parametrize(
    ("data", "kind", "status", "code"),
    [
        (b"{", "application/json", 400, "bad_json"),
        (b"", "application/json", 400, "bad_json"),
        (b"\xff\xfe\xff", "application/json", 400, "bad_json"),
        (b'{"when": NaN}', "application/json", 400, "bad_json"),
        (b'{"when": "tomorrow", "when": "today"}', "application/json", 400, "bad_json"),
        (b"[" * 30_000, "application/json", 400, "bad_json"),
        (b"[]", "application/json", 422, "not_an_object"),
        (b"null", "application/json", 422, "not_an_object"),
        (b'{"when": "tomorrow"}', "text/plain", 415, "not_json"),
        (b"when=tomorrow", "application/x-www-form-urlencoded", 415, "not_json"),
    ],
)
def test_a_body_that_is_no_json_object_is_refused(
    client: FlaskClient, people: People, data: bytes, kind: str, status: int, code: str
) -> None:
    answer = client.post(SNOOZES, data=data, content_type=kind, headers=people.ann().bearer)
    is_problem(answer, status, code)


def every_route(app: Flask) -> list[tuple[str, str]]:
    return [
        (method, rule.rule.replace("<row:id>", "1").replace("<uuid:id>", "00000000-0000-4000-8000-000000000001"))
        for rule in app.url_map.iter_rules()
        if rule.endpoint.startswith("api.")
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"})
    ]


def test_no_route_takes_a_large_body(app: Flask, client: FlaskClient, people: People) -> None:
    ann = people.ann()
    many = {rule.rule for rule in app.url_map.iter_rules() if rule.endpoint in body_limits.BULK}
    for method, path in every_route(app):
        limit = body_limits.MAX_BULK_BYTES if path in many else body_limits.MAX_BODY_BYTES
        for headers in ({}, ann.bearer):
            answer = client.open(path, method=method, data=b"x" * (limit + 1), headers=headers)
            is_problem(answer, 413, "too_large")


def test_a_browsers_cookie_is_no_token(client: FlaskClient, people: People) -> None:
    client.set_cookie("snoozer_session", people.ann().session)
    is_problem(client.get(SNOOZES), 401, "no_token")


def test_an_unverified_address_gets_no_reminders(client: FlaskClient, people: People, engine: Engine) -> None:
    ann = people.ann()
    with engine.begin() as connection:
        connection.execute(text("UPDATE accounts SET verified_at = NULL"))
    answer = client.post(SNOOZES, json={"message_id": "m", "when": "tomorrow"}, headers=ann.bearer)
    is_problem(answer, 403, "unverified")
    assert nothing_is_saved(engine)


@pytest.mark.parametrize("query", ["limit=0", "limit=201", "limit=ten", "limit=-1", "limit=%D9%A3"])
def test_a_wrong_limit_is_refused(client: FlaskClient, people: People, query: str) -> None:
    problem = is_problem(client.get(f"{SNOOZES}?{query}", headers=people.ann().bearer), 422, "invalid_fields")
    assert problem["errors"][0]["field"] == "limit"


@pytest.mark.parametrize(
    "query",
    [
        *("cursor=xyz", "cursor=%00", "cursor=" + "9" * 400, "state=lost", "page=2", "limit=1&limit=2"),
        *(
            "message_id=",
            "message_id=a&message_id=",
            "message_id=a%00",
            "message_id=a&state=sent",
            "message_id=a&limit=9",
        ),
        "&".join(51 * ["message_id=a"]),
    ],
)
def test_a_made_up_query_is_refused(client: FlaskClient, people: People, query: str) -> None:
    is_problem(client.get(f"{SNOOZES}?{query}", headers=people.ann().bearer), 422, "invalid_fields")


@pytest.mark.parametrize("body", [{}, {"zone": "UTC"}, {"note": "n", "zone": "UTC"}, {"subject": "s"}])
def test_a_change_of_nothing_is_refused(
    client: FlaskClient, people: People, engine: Engine, body: dict[str, Any]
) -> None:
    ann, id = people.ann(), a_snooze(engine)
    is_problem(client.patch(f"{SNOOZES}/{id}", json=body, headers=ann.bearer), 422, "invalid_fields")


@pytest.mark.parametrize("id", ["0", "01", "-1", "1.0", f"{2**63}", "9" * 19, "1" + "0" * 19, "9" * 400])
def test_an_id_that_no_row_can_have_is_not_found_by_any_method(client: FlaskClient, people: People, id: str) -> None:
    """It was 405 where the path had the shape of another method's route."""
    ann = people.ann()
    for method in ("GET", "PATCH", "DELETE", "PUT"):
        answer = client.open(f"{SNOOZES}/{id}", method=method, json={"note": "n"}, headers=ann.bearer)
        is_problem(answer, 404, "not_found")


def test_the_largest_id_of_a_row_is_one(client: FlaskClient, people: People, engine: Engine) -> None:
    ann, largest = people.ann(), 2**63 - 1
    for id in (largest, largest - 8, largest // 10, 1):
        a_snooze(engine, id=id, message_id=f"<{id}@mail.example>")
        assert client.get(f"{SNOOZES}/{id}", headers=ann.bearer).status_code == 200


@pytest.mark.parametrize("control", ["\r", "\n", "\r\n", "\t", "\x00", "\x1f", "\x7f", "\x85", "\u2028", "\u2029"])
def test_a_message_id_or_sender_with_a_control_character_is_refused(
    client: FlaskClient, people: People, engine: Engine, control: str
) -> None:
    ann = people.ann()
    for name in (f"<a{control}b@mail.example>", f"a{control}", f"{control}a"):
        answer = client.post(SNOOZES, json={"message_id": name, "when": "tomorrow"}, headers=ann.bearer)
        assert is_problem(answer, 422, "invalid_fields")["errors"][0]["field"] == "message_id"
    body = {"message_id": "m", "when": "tomorrow", "sender_email": f"bob{control}@mail.example"}
    answer = client.post(SNOOZES, json=body, headers=ann.bearer)
    assert is_problem(answer, 422, "invalid_fields")["errors"][0]["field"] == "sender_email"
    assert nothing_is_saved(engine)


def test_a_cursor_that_is_spelt_otherwise_is_refused(client: FlaskClient, people: People, engine: Engine) -> None:
    ann = people.ann()
    for _ in range(2):
        a_snooze(engine)
    following = client.get(f"{SNOOZES}?limit=1", headers=ann.bearer).get_json()["next"]
    cursor = following.rpartition("cursor=")[2]
    assert client.get(f"{SNOOZES}?cursor={cursor}", headers=ann.bearer).status_code == 200
    for other in (f"{cursor}=", f"{cursor}%20", f"!{cursor}", f"{cursor}%0A", ""):
        is_problem(client.get(f"{SNOOZES}?cursor={other}", headers=ann.bearer), 422, "invalid_fields")


def test_unknown_paths_and_methods_are_problems_too(client: FlaskClient, people: People) -> None:
    ann = people.ann()
    for path in ("/api/v1/nothing", "/api/", f"{SNOOZES}/0", f"{SNOOZES}/abc", f"{SNOOZES}/{2**63}"):
        is_problem(client.get(path, headers=ann.bearer), 404, "not_found")
    wrong = client.put(SNOOZES, headers=ann.bearer)
    is_problem(wrong, 405, "method_not_allowed")
    assert "POST" in wrong.headers["Allow"]


def test_without_a_database_the_response_is_503_with_retry_after(settings: Settings) -> None:
    from snoozer.web import create_app

    away = make_engine("postgresql+psycopg://none@127.0.0.1:9/none", name="away")
    client = create_app(engine=away, settings=settings).test_client()
    answer = client.get(SNOOZES, headers={"Authorization": "Bearer snz_x"})
    is_problem(answer, 503, "database_away")
    assert int(answer.headers["Retry-After"]) > 0


def test_a_process_on_the_schema_of_another_release_answers_with_a_sentence(
    empty_database: Engine, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    """It was a 500 and a traceback in the log."""
    from snoozer.web import create_app

    client = create_app(engine=empty_database, settings=settings).test_client()
    bearer = {"Authorization": "Bearer snz_x"}
    # A new process, before `snoozer migrate`.
    is_problem(client.get(SNOOZES, headers=bearer), 503, "upgrading")
    schema.upgrade(empty_database)
    with empty_database.begin() as connection:
        connection.execute(text("ALTER TABLE api_tokens RENAME COLUMN scopes TO what_it_may"))
    # As it is, this is a defect.
    is_problem(client.get(SNOOZES, headers=bearer), 500, "failed")
    with empty_database.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    caplog.clear()
    answer = client.get(SNOOZES, headers=bearer)
    is_problem(answer, 503, "upgrading")
    assert answer.headers["Retry-After"] == "30"
    assert [record.exc_info for record in caplog.records] == [None]
    assert "needs another schema: UndefinedColumn, SQLSTATE 42703; The schema is at 9999" in caplog.text
    assert "Traceback" not in caplog.text
    with empty_database.begin() as connection:
        connection.execute(text("ALTER TABLE sessions RENAME COLUMN token_hash TO hash"))
    client.set_cookie("snoozer_session", "x")
    page = client.get("/")
    assert (page.status_code, page.headers["Retry-After"]) == (503, "30")
    assert "Snoozer is being upgraded" in page.text
