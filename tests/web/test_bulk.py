"""Acts on many messages through the pages: what is chosen by the server, what is frozen, and what is answered."""

import re
from threading import Event, Thread
from uuid import uuid4

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Connection, Engine, insert, text

from snoozer.db.models import Snooze
from snoozer.web import context
from tests.factories import ANN, HOUR, a_kept_message, a_snooze, now, the_row, wait_until_a_session_waits
from tests.web.bulk_forms import fields_of, post, toast


def asleep(ann: FlaskClient, path: str = "/") -> dict[str, str]:
    return fields_of(ann.get(path).text)


def outcomes(engine: Engine) -> dict[str, str | None]:
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT subject, outcome FROM email_snoozes ORDER BY id")).all()
    return {row.subject: row.outcome for row in rows}


def test_rows_are_cancelled_and_one_undo_brings_them_back(ann: FlaskClient, engine: Engine) -> None:
    ids = [a_snooze(engine, subject=name, remind_at=now() + HOUR) for name in "abc"]
    answer = ann.post("/bulk/asleep/cancel", data={**asleep(ann), "row": ids[:2]}, follow_redirects=True)
    assert toast(answer.text) == "2 snoozes were cancelled."
    assert outcomes(engine) == {"a": "cancelled", "b": "cancelled", "c": None}
    [undo] = re.findall(r'action="(/bulk/[^"]+/undo)"', answer.text)
    assert post(ann, undo, {"here": "/"}) == "2 messages are as they were."
    assert post(ann, undo, {"here": "/"}) == "There is nothing to undo any more."
    assert outcomes(engine) == {"a": None, "b": None, "c": None}


def test_a_time_is_read_before_it_is_saved_for_all(ann: FlaskClient, engine: Engine) -> None:
    ids = [a_snooze(engine, subject=name, remind_at=now() + HOUR, note="mine") for name in "ab"]
    chosen = {**asleep(ann), "row": ids}
    page = ann.post("/bulk/asleep/time", data=chosen)
    assert (page.status_code, "Snooze 2 messages" in page.text) == (200, True)
    page = ann.post("/bulk/asleep/time", data={**chosen, "phrase": "in 3 dys", "act": "read"})
    assert page.status_code == 422
    assert page.text.count('name="row"') == 2
    page = ann.post("/bulk/asleep/time", data={**chosen, "phrase": "in 3 days", "act": "read"})
    seen = dict(re.findall(r'name="(seen_\w+)" value="([^"]*)"', page.text))
    saved = post(ann, "/bulk/asleep/time", {**chosen, "phrase": "in 3 days", "act": "snooze", "note": "", **seen})
    assert saved.startswith("2 messages are asleep until ")
    rows = [the_row(engine, id) for id in ids]
    assert len({row.remind_at for row in rows}) == 1
    assert {row.note for row in rows} == {"mine"}


def test_all_that_match_are_those_of_the_list_when_it_was_shown(ann: FlaskClient, engine: Engine) -> None:
    matching = [a_snooze(engine, subject=f"Invoice {name}", remind_at=now() + HOUR) for name in "abc"]
    a_snooze(engine, subject="Dinner", remind_at=now() + HOUR)
    a_snooze(engine, subject="Invoice of Bob", user_email="bob@snoozer.example", remind_at=now() + HOUR)
    shown = asleep(ann, "/?q=invoice")
    a_snooze(engine, subject="Invoice since then", remind_at=now() + HOUR)
    with engine.begin() as connection:
        connection.execute(
            text("UPDATE email_snoozes SET note = 'changed elsewhere', updated_at = now() WHERE id = :id"),
            {"id": matching[2]},
        )
    assert post(ann, "/bulk/asleep/cancel", {**shown, "all": "1"}) == "2 snoozes were cancelled."
    found = {subject for subject, outcome in outcomes(engine).items() if outcome == "cancelled"}
    assert found == {"Invoice a", "Invoice b"}


def test_a_filter_by_day_or_state_means_what_it_meant_when_the_list_was_shown(ann: FlaskClient, engine: Engine) -> None:
    late = a_snooze(engine, subject="late", remind_at=now() - HOUR)
    soon = a_snooze(engine, subject="soon", remind_at=now() + HOUR)
    shown = asleep(ann, "/?q=state:late")
    with engine.begin() as connection:
        connection.execute(
            text("UPDATE email_snoozes SET remind_at = now(), scheduled_for = now() WHERE id = :id"), {"id": soon}
        )
    assert post(ann, "/bulk/asleep/cancel", {**shown, "all": "1"}) == "1 snooze was cancelled."
    assert the_row(engine, late).outcome == "cancelled"
    assert the_row(engine, soon).outcome is None


def test_at_most_five_hundred_are_taken_and_the_answer_says_so(ann: FlaskClient, engine: Engine) -> None:
    rows = [
        {"user_email": ANN, "message_id": f"<{n}>", "subject": f"Row {n}", "remind_at": now() + n * HOUR}
        for n in range(1, 503)
    ]
    with engine.begin() as connection:
        connection.execute(insert(Snooze), rows)
    page = ann.get("/").text
    assert "The first 500 of 502" in page
    answer = post(ann, "/bulk/asleep/cancel", {**fields_of(page), "all": "1"})
    assert answer == ("500 snoozes were cancelled. There were more than 500, so only the first 500 were taken.")
    left = [subject for subject, outcome in outcomes(engine).items() if outcome is None]
    assert left == ["Row 501", "Row 502"]


def test_what_was_left_is_named_with_its_reason(ann: FlaskClient, engine: Engine) -> None:
    asleep_id = a_snooze(engine, remind_at=now() + HOUR)
    sent = {"inactive": True, "outcome": "sent", "finished_at": now()}
    over = [a_snooze(engine, **sent), a_snooze(engine, **sent)]
    held = a_snooze(engine, claimed_at=now())
    rows, form = [asleep_id, *over, held], asleep(ann)
    assert post(ann, "/bulk/asleep/cancel", {**form, "row": rows}) == (
        "2 snoozes were cancelled. 2 were not changed: 2 came back meanwhile."
    )
    assert post(ann, "/bulk/asleep/wake", {**form, "row": over}) == "Nothing was changed: 2 came back meanwhile."


def test_a_form_that_is_posted_twice_is_done_once(ann: FlaskClient, engine: Engine) -> None:
    ids = [a_snooze(engine, remind_at=now() + HOUR) for _ in range(2)]
    form = {**asleep(ann), "row": ids}
    assert [post(ann, "/bulk/asleep/wake", form) for _ in range(2)] == ["2 messages come back now."] * 2
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM snooze_events")).scalar_one() == 2


def test_messages_of_the_kept_mailbox_are_snoozed_done_and_brought_back(ann: FlaskClient, engine: Engine) -> None:
    ids = [a_kept_message(engine, subject=f"Letter {name}") for name in "abc"]
    form = asleep(ann, "/mailbox")
    at = (now() + 50 * HOUR).isoformat()
    assert post(ann, "/bulk/mailbox/snooze", {**form, "row": ids[:2], "at": at}).startswith("2 messages are asleep")
    form = asleep(ann, "/mailbox?folder=asleep")
    assert form["folder"] == "asleep"
    assert post(ann, "/bulk/mailbox/wake", {**form, "row": ids[1:]}) == (
        "1 message comes back now. 1 was not changed: 1 came back meanwhile."
    )
    assert post(ann, "/bulk/mailbox/inbox", {**form, "all": "1"}) == "1 message is in your inbox."
    form = asleep(ann, "/mailbox?q=letter")
    a_kept_message(engine, subject="Letter since then")
    assert post(ann, "/bulk/mailbox/done", {**form, "all": "1"}) == "3 messages are done."
    with engine.connect() as connection:
        left = connection.execute(text("SELECT subject FROM messages WHERE folder = 'inbox'")).scalars().all()
    assert left == ["Letter since then"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"as_of": "yesterday"},
        {"as_of": ""},
        {"page_id": "x"},
        {"page_id": ""},
    ],
)
def test_a_form_that_no_list_has_is_refused(ann: FlaskClient, engine: Engine, wrong: dict[str, str]) -> None:
    id = a_snooze(engine, remind_at=now() + HOUR)
    answer = ann.post("/bulk/asleep/cancel", data={**asleep(ann), "row": id, **wrong})
    assert answer.status_code == 400
    assert the_row(engine, id).outcome is None


def test_nothing_is_done_where_nothing_is_chosen_and_no_row_is_made_up(ann: FlaskClient, engine: Engine) -> None:
    a_snooze(engine, remind_at=now() + HOUR)
    form = asleep(ann)
    assert post(ann, "/bulk/asleep/cancel", form).startswith("Nothing was done: choose messages first")
    odd = ["0", "-1", "x", "1" * 30, "²", "\x00"]
    assert post(ann, "/bulk/asleep/cancel", {**form, "row": odd}).startswith("Nothing was changed")
    assert post(ann, f"/bulk/{uuid4()}/undo", {}) == "There is nothing to undo any more."
    assert ann.post("/bulk/mailbox/done", data={**form, "all": "1", "folder": "nowhere"}).status_code == 404
    assert ann.post("/bulk/asleep/cancel", data={**form, "all": "1", "q": "due:frday"}).status_code == 422


def test_an_act_that_a_deadlock_ended_is_done_once_more(app: Flask, engine: Engine) -> None:
    """A person with the database's password locks rows in another order."""
    first, second = a_snooze(engine), a_snooze(engine)
    lock = text("SELECT FROM email_snoozes WHERE id = :id FOR UPDATE")
    tries: list[int] = []
    results: list[str] = []
    has_first, is_over = Event(), Event()

    def act(connection: Connection) -> str:
        tries.append(len(tries))
        # A row that the first try let go could be had again before the other one has woken up.
        assert len(tries) == 1 or is_over.wait(30)
        # Of the two it is this one that the server ends.
        connection.execute(text("SET LOCAL deadlock_timeout = '10ms'"))
        connection.execute(lock, {"id": first})
        has_first.set()
        if len(tries) == 1:
            wait_until_a_session_waits(engine)
        connection.execute(lock, {"id": second})
        return "done"

    def work() -> None:
        with app.app_context():
            results.append(context.retried(act))

    other = Thread(target=work)
    with engine.begin() as connection:
        connection.execute(text("SET LOCAL deadlock_timeout = '60s'"))
        connection.execute(lock, {"id": second})
        other.start()
        assert has_first.wait(30)
        connection.execute(lock, {"id": first})
    is_over.set()
    other.join()
    assert (results, tries) == (["done"], [0, 1])
