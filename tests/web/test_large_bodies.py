"""Bodies that are too large, or too many fields, parts or chunks: refused before they are parsed, at every route."""

import json
import re
import socket
from collections.abc import Iterator
from io import BytesIO

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine
from werkzeug.datastructures import FileStorage
from werkzeug.test import EnvironBuilder, encode_multipart

from snoozer.settings import Settings
from snoozer.web import body_limits, create_app
from tests.factories import People
from tests.web.live_site import LiveSite, live_site

LARGE = 25 * 1024 * 1024
CPU_SECONDS = 0.2
MEMORY_KB = 5 * 1024

URLENCODED = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data; boundary=b"
PART = b'--b\r\nContent-Disposition: form-data; name="k"\r\n\r\n\r\n'
BODIES: dict[str, tuple[str, bytes, bool]] = {
    "fields": (URLENCODED, b"k=&" * (LARGE // 3), False),
    "parts": (MULTIPART, PART * (LARGE // len(PART)), False),
    "one part": (MULTIPART, PART[:-2] + b"x" * LARGE, False),
    "fields in chunks": (URLENCODED, (b"10000\r\n" + b"k=&k" * 16_384 + b"\r\n") * (LARGE // 65_545), True),
    "fields in tiny chunks": (URLENCODED, b"1\r\n&\r\n" * (LARGE // 6), True),
    "parts in chunks": (MULTIPART, (b"10000\r\n" + (PART * 1_400)[:65_536] + b"\r\n") * (LARGE // 65_545), True),
}


def posts(app: Flask) -> Iterator[str]:
    """A path of each route that takes POST."""
    for rule in app.url_map.iter_rules():
        if "POST" in (rule.methods or set()):
            yield re.sub(r"<[^>]+>", "1", rule.rule)


@pytest.fixture(scope="module")
def site(migrated: Engine, postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveSite]:
    with live_site(postgres_url, tmp_path_factory.mktemp("large")) as site:
        yield site


def send_all_of(site: LiveSite, path: str, kind: str) -> bytes:
    """Returns the response to the whole body, which is sent to its end."""
    content_type, body, chunked = BODIES[kind]
    framing = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {len(body)}"
    head = f"POST {path} HTTP/1.1\r\nHost: snoozer.example\r\nContent-Type: {content_type}\r\n{framing}\r\n\r\n"
    with site.connect() as client:
        client.sendall(head.encode() + body)
        client.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: client.recv(65_536), b""))


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", BODIES)
def test_a_stranger_s_large_body_costs_next_to_nothing_at_every_route(site: LiveSite, app: Flask, kind: str) -> None:
    send_all_of(site, "/sign-in", kind)
    for path in posts(app):
        response, seconds, kilobytes = site.cost(lambda path=path: send_all_of(site, path, kind))  # type: ignore[misc]
        assert re.match(rb"HTTP/1\.1 (303|400|401|404|413) ", response), (path, response[:200])
        assert seconds <= CPU_SECONDS, path
        assert kilobytes <= MEMORY_KB, path


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("content_type", [URLENCODED, MULTIPART, "application/json", "text/plain"])
def test_no_route_reads_a_body_above_its_limit_under_any_server(
    app: Flask, engine: Engine, settings: Settings, people: People, content_type: str, chunked: bool
) -> None:
    """As a server delivers it that gathers no bodies: chunks as a stream without a length."""
    protected = create_app(engine=engine, settings=settings)
    for path in posts(app):
        client = protected.test_client()
        client.set_cookie("snoozer_session", people.ann(role="operator").session)
        limit = body_limits.MAX_BULK_BYTES if path == "/api/v1/snoozes/bulk" else body_limits.MAX_BODY_BYTES
        if path in {"/add/file", "/settings/data/import"}:
            limit += settings.largest_message
        body = BytesIO(b"x" * (limit + 100_000))
        answer = client.post(
            path,
            input_stream=body,
            content_type=content_type,
            content_length=None if chunked else limit + 100_000,
            headers={"Authorization": f"Bearer {people.ann().bearer}"},
            environ_overrides={"wsgi.input_terminated": True} if chunked else {},
        )
        assert answer.status_code == 413, path
        assert body.tell() <= (limit + 1 if chunked else 0), path


def test_a_stranger_signs_in_before_a_form_is_read(engine: Engine, settings: Settings) -> None:
    app = create_app(engine=engine, settings=settings)
    for path in ("/add", "/add/file", "/settings", "/snoozes/1/time", "/admin/operations"):
        body = BytesIO(b"k=&" * 10_000)
        answer = app.test_client().post(path, input_stream=body, content_type=URLENCODED, content_length=30_000)
        assert (answer.status_code, answer.location) == (303, "/sign-in")
        assert body.tell() == 0


def test_a_form_of_too_many_fields_is_refused_before_they_are_split(client: FlaskClient) -> None:
    for fields, status in ((body_limits.MAX_FIELDS, 413), (body_limits.MAX_FIELDS - 1, 422)):
        body = "&".join(["email=x"] + ["k="] * fields)
        assert client.post("/sign-in", data=body, content_type=URLENCODED).status_code == status


def test_a_message_of_the_largest_size_is_taken_and_a_larger_one_explained(
    ann: FlaskClient, settings: Settings
) -> None:
    original = b"Subject: large\r\n\r\n".ljust(settings.largest_message, b"x")
    for extra, status in ((b"", 303), (b"x" * 100_000, 413)):
        # Encoded here, because the test client leaves a temporary file open.
        boundary, body = encode_multipart({"message": FileStorage(BytesIO(original + extra), "a.eml")})
        answer = ann.post("/add/file", data=body, content_type=f"multipart/form-data; boundary={boundary}")
        assert answer.status_code == status
    assert "That message is too large" in answer.text
    assert "25 MB" in answer.text


def test_an_upload_is_read_by_the_served_site_for_those_who_are_signed_in(
    site: LiveSite, engine: Engine, people: People
) -> None:
    session = people.ann().session
    head = b'--b\r\nContent-Disposition: form-data; name="message"; filename="a.eml"\r\n\r\n'
    body = head + b"x" * 3_000_000 + b"\r\n--b--\r\n"
    for cookie, status in ((f"snoozer_session={session}", 400), ("snoozer_session=none", 303)):
        answer, _ = site.request(
            "/add/file", method="POST", body=body, content_type=MULTIPART, cookie=cookie, expect="100-continue"
        )
        assert answer == status  # 400: its CSRF token is missing.


def test_many_snoozes_are_read_by_the_served_site_for_those_with_a_token(site: LiveSite, people: People) -> None:
    body = json.dumps({"act": "create", "snoozes": [{"subject": "x" * 900, "when": "gibberish"}] * 100}).encode()
    for token, status in ((people.ann().token, 200), ("snz_made-up", 401)):
        bearer = f"Bearer {token}"
        answer, _ = site.request(
            "/api/v1/snoozes/bulk", method="POST", body=body, content_type="application/json", authorization=bearer
        )
        assert answer == status


def test_room_for_many_snoozes_is_given_to_a_valid_token_alone(app: Flask, people: People) -> None:
    limits = body_limits.for_front(app)
    assert limits.is_upload("POST", "/api/v1/snoozes/bulk")
    assert not limits.is_upload("POST", "/api/v1/snoozes")
    room = {}
    for name, given in (("Ann", f"Bearer {people.ann().token}"), ("made up", "Bearer snz_x"), ("none", "")):
        headers = [("Authorization", given)] if given else []
        request = EnvironBuilder("/api/v1/snoozes/bulk", method="POST", headers=headers)
        room[name] = limits.upload(request.get_environ())
    usual = body_limits.MAX_BODY_BYTES
    assert room == {"Ann": (body_limits.MAX_BULK_BYTES, "1"), "made up": (usual, ""), "none": (usual, "")}


def test_a_form_that_is_too_large_is_called_that(client: FlaskClient) -> None:
    answer = client.post("/sign-in", data=b"email=" + b"x" * 70_000, content_type=URLENCODED)
    assert answer.status_code == 413
    assert "up to 64 kB" in answer.text
