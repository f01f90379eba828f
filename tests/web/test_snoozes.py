"""The list of snoozes and the page of one: states, changes and cancellations with undo, privacy."""

import re
from datetime import timedelta
from html import unescape
from threading import Thread
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine, event, insert, text

from snoozer.db.models import Snooze
from snoozer.web.text.time_format import TimeFormatter
from tests.db.links import sent_and_gone_on
from tests.factories import (
    ANN,
    HOUR,
    People,
    a_kept_message,
    a_snooze,
    now,
    the_events,
    the_row,
    wait_until_a_session_waits,
)
from tests.web.page_forms import press_undo
from tests.web.reminders import a_sent_reminder

CANARY = "<script>alert('x')</script>"
# Its time limit in a savepoint of its own, the question, and the way back.
ABOUT_DELIVERY = 4


def test_each_state_has_its_label_but_what_the_page_is_called(ann: FlaskClient, engine: Engine) -> None:
    a_snooze(engine, remind_at=now() + 22 * HOUR, subject="One")
    a_snooze(engine, remind_at=now() - timedelta(seconds=3), subject="Two")
    a_snooze(engine, remind_at=now() - HOUR, subject="Three")
    a_snooze(engine, remind_at=now(), scheduled_for=now(), claimed_at=now(), subject="Four")
    a_snooze(engine, remind_at=now(), scheduled_for=now(), claimed_at=now() - HOUR, subject="Five")
    a_snooze(engine, remind_at=now() + HOUR, scheduled_for=now() - HOUR, attempts=2, last_error="451 later")
    a_snooze(engine, remind_at=now() + HOUR, inactive=True)
    a_snooze(engine, remind_at=now(), inactive=True, outcome="retired", finished_at=now(), attempts=5)
    a_sent_reminder(engine)
    page = ann.get("/").text
    words = re.findall(r'<span class="state">([^<]+)</span>', page)
    assert sorted(words) == sorted(["Due", "Late", "Being sent", "Late", "Late", "Paused", "Stuck"])
    assert "reminders are late" in page
    assert "451 later" in page
    assert "in 22 hours" in page


def test_an_empty_list_shows_what_to_do_first(ann: FlaskClient) -> None:
    page = ann.get("/").text
    assert "Nothing is asleep" in page
    assert "Open your mailbox" in page


def test_nothing_typed_by_a_stranger_becomes_markup(ann: FlaskClient, engine: Engine) -> None:
    strange = {"subject": CANARY, "sender_email": CANARY, "note": CANARY, "last_error": CANARY}
    id = a_snooze(engine, **strange, last_error_at=now(), remind_at=now() - HOUR)
    for path in ("/", f"/snoozes/{id}"):
        page = ann.get(path).text
        assert "<script>alert" not in page
        assert page.count("&lt;script&gt;alert") >= 3


def test_cancelling_brings_the_message_back_and_undo_puts_it_away_again(ann: FlaskClient, engine: Engine) -> None:
    kept = a_kept_message(engine, message_id="<1@x>")
    ann.post(f"/mailbox/{kept}/snooze", data=_preset(ann, kept))
    id = _latest(engine)
    assert "Nothing is asleep" not in ann.get("/").text
    cancelled = ann.post(f"/snoozes/{id}/cancel", data={"here": "/"}, follow_redirects=True)
    assert "The message is back in your inbox" in cancelled.text
    assert the_row(engine, id).outcome == "cancelled"
    undone = press_undo(ann, cancelled.text)
    assert "Asleep again until" in undone.text
    assert the_row(engine, id).outcome is None
    assert the_events(engine, id) == ["asked", "cancelled", "undone"]


def test_a_note_that_is_too_long_is_refused_and_stays_in_its_field(ann: FlaskClient, engine: Engine) -> None:
    refused = ann.post(f"/snoozes/{a_snooze(engine, remind_at=now() + HOUR)}/note", data={"note": "n" * 2001})
    assert refused.status_code == 422
    assert "n" * 2001 in refused.text


def test_a_recurrence_shows_which_occurrence_was_sent(ann: FlaskClient, engine: Engine) -> None:
    send = sent_and_gone_on(engine)
    times = TimeFormatter(now=now(), zone="Europe/Berlin", locale="en_GB")
    page = ann.get(f"/snoozes/{send.snooze_id}").text
    answer, trail = page.split("<dt>Reminder</dt><dd>")[1].split("</dd>")[0], page.split('<ol class="trail">')[1]
    assert answer.startswith(f"Not yet, for {times.inline(the_row(engine, send.snooze_id).remind_at)}.")
    assert f"For the time before, {times.inline(send.scheduled_for)}: yes. The mail server took it" in answer
    assert f"The mail server took the reminder for {times.inline(send.scheduled_for)}." in trail


@pytest.mark.parametrize(
    ("late", "took", "went"),
    [(timedelta(0), "", "on time"), (timedelta(minutes=2), ", late by 2 minutes", "late by 2 minutes")],
)
def test_the_page_of_a_snooze_states_how_late_its_reminder_was(
    late: timedelta, took: str, went: str, ann: FlaskClient, engine: Engine
) -> None:
    """The mail does not say it: it is less than five minutes late."""
    promised = (now() - HOUR).replace(second=0)
    id = a_sent_reminder(engine, promised=promised, late=late)
    times = TimeFormatter(now=now(), zone="Europe/Berlin", locale="en_GB")
    page = ann.get(f"/snoozes/{id}").text
    assert f"Yes. The mail server took it {times.inline(promised + late)}{took}." in page
    assert f"The reminder went out {went}." in page


def test_five_hundred_rows_come_page_by_page_with_no_statement_per_row(ann: FlaskClient, engine: Engine) -> None:
    """What the statements read is tested with their plans."""
    statements: list[str] = []

    def note_statement(connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
        statements.append(statement)

    ann.get("/")
    event.listen(engine, "before_cursor_execute", note_statement)
    ann.get("/")
    # And those about whether delivery fails, once in a poll interval.
    for_no_rows = len(statements) + ABOUT_DELIVERY
    rows = [
        {
            "user_email": ANN,
            "message_id": f"<{n}>",
            "subject": f"Row {n:03}",
            "remind_at": now() + timedelta(minutes=n + 5),
        }
        for n in range(500)
    ]
    with engine.begin() as connection:
        connection.execute(insert(Snooze), rows)
        connection.execute(text("ANALYZE email_snoozes"))
    path: str | None = "/"
    shown: list[str] = []
    while path:
        statements.clear()
        page = ann.get(path).text
        assert len(statements) <= for_no_rows
        assert len(page) < 100_000
        shown += re.findall(r'class="row-title"[^>]*>(Row \d+)<', page)
        following = re.search(r'href="([^"]+)" rel="next"', page)
        path = unescape(following.group(1)) if following else None
    event.remove(engine, "before_cursor_execute", note_statement)
    assert shown == [f"Row {n:03}" for n in range(500)]


def test_a_recurrence_is_described_and_an_unreadable_one_breaks_no_page(ann: FlaskClient, engine: Engine) -> None:
    id = a_snooze(engine, remind_at=now() + HOUR)
    ann.post(f"/snoozes/{id}/time", data=_shown_reading(ann, "every 2 weeks on tuesday at 14:00"))
    assert "every 2 weeks on Tuesday at 14:00" in ann.get("/").text
    assert "Every 2 weeks on Tuesday at 14:00" in ann.get(f"/snoozes/{id}").text
    ann.post(f"/snoozes/{id}/note", data={"note": "still"})
    assert the_row(engine, id).recurrence is not None
    strange = a_snooze(engine, remind_at=now() + HOUR, recurrence={"unit": "fortnight"})
    assert "cannot read" in ann.get(f"/snoozes/{strange}").text
    nowhere = a_snooze(engine, remind_at=now() + HOUR, recurrence=the_row(engine, id).recurrence, zone="Mars/Olympus")
    assert "Every 2 weeks on Tuesday" in ann.get(f"/snoozes/{nowhere}").text


def test_a_made_up_cursor_is_no_page(ann: FlaskClient) -> None:
    for cursor in ("x", "AAAA", "-1", "é", "OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5LjE"):
        assert ann.get("/", query_string={"after": cursor}).status_code == 404


def test_a_person_without_a_session_is_sent_to_sign_in(app: Flask, people: People) -> None:
    stranger = app.test_client()
    assert stranger.get("/mailbox?folder=done").location == "/sign-in?next=/mailbox?folder%3Ddone"
    stranger.set_cookie("snoozer_session", "made-up")
    assert stranger.get("/").location == "/sign-in"


def _latest(engine: Engine) -> int:
    with engine.connect() as connection:
        return int(connection.execute(text("SELECT max(id) FROM email_snoozes")).scalar_one())


def _shown_reading(browser: FlaskClient, phrase: str) -> dict[str, str]:
    """Returns what the form posts after its reading was shown."""
    page = browser.get("/when/preview", query_string={"phrase": phrase}).text
    fields = dict(re.findall(r'name="(seen_\w+)" value="([^"]*)"', page))
    return {"phrase": phrase, "act": "snooze", **{name: unescape(value) for name, value in fields.items()}}


def _preset(browser: FlaskClient, kept: int) -> dict[str, str]:
    found = re.search(r'name="preset" value="([^"]+)"', browser.get(f"/mailbox/{kept}/snooze").text)
    assert found is not None
    return {"preset": unescape(found.group(1))}


def test_a_note_that_is_saved_beside_a_new_time_keeps_that_time(ann: FlaskClient, engine: Engine) -> None:
    id, at = a_snooze(engine, remind_at=now() + HOUR), now() + 48 * HOUR
    saving = Thread(target=ann.post, args=(f"/snoozes/{id}/note",), kwargs={"data": {"note": "Bring the keys"}})
    with engine.begin() as elsewhere:
        elsewhere.execute(text("UPDATE email_snoozes SET remind_at = :at WHERE id = :id"), {"at": at, "id": id})
        saving.start()
        wait_until_a_session_waits(engine, who=saving)
    saving.join()
    row = the_row(engine, id)
    assert (row.remind_at, row.note) == (at, "Bring the keys")


def test_the_heading_says_how_many_of_its_messages_are_due(ann: FlaskClient, engine: Engine) -> None:
    for hours in (-2, 5, 30):
        a_snooze(engine, remind_at=now() + hours * HOUR)
    a_snooze(engine, remind_at=now() - HOUR, inactive=True)
    assert "4 messages · 1 is due · the next comes back" in " ".join(ann.get("/").text.split())
