"""A hundred and three real and broken messages come in by LMTP, are put away by the API, reminded of, and come back."""

import hashlib
import html
import re
import smtplib
from email.parser import BytesHeaderParser
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Row, text

from snoozer.cli.inbound import start_server
from snoozer.settings import Settings
from snoozer.web import auth
from tests.factories import ANN, People
from tests.process.conftest import Field


def test_every_message_of_the_corpus_goes_all_the_way_round(
    place: Field, app: Flask, client: FlaskClient, people: People, settings: Settings, messages: dict[str, bytes]
) -> None:
    ann = people.ann()
    sent = _bring_in(place, settings, messages)
    kept = _rows(place)
    assert len(sent) == len(messages)
    assert [row.sha256 for row in kept] == [hashlib.sha256(original).hexdigest() for original in dict.fromkeys(sent)]

    _is_listed_with_a_name(client, ann.session, settings, rows=len(kept))
    for row in kept:
        answer = client.post(
            "/api/v1/snoozes",
            json={
                "message_id": row.message_id,
                "subject": row.subject,
                "sender_email": row.sender_email,
                "when": "in 2 minutes",
            },
            headers=ann.bearer,
        )
        assert answer.status_code == 201, answer.text
    assert {row.folder for row in _rows(place)} == {"snoozed"}

    with place.engine.begin() as connection:
        connection.execute(text("UPDATE email_snoozes SET remind_at = now()"))
    drained = place.run("worker", "--drain")
    assert drained.returncode == 0, drained.stderr
    assert len(place.sink.accepted()) == len(kept)
    back = _rows(place)
    assert {(row.folder, row.unread, row.returned) for row in back} == {("inbox", True, True)}
    assert {bytes(row.original) for row in back} == set(sent)


def _bring_in(place: Field, settings: Settings, messages: dict[str, bytes]) -> list[bytes]:
    door = start_server(place.engine, settings.model_copy(update={"inbound_port": 0}))
    # On the wire every line ends in CRLF; what smtplib makes of the file is what is sent, and what must be kept.
    on_the_wire = [smtplib._fix_eols(original.decode("latin-1")).encode("latin-1") for original in messages.values()]  # type: ignore[attr-defined]
    on_the_wire = [original if original.endswith(b"\r\n") else original + b"\r\n" for original in on_the_wire]
    with smtplib.LMTP(door.host, door.port) as lmtp:
        for original in on_the_wire:
            assert lmtp.sendmail("bounces@mail.example", [ANN], original) == {}
    door.stop()
    return on_the_wire


def _rows(place: Field) -> list[Row[*tuple[Any, ...]]]:
    with place.engine.connect() as connection:
        rows = connection.execute(text("SELECT * FROM messages JOIN message_originals USING (id) ORDER BY id"))
        return list(rows.all())


def _is_listed_with_a_name(client: FlaskClient, session: str, settings: Settings, *, rows: int) -> None:
    client.set_cookie(auth.cookie_name(settings, "session"), session)
    seen, address = 0, "/mailbox"
    while address:
        page = client.get(address)
        assert page.status_code == 200
        seen += page.text.count('class="row-title"')
        address = _next(page.text)
    assert seen == rows


def _next(page: str) -> str:
    found = re.search(r'href="(/mailbox\?[^"]*after=[^"]*)"', page)
    return html.unescape(found.group(1)) if found else ""


def test_a_header_is_never_made_of_a_strangers_header(place: Field) -> None:
    """The reminders of the corpus carry our headers only: nothing in a subject opens a new line."""
    with place.engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO email_snoozes (user_email, message_id, subject, remind_at) "
                "VALUES (:who, '<evil@mail.example>', :subject, now())"
            ),
            {"who": ANN, "subject": "=?utf-8?q?x=0D=0ABcc:_eve@evil.example=0D=0A=0D=0A<h1>hi</h1>?="},
        )
    assert place.run("worker", "--drain").returncode == 0
    [mail] = place.sink.accepted()
    headers = BytesHeaderParser().parsebytes(mail["head"].encode("latin-1"))
    assert "Bcc" not in headers
    assert headers.get_content_type() == "multipart/alternative"
