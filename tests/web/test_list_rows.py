"""Rows of lists: the begin of the text, the order of what is asleep, what is back on top, and their weight."""

import re
from datetime import timedelta
from html import unescape

from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.delivery.chores.returns import return_due
from tests.factories import ANN, HOUR, a_kept_message, a_snooze, an_original, now

MARKUP = "<b onclick=alert(1)>bold</b>"


def titles(page: str) -> list[str]:
    return [unescape(title) for title in re.findall(r'class="row-title"[^>]*>([^<]*)<', page)]


def put_away(engine: Engine, subject: str, *, after: timedelta, **columns: object) -> int:
    id = a_kept_message(engine, original=an_original(subject=subject, message_id=f"<{subject}@x.example>"))
    a_snooze(engine, message_id=f"<{subject}@x.example>", subject=subject, remind_at=now() + after, **columns)
    with engine.begin() as connection:
        connection.execute(text("UPDATE messages SET folder = 'snoozed' WHERE id = :id"), {"id": id})
    return id


def test_the_begin_of_a_text_is_in_its_row_and_is_text(ann: FlaskClient, engine: Engine) -> None:
    a_kept_message(engine, original=an_original(subject="One", message_id="<1@x.example>", body=f"{MARKUP} \u202eevil"))
    a_snooze(engine, message_id="<1@x.example>", subject="One", remind_at=now() + HOUR)
    for path in ("/", "/mailbox"):
        page = ann.get(path).text
        assert "&lt;b onclick=alert(1)&gt;bold&lt;/b&gt; evil" in page, path
        assert MARKUP not in page


def test_what_is_asleep_is_in_the_order_of_waking_on_both_lists(ann: FlaskClient, engine: Engine) -> None:
    for hours in (70, 3, 50, 1, 26):
        put_away(engine, f"{hours:02}", after=hours * HOUR)
    folder = ann.get("/mailbox?folder=asleep").text
    assert titles(folder) == titles(ann.get("/").text) == ["01", "03", "26", "50", "70"]
    assert "5 messages" in ann.get("/").text
    assert re.search(r"Snoozed</span><span class=\"count\">5<", folder)


def test_a_second_page_of_what_is_snoozed_goes_on_where_the_first_one_ended(ann: FlaskClient, engine: Engine) -> None:
    for number in range(60):
        put_away(engine, f"{number:02}", after=timedelta(minutes=10 + (number * 37) % 60))
    first = ann.get("/mailbox?folder=asleep").text
    older = re.search(r'href="(/mailbox\?folder=asleep&amp;after=[^"]+)" rel="next"', first)
    assert older is not None
    seen = [*titles(first), *titles(ann.get(unescape(older[1])).text)]
    assert seen == sorted((f"{number:02}" for number in range(60)), key=lambda name: (int(name) * 37) % 60)


def test_what_is_back_is_above_newer_mail_with_what_was_asked(ann: FlaskClient, engine: Engine) -> None:
    id = put_away(engine, "Roof", after=-timedelta(minutes=2), note="call them first")
    assert return_due(engine)
    for number in range(60):
        a_kept_message(engine, subject=f"Newer {number}")
    page = ann.get("/mailbox").text
    assert titles(page)[0] == "Roof"
    assert titles(page).count("Roof") == 1
    assert 'class="day">Back</h2>' in page
    assert "you wrote: <bdi>call them first</bdi>" in page
    assert "late by 2 minutes, because nothing ran to bring it back" in page
    assert "late by 2 minutes, because nothing ran to bring it back" in ann.get(f"/mailbox/{id}").text
    ann.post(f"/mailbox/{id}/read")
    page = ann.get("/mailbox").text
    assert "Roof" not in titles(page), "it is where it returned to"


def test_a_return_that_the_database_missed_says_so(ann: FlaskClient, engine: Engine) -> None:
    put_away(engine, "Roof", after=-timedelta(minutes=2))
    with engine.begin() as connection:
        connection.execute(
            text("INSERT INTO server_starts (started_at, met_at) VALUES (now() - interval '1 minute', now())")
        )
    return_due(engine)
    assert "late by 2 minutes, because the database was away" in ann.get("/mailbox").text


def test_a_return_on_time_is_not_called_late(ann: FlaskClient, engine: Engine) -> None:
    put_away(engine, "Roof", after=-timedelta(seconds=1))
    return_due(engine)
    page = ann.get("/mailbox").text
    assert titles(page) == ["Roof"]
    assert "late by" not in page


def test_a_page_of_fifty_long_rows_is_below_a_hundred_kilobytes(ann: FlaskClient, engine: Engine) -> None:
    long = "Donaudampfschifffahrtsgesellschaftskapitän " * 8
    for number in range(50):
        a_kept_message(
            engine, original=an_original(subject=f"{number} {long}", message_id=f"<{number}@x.example>", body=long)
        )
        a_snooze(
            engine,
            message_id=f"<{number}@x.example>",
            subject=f"{number} {long}",
            note=long[:190],
            sender_email=ANN,
            remind_at=now() + (number + 1) * HOUR,
        )
    for path in ("/", "/mailbox"):
        sent = ann.get(path, headers={"Accept-Encoding": "gzip"}, buffered=True)
        assert sent.headers["Content-Encoding"] == "gzip"
        assert len(sent.data) < 100_000, path
