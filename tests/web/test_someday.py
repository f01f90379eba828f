"""Someday on the pages and by every door that takes a phrase; its person chooses the day of the review."""

import re

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.mailboxes import folder_times
from snoozer.settings import Settings
from snoozer.snoozes import chosen_shape
from snoozer.timephrase.recurrence import Recurrence
from tests.factories import HOUR, People, a_kept_message, a_snooze, asked_for, now, the_row
from tests.mail_doors import DOMAIN, a_mail, mail_doors
from tests.web.page_forms import hidden_field, shown_reading

SNOOZES = "/api/v1/snoozes"


def is_for_someday(engine: Engine, id: int = 1) -> bool:
    plain = the_row(engine, id).recurrence
    return plain is not None and Recurrence.from_json(plain).kind == "someday"


def choose_day(browser: FlaskClient, day: str) -> None:
    shape = {"working_day": ["1", "2", "3", "4", "5"], "work_from": "09:00", "work_until": "17:00", "review_on": day}
    asked = browser.post("/settings/day", data=shape | {"act": "preview"})
    assert asked.status_code == 200
    posted = shape | {"act": "save", "seen": hidden_field(asked.text, "seen")}
    assert browser.post("/settings/day", data=posted).status_code == 303


def weekdays(engine: Engine, id: int = 1) -> list[int]:
    return list(the_row(engine, id).recurrence["weekdays"])


def test_the_sheet_takes_it_and_the_list_has_a_heading_for_it(ann: FlaskClient, engine: Engine) -> None:
    message = a_kept_message(engine)
    path = f"/mailbox/{message}/snooze"
    read = ann.post(path, data={"phrase": "someday", "act": "read"})
    assert "Someday, reviewed every Friday at 09:00" in read.text
    assert "you look through it in" in read.text and "first in" not in read.text
    posted = {"phrase": "someday", "act": "snooze"} | shown_reading(read)
    page = ann.post(path, data=posted, follow_redirects=True).text
    assert "Someday, reviewed every Friday at 09:00." in page
    assert is_for_someday(engine)
    home = ann.get("/").text
    assert "the next comes back" not in home
    assert 'class="chip asleep"' not in home
    a_snooze(engine, remind_at=now() + 2 * HOUR, subject="Has a date")
    for address in ("/", "/?q=figures", "/mailbox?folder=snoozed"):
        listed = ann.get(address).text
        assert "9999" not in listed, address
        if address == "/":
            assert listed.index("Has a date") < listed.index('<h2 class="day">Someday</h2>')
    shown = ann.get("/snoozes/1").text
    assert '<b>someday</b><span class="when"><span>no date</span>' in shown
    assert '<span class="hero">Someday</span>' in shown
    assert "Give it an end" not in shown


def test_the_sheet_shows_the_first_time_of_a_ladder_and_what_ends_it(ann: FlaskClient, engine: Engine) -> None:
    path = f"/mailbox/{a_kept_message(engine)}/snooze"
    phrase = {"phrase": "in 2 days, then in 3 more, if no reply"}
    read = ann.post(path, data=phrase | {"act": "read"})
    assert re.search(r'<p class="reading-words"><b>(?!Once more)[^<]+</b> <span class="quiet">in 2 days', read.text)
    page = ann.post(path, data=phrase | {"act": "snooze"} | shown_reading(read), follow_redirects=True).text
    assert "unless it is done. A reply ends it." in page


@pytest.mark.parametrize("phrase", ["in 2 days, then in 3 more, if no reply", "someday"])
def test_what_is_no_series_has_no_end_to_change(ann: FlaskClient, engine: Engine, phrase: str) -> None:
    id = asked_for(engine, phrase)
    page, before = ann.get(f"/snoozes/{id}").text, the_row(engine, id).recurrence
    assert all(words not in page for words in ("Change its end", "Give it an end", "No end", "It repeats", "End it"))
    for form in ({"act": "never"}, {"act": "end", "end": "10 times"}):
        refused = ann.post(f"/snoozes/{id}/end", data=form | {"version": hidden_field(page, "version")})
        assert "It has no end that could change. Give it another time, or cancel it." in refused.text
    assert the_row(engine, id).recurrence == before


def test_the_day_is_chosen_on_the_page_of_the_day(ann: FlaskClient, engine: Engine) -> None:
    assert '<option value="5" selected>Friday</option>' in ann.get("/settings/day").text
    asked_for(engine, "someday")
    choose_day(ann, "2")
    assert '<option value="2" selected>Tuesday</option>' in ann.get("/settings/day").text
    assert weekdays(engine) == [1]


@pytest.mark.parametrize("day", ["0", "8", "friday", "-1", "1.5"])
def test_another_day_is_refused(ann: FlaskClient, day: str) -> None:
    shape = {"working_day": ["1"], "work_from": "09:00", "work_until": "17:00", "review_on": day}
    refused = ann.post("/settings/day", data=shape | {"act": "preview"})
    assert refused.status_code == 422
    assert 'id="review_on-error"' in refused.text


def test_a_date_is_given_on_its_page(ann: FlaskClient, engine: Engine) -> None:
    id = asked_for(engine, "someday")
    form = {"phrase": "tomorrow 9am", "version": hidden_field(ann.get(f"/snoozes/{id}").text, "version")}
    read = ann.post(f"/snoozes/{id}/time", data=form | {"act": "read"})
    assert "It comes again:" not in read.text.partition("data-occurrence-choice hidden")[0]
    saved = ann.post(f"/snoozes/{id}/time", data=form | shown_reading(read) | {"act": "snooze"})
    assert saved.status_code == 303
    assert the_row(engine, id).recurrence is None


def test_programs_and_the_meaning_of_the_phrase(people: People, engine: Engine, app: Flask) -> None:
    ann = people.ann(zone="Europe/Berlin")
    api = app.test_client()
    headers = {"Authorization": f"Bearer {ann.token}"}
    meaning = api.get("/api/v1/when?phrase=someday", headers=headers).json
    assert meaning and meaning["recurrence"]["kind"] == "someday"
    made = api.post(SNOOZES, json={"subject": "Read it", "when": "someday"}, headers=headers)
    assert made.status_code == 201
    assert is_for_someday(engine)
    day = api.get("/api/v1/settings/day", headers=headers).json
    assert day and day["review_on"] == 5


def test_folders_mean_it(people: People, engine: Engine) -> None:
    ann = people.ann(zone="UTC")
    with engine.connect() as connection:
        times = folder_times.personal_times(connection, account_id=ann.id)
        assert chosen_shape.find(connection, account_id=ann.id) is None
    reading = folder_times.read_folder(folder_times.named("Snooze/Someday"), times, now=now())
    assert reading.recurrence is not None
    assert reading.recurrence.kind == "someday"


def test_a_mail_to_its_address_knows_the_chosen_day(engine: Engine, settings: Settings, people: People) -> None:
    ann = people.ann(zone="Europe/Berlin")
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO day_shapes (account_id, review_on) VALUES (:id, 3)"), {"id": ann.id})
    with mail_doors(engine, settings) as doors:
        [(key,)] = doors.rows("SELECT mail_key FROM accounts ORDER BY id LIMIT 1")
        assert doors.deliver(a_mail("x"), f"someday+{key}@{DOMAIN}") == ["250 2.0.0 Kept"]
    assert is_for_someday(engine)
    assert weekdays(engine) == [2]
