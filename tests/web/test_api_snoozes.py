"""Snoozes are created, listed, shown, changed and cancelled by the account that owns them, and by no other."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, text
from werkzeug.test import TestResponse

from snoozer.queue import ledger, queue
from snoozer.queue.reminder import UncertainPolicy
from tests.factories import HOUR, People, Person, a_kept_message, a_snooze, an_original, now, the_events, the_row

SNOOZES = "/api/v1/snoozes"


def post(client: FlaskClient, person: Person, **body: Any) -> TestResponse:
    return client.post(SNOOZES, json=body, headers=person.bearer)


def a_send(engine: Engine, id: int) -> None:
    """The snooze is claimed and entered in the ledger."""
    with engine.begin() as connection:
        queue.claim(connection, worker="w1", batch_size=10, lease=HOUR)
        policy = UncertainPolicy(hold=HOUR)
        [send] = ledger.list_sendable(connection, worker="w1", ids=[id], domain="snoozer.example", uncertainty=policy)
        assert ledger.authorise(connection, dots=[(send, "0" * 64)], uncertainty=policy)


def test_a_snooze_by_phrase_is_stored_for_the_tokens_owner_and_returned_in_full(
    client: FlaskClient, people: People, engine: Engine
) -> None:
    ann = people.ann()
    answer = post(
        client,
        ann,
        message_id="<a@mail.example>",
        subject="Offer",
        sender_email="bob@mail.example",
        note="Call first",
        when="tomorrow 8am",
    )
    assert answer.status_code == 201
    body = answer.get_json()
    assert body["state"] == "asleep"
    assert body["remind_at"] == body["scheduled_for"]
    assert body["remind_at"][11:19] == "08:00:00", "eight o'clock in the account's zone"
    assert body["reading"].endswith("Europe/Berlin.")
    assert body["flags"] == []
    assert [body[name] for name in ("message_id", "subject", "sender_email", "note")] == [
        "<a@mail.example>",
        "Offer",
        "bob@mail.example",
        "Call first",
    ]
    assert body["links"]["self"] == f"http://snoozer.example{SNOOZES}/{body['id']}"
    assert answer.headers["Location"] == body["links"]["self"]
    row = the_row(engine, body["id"])
    assert row.user_email == ann.email
    assert (row.zone, row.time_kind, row.wall_time.hour) == ("Europe/Berlin", "wall", 8)


def test_an_instant_with_an_offset_is_taken_to_the_second(client: FlaskClient, people: People, engine: Engine) -> None:
    at = (now() + timedelta(seconds=30)).replace(microsecond=0)
    body = post(client, people.ann(), message_id="m", remind_at=at.isoformat()).get_json()
    assert the_row(engine, body["id"]).remind_at == at
    assert datetime.fromisoformat(body["remind_at"]) == at


def test_an_instant_without_an_offset_is_wall_time_in_the_named_zone(client: FlaskClient, people: People) -> None:
    year = now().year + 1
    body = post(
        client, people.ann(), message_id="m", remind_at=f"{year}-07-01T09:30:00", zone="America/New_York"
    ).get_json()
    assert body["remind_at"] == f"{year}-07-01T09:30:00-04:00"


def test_a_message_without_an_id_gets_one_when_it_has_a_subject(client: FlaskClient, people: People) -> None:
    ann = people.ann()
    first, second = (post(client, ann, subject="Water the plants", when="in 3 days").get_json() for _ in "ab")
    assert first["message_id"].startswith("<") and first["message_id"].endswith("@snoozer.example>")
    assert first["id"] != second["id"]


def test_snoozing_a_snoozed_message_is_an_edit(client: FlaskClient, people: People, engine: Engine) -> None:
    ann = people.ann()
    first = post(client, ann, message_id="m", when="tomorrow 8am")
    again = post(client, ann, message_id="m", when="in 3 days", note="later")
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.get_json()["id"] == first.get_json()["id"]
    assert again.get_json()["note"] == "later"
    assert the_events(engine, first.get_json()["id"]) == ["asked", "edited"]


def test_a_time_that_replaces_a_repetition_has_a_flag(client: FlaskClient, people: People, engine: Engine) -> None:
    bearer = people.ann().bearer
    for at in ({"remind_at": "2031-05-01T08:00:00+00:00"}, {"when": "tomorrow 9am"}, {"when": "every monday 9am"}):
        daily = client.post("/api/v1/snoozes", json={"message_id": "<1@x>", "when": "every day 9am"}, headers=bearer)
        posted = client.post("/api/v1/snoozes", json={"message_id": "<1@x>"} | at, headers=bearer)
        assert posted.get_json()["flags"] == ["repetition_ended"]
        path = f"/api/v1/snoozes/{daily.get_json()['id']}"
        client.patch(path, json={"when": "every day 9am"}, headers=bearer)
        patched = client.patch(path, json=at, headers=bearer)
        assert patched.get_json()["flags"] == ["repetition_ended"]
        assert not client.patch(path, json={"note": "mine"}, headers=bearer).get_json().get("flags")


def test_a_time_for_one_occurrence_or_every_one_ends_no_repetition(
    client: FlaskClient, people: People, engine: Engine
) -> None:
    ann = people.ann()
    for phrase in ("every day 9am", "in 2 days, then in 3 more"):
        path = f"/api/v1/snoozes/{post(client, ann, when=phrase, subject='Lease').get_json()['id']}"
        for occurrence in ("every", "once"):
            change = {"when": "tomorrow 8am", "occurrence": occurrence}
            moved = client.patch(path, json=change, headers=ann.bearer).get_json()
            assert moved["recurrence"] is not None
            assert "repetition_ended" not in moved.get("flags", ())


def test_a_stored_message_leaves_the_inbox_and_gives_its_subject(
    client: FlaskClient, people: People, engine: Engine
) -> None:
    ann = people.ann()
    a_kept_message(engine, user_email=ann.email, original=an_original(subject="Figures", message_id="<k@mail.example>"))
    body = post(client, ann, message_id="<k@mail.example>", when="tomorrow 8am").get_json()
    assert (body["subject"], body["sender_email"]) == ("Figures", "bob@mail.example")
    with engine.connect() as connection:
        assert connection.execute(text("SELECT folder FROM messages")).scalar_one() == "snoozed"


@pytest.mark.parametrize("sender", ["ann@b@a.example", "ann@[192.0.2.1]"])
def test_a_sender_that_the_mailbox_shows_is_taken(
    client: FlaskClient, people: People, engine: Engine, sender: str
) -> None:
    """A program sends back what it read here: strangers write addresses to which no mail can be sent."""
    original = an_original(message_id="<k@mail.example>").replace(b"bob@mail.example", sender.encode())
    id = a_kept_message(engine, original=original)
    with engine.connect() as connection:
        shown = connection.execute(text("SELECT sender_email FROM messages WHERE id = :id"), {"id": id}).scalar()
    assert shown == sender
    body = post(client, people.ann(), message_id="<k@mail.example>", sender_email=shown, when="tomorrow 8am").get_json()
    assert body["sender_email"] == sender


def test_a_subject_that_would_break_lines_or_hide_is_one_plain_line(client: FlaskClient, people: People) -> None:
    body = post(client, people.ann(), subject="Pay\r\nBcc: eve@evil.example \u202eexe", when="tomorrow").get_json()
    assert body["subject"] == "Pay Bcc: eve@evil.example exe"


def test_a_snooze_is_shown_with_its_history_and_without_addresses(
    client: FlaskClient, people: People, engine: Engine
) -> None:
    ann = people.ann()
    id = a_snooze(engine, attempts=2, last_error="rcpt: 550 <ann@snoozer.example> unknown", last_error_at=now())
    a_send(engine, id)
    body = client.get(f"{SNOOZES}/{id}", headers=ann.bearer).get_json()
    assert (body["state"], body["attempts"], body["sent_at"]) == ("claimed", 2, None)
    assert body["last_error"] == "rcpt: 550 <…@…> unknown"
    assert [send["state"] for send in body["sends"]] == ["sending"]


@pytest.mark.parametrize(
    ("columns", "state"),
    [
        ({"remind_at": now() + HOUR}, "asleep"),
        ({}, "due"),
        ({"claimed_at": now()}, "claimed"),
        ({"inactive": True}, "paused"),
        ({"inactive": True, "outcome": "sent", "finished_at": now()}, "sent"),
        ({"inactive": True, "outcome": "cancelled", "finished_at": now()}, "cancelled"),
        ({"inactive": True, "outcome": "retired", "finished_at": now()}, "retired"),
    ],
)
def test_every_state_has_its_name_and_can_be_filtered_by(
    client: FlaskClient, people: People, engine: Engine, columns: dict[str, Any], state: str
) -> None:
    ann = people.ann()
    id = a_snooze(engine, **columns)
    assert client.get(f"{SNOOZES}/{id}", headers=ann.bearer).get_json()["state"] == state
    for wanted in ("asleep", "due", "claimed", "paused", "sent", "cancelled", "retired"):
        found = client.get(f"{SNOOZES}?state={wanted}", headers=ann.bearer).get_json()["snoozes"]
        assert [row["id"] for row in found] == ([id] if wanted == state else [])


def test_a_changed_time_is_a_new_promise_and_the_note_stays(
    client: FlaskClient, people: People, engine: Engine
) -> None:
    ann = people.ann()
    id = a_snooze(engine, note="bring the file", scheduled_for=now(), attempts=3)
    body = client.patch(f"{SNOOZES}/{id}", json={"when": "tomorrow 8am"}, headers=ann.bearer).get_json()
    assert (body["state"], body["note"]) == ("asleep", "bring the file")
    row = the_row(engine, id)
    assert (row.scheduled_for, row.attempts) == (None, 0)
    assert the_events(engine, id) == ["edited"]


def test_a_changed_note_alone_keeps_the_promise_also_while_it_is_being_retried(
    client: FlaskClient, people: People, engine: Engine
) -> None:
    ann = people.ann()
    promised = now() - 2 * HOUR
    id = a_snooze(engine, scheduled_for=promised, remind_at=now() + HOUR, attempts=3, time_kind="elapsed")
    before = the_row(engine, id)
    body = client.patch(f"{SNOOZES}/{id}", json={"note": "new"}, headers=ann.bearer).get_json()
    assert (body["note"], datetime.fromisoformat(body["scheduled_for"])) == ("new", promised)
    row = the_row(engine, id)
    assert (row.remind_at, row.attempts, row.zone, row.time_kind) == (before.remind_at, 3, before.zone, "elapsed")
    assert client.patch(f"{SNOOZES}/{id}", json={"note": None}, headers=ann.bearer).get_json()["note"] is None


def test_a_cancelled_snooze_cannot_be_changed(client: FlaskClient, people: People, engine: Engine) -> None:
    ann = people.ann()
    id = a_snooze(engine, remind_at=now() + HOUR)
    assert client.delete(f"{SNOOZES}/{id}", headers=ann.bearer).get_json()["state"] == "cancelled"
    for again in (
        client.delete(f"{SNOOZES}/{id}", headers=ann.bearer),
        client.patch(f"{SNOOZES}/{id}", json={"when": "tomorrow"}, headers=ann.bearer),
    ):
        assert again.status_code == 409
        assert (again.get_json()["code"], again.get_json()["state"]) == ("over", "cancelled")
    assert the_events(engine, id) == ["cancelled"]


def test_pages_hold_every_row_once_although_rows_move_between_them(
    client: FlaskClient, people: People, engine: Engine
) -> None:
    ann = people.ann()
    ids = [a_snooze(engine, remind_at=now() + n * HOUR) for n in range(1, 8)]
    a_snooze(engine, user_email="eve@snoozer.example")
    seen: list[int] = []
    path: str | None = f"{SNOOZES}?limit=3"
    while path:
        page = client.get(path, headers=ann.bearer).get_json()
        seen += [row["id"] for row in page["snoozes"]]
        a_snooze(engine, remind_at=now() + HOUR)
        with engine.begin() as connection:
            connection.execute(text("UPDATE email_snoozes SET remind_at = remind_at + interval '9 days'"))
        path = page["next"] and page["next"].removeprefix("http://snoozer.example")
    assert seen == sorted(ids, reverse=True)


def test_one_message_of_two_accounts_makes_two_snoozes(client: FlaskClient, people: People, engine: Engine) -> None:
    ann, eve = people.ann(), people.ann(email="eve@snoozer.example")
    mine = post(client, ann, message_id="<m@mail.example>", when="tomorrow").get_json()
    theirs = post(client, eve, message_id="<m@mail.example>", when="tomorrow")
    assert theirs.status_code == 201
    assert theirs.get_json()["id"] != mine["id"]
    assert the_row(engine, theirs.get_json()["id"]).user_email == eve.email


def test_a_program_takes_a_time_at_any_hour_and_a_note_keeps_that(
    client: FlaskClient, people: People, engine: Engine
) -> None:
    ann = people.ann()
    made = post(client, ann, message_id="<any@x>", when="tomorrow 8am", at_any_hour=True).json
    assert made is not None
    assert made["at_any_hour"] is True
    path = f"{SNOOZES}/{made['id']}"
    for body, kept in (({"note": "Call"}, True), ({"at_any_hour": False}, False), ({"at_any_hour": True}, True)):
        answer = client.patch(path, json=body, headers=ann.bearer)
        assert (answer.status_code, answer.json and answer.json["at_any_hour"]) == (200, kept)
        assert the_row(engine, made["id"]).at_any_hour is kept
    assert client.patch(path, json={"at_any_hour": "yes"}, headers=ann.bearer).status_code == 422
