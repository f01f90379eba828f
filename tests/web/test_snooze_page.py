"""What the page of a snooze answers: words for what was done, and for what was not."""

import re
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, text
from werkzeug.test import TestResponse

from snoozer.mailboxes.read.keys import MessageKey
from tests.db.transitions import a_held_mail, authorise
from tests.factories import ANN, HOUR, People, a_kept_message, a_mailbox, a_snooze, an_original, asked_for, now, the_row
from tests.web.page_forms import press_undo, shown_reading

MESSAGE = "<m@mail.example>"


def weekly(engine: Engine, **columns: Any) -> int:
    return asked_for(engine, "every monday 9am", **({"message_id": MESSAGE} | columns))


def kept(engine: Engine, folder: str = "snoozed") -> int:
    id = a_kept_message(engine, message_id=MESSAGE)
    with engine.begin() as connection:
        connection.execute(text("UPDATE messages SET folder = :folder"), {"folder": folder})
    return id


def act(browser: FlaskClient, id: int, name: str, **fields: str) -> TestResponse:
    return browser.post(f"/snoozes/{id}/{name}", data=fields, follow_redirects=True)


def test_a_series_is_brought_back_and_that_undone(ann: FlaskClient, engine: Engine) -> None:
    id = weekly(engine)
    kept(engine)
    before = the_row(engine, id).remind_at
    answer = act(ann, id, "back").text
    assert "It is back in your inbox, and comes again" in answer
    assert re.search(r"You brought it back on these pages, before [^.<]*\b09:00", answer)
    assert "as before" in press_undo(ann, answer).text
    assert the_row(engine, id).remind_at == before


def test_a_reminder_that_is_brought_forward_is_on_its_way(ann: FlaskClient, engine: Engine) -> None:
    id = a_snooze(engine, remind_at=now() + HOUR)
    assert "Its reminder is on its way to you now." in act(ann, id, "back").text
    assert the_row(engine, id).remind_at <= now()


def test_an_act_on_what_is_leaving_says_that_a_copy_may_arrive(ann: FlaskClient, engine: Engine) -> None:
    held, send = a_held_mail(engine)
    assert authorise(engine, send)
    answer = act(ann, held.id, "cancel")
    assert "A reminder was on its way already, so it may still arrive." in answer.text
    assert "No reminder will be sent" not in answer.text


def test_the_undo_of_a_long_note_brings_all_of_it_back(ann: FlaskClient, engine: Engine) -> None:
    long = "ä" * 1999
    id = weekly(engine, note=long)
    answer = act(ann, id, "note", note="Short")
    assert "The note is saved." in answer.text
    assert the_row(engine, id).note == "Short"
    assert "The note is as before." in press_undo(ann, answer.text).text
    assert the_row(engine, id).note == long
    other = weekly(engine, note="mine", message_id="<other@mail.example>")
    answer = act(ann, other, "undo", event="1")
    assert "There is nothing to undo." in answer.text
    assert the_row(engine, other).note == "mine"


def test_an_end_that_is_refused_is_kept_in_its_field(ann: FlaskClient, engine: Engine) -> None:
    id = weekly(engine)
    answer = ann.post(f"/snoozes/{id}/end", data={"end": "until 3/4/5/6"})
    assert answer.status_code == 422
    assert 'value="until 3/4/5/6"' in answer.text
    assert "cannot be read as an end" in answer.text
    past = ann.post(f"/snoozes/{id}/end", data={"end": "until tomorrow"})
    assert "cancel it" in past.text or the_row(engine, id).recurrence["until"]
    assert "2 times" in act(ann, id, "end", end="2 times").text
    assert the_row(engine, id).recurrence["times"] == 2
    act(ann, id, "end", act="never")
    assert the_row(engine, id).recurrence["times"] is None


def test_programs_read_how_it_repeats_and_when_that_ends(ann: FlaskClient, engine: Engine, people: People) -> None:
    person = people.ann()
    id = weekly(engine)
    act(ann, id, "end", end="until 24 December 2031")
    answer = ann.get(f"/api/v1/snoozes/{id}", headers=person.bearer).get_json()
    assert answer["repeats"] == "Every Monday at 09:00 until 24 December 2031"
    once = a_snooze(engine, remind_at=now() + HOUR)
    assert ann.get(f"/api/v1/snoozes/{once}", headers=person.bearer).get_json()["repeats"] is None


@pytest.mark.parametrize("event", ["x", "-1", "9" * 30])
def test_an_undo_of_nothing_is_a_bad_request(ann: FlaskClient, engine: Engine, event: str) -> None:
    id = weekly(engine)
    assert ann.post(f"/snoozes/{id}/undo", data={"event": event}).status_code == 400
    assert ann.post(f"/snoozes/{id}/skip", data={"promise": event}).status_code == 400


def test_a_paused_message_in_the_inbox_keeps_its_pause_and_says_so(ann: FlaskClient, engine: Engine) -> None:
    id = weekly(engine)
    message = kept(engine)
    assert "Paused" in act(ann, id, "pause").text
    answer = ann.post(f"/mailbox/{message}/inbox", follow_redirects=True).text
    assert "It is in your inbox. Its snooze stays paused." in answer
    assert (the_row(engine, id).inactive, the_row(engine, id).outcome) == (True, None)


def test_a_paused_series_is_resumed_by_a_new_time_from_the_mailbox_and_goes_on(
    ann: FlaskClient, engine: Engine
) -> None:
    id = weekly(engine, inactive=True)
    message = kept(engine, "inbox")
    path, phrase = f"/mailbox/{message}/snooze", {"phrase": "tomorrow 10:30"}
    ann.post(path, data=phrase | {"act": "snooze"} | shown_reading(ann.post(path, data=phrase)))
    row = the_row(engine, id)
    assert (row.inactive, row.recurrence["at"]) == (False, "09:00:00")
    with engine.connect() as connection:
        assert connection.execute(text("SELECT folder, returns_at FROM messages")).one() == (
            "snoozed",
            row.remind_at,
        )
        assert connection.execute(text("SELECT count(*) FROM email_snoozes")).scalar_one() == 1


def test_a_time_for_every_occurrence_is_shown_as_the_series_it_makes(ann: FlaskClient, engine: Engine) -> None:
    id = weekly(engine)
    typed = {"phrase": "friday 14:00", "act": "read"}
    assert "Every Friday at 14:00" in act(ann, id, "time", **typed, scope="every").text
    assert "Every Friday" not in act(ann, id, "time", **typed, scope="once").text
    assert "Every Friday at 14:00" in ann.get(f"/when/preview?phrase=friday+14:00&every={id}").text
    ended = weekly(engine, message_id="<ended@mail.example>")
    act(ann, ended, "end", end="until in 3 weeks", act="end")
    refused = ann.get(f"/when/preview?phrase=in+2+months&every={ended}").text
    assert "The repetition ends before that." in refused
    assert "seen_at" not in refused
    others = a_snooze(engine, user_email="bob@snoozer.example")
    assert ann.get(f"/when/preview?phrase=friday&every={others}").status_code == 404


def test_its_message_is_shown_and_linked_where_it_is(ann: FlaskClient, engine: Engine) -> None:
    here = a_kept_message(engine, message_id=MESSAGE, original=an_original(message_id=MESSAGE, body="Shall we meet?"))
    page = ann.get(f"/snoozes/{weekly(engine)}").text
    assert f'href="/mailbox/{here}"' in page
    assert "Shall we meet?" in page
    there = a_snooze(engine, message_id="<there@mail.example>")
    assert "Open the message" not in ann.get(f"/snoozes/{there}").text
    mailbox = a_mailbox(engine)
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO messages (mailbox_id, user_email, message_id, fingerprint, size, internal_date, "
                "home, place, wanted, folder, uidvalidity, uid) VALUES "
                "(:mailbox, :user, '<there@mail.example>', '', 1, now(), 'INBOX', 'snoozed', 'snoozed', "
                "'Snoozed', 7, 9)"
            ),
            {"mailbox": mailbox, "user": ANN},
        )
    key = MessageKey("Snoozed", 7, 9)
    assert f'href="/mailboxes/{mailbox}/mail/{key}"' in ann.get(f"/snoozes/{there}").text
