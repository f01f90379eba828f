"""Feeds: what is in them, as other programs read it; who reads them, and until when."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any
from xml.etree.ElementTree import Element
from zoneinfo import ZoneInfo

import icalendar
import pytest
import vobject
from dateutil.rrule import rrulestr
from defusedxml import ElementTree
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine, text
from werkzeug.test import TestResponse

from snoozer.notify.feeds.access import MAX_FEEDS
from snoozer.people import accounts
from snoozer.runtime import secret_keys
from snoozer.settings import Settings
from snoozer.timephrase.recurrence import Recurrence, next_occurrence
from snoozer.web import create_app
from tests.factories import ANN, HOUR, People, a_snooze, asked_for, now, the_row
from tests.web.reminders import a_sent_reminder

BASE_URL = "http://snoozer.example"
SECOND = timedelta(seconds=1)
ATOM = "{http://www.w3.org/2005/Atom}"


def made(browser: FlaskClient, kind: str = "calendar", **fields: str) -> str:
    """The path of a new feed, as its page shows the address."""
    answer = browser.post("/settings/feeds", data={"kind": kind, "name": "Phone", "subject": "on"} | fields)
    assert answer.status_code == 200
    [address] = re.findall(rf'value="{BASE_URL}(/feeds/[\w-]{{43}}\.(?:ics|atom))"', answer.text)
    return str(address)


def read(client: FlaskClient, path: str, **headers: str) -> TestResponse:
    return client.get(path, headers=headers)


def events(content: bytes) -> list[Any]:
    calendar = icalendar.Calendar.from_ical(content)
    assert not [error for component in calendar.walk() for error in component.errors]
    return list(calendar.walk("VEVENT"))


def entries(content: bytes) -> list[Element]:
    return list(ElementTree.fromstring(content).findall(f"{ATOM}entry"))


def test_a_calendar_has_what_comes_back_and_an_alarm_at_each(
    ann: FlaskClient, client: FlaskClient, engine: Engine
) -> None:
    asked_for(engine, "every monday 9am", subject="Weekly; with, marks\\n", note="first\r\nBEGIN:VALARM\nthird")
    asked_for(engine, "in 2 hours", subject=None)
    a_snooze(engine, inactive=True, subject="paused", remind_at=now() + HOUR)
    a_snooze(engine, inactive=True, outcome="cancelled", finished_at=now(), subject="over")
    a_snooze(engine, user_email="bob@snoozer.example", subject="Bob's")
    answer = read(client, made(ann))
    assert answer.content_type == "text/calendar; charset=utf-8"
    assert answer.headers["Cache-Control"] == "private, no-cache"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert "Set-Cookie" not in answer.headers
    by_subject = {str(event["SUMMARY"]): event for event in events(answer.data)}
    assert set(by_subject) == {"Weekly; with, marks\\n", "No subject"}
    assert str(by_subject["No subject"]["URL"]) == f"{BASE_URL}/snoozes/2"
    for event in by_subject.values():
        [alarm] = event.walk("VALARM")
        assert (alarm["ACTION"], alarm["TRIGGER"].dt) == ("DISPLAY", timedelta(0))
    [calendar] = vobject.readComponents(answer.text)
    assert {event.uid.value for event in calendar.vevent_list} == {str(event["UID"]) for event in by_subject.values()}
    assert all(event.valarm.action.value == "DISPLAY" for event in calendar.vevent_list)
    assert "@" not in answer.text


def occurrences(row: Any, how_many: int) -> Iterator[datetime]:
    after = row.remind_at - timedelta(microseconds=1)
    for _ in range(how_many):
        found = next_occurrence(Recurrence.from_json(row.recurrence), after=after, zone=row.zone)
        assert found is not None
        yield found
        after = found


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"])
def test_repeats_keep_their_hour_across_clock_changes_by_the_rules_in_the_file(
    zone: str, ann: FlaskClient, client: FlaskClient, engine: Engine
) -> None:
    """Each library takes the zone's rules from the file: none of these days would be right by a fixed offset."""
    id = asked_for(engine, "every monday 2:30am", zone=zone)
    wanted = list(occurrences(the_row(engine, id), 60))
    assert len({moment.astimezone(UTC).hour for moment in wanted}) > 1
    content = read(client, made(ann)).text
    [event] = events(content.encode())
    rules: Any
    [rules] = icalendar.Calendar.from_ical(content).walk("VTIMEZONE")
    assert (str(rules["TZID"]), event["DTSTART"].params["TZID"]) == (zone, zone)
    start = event.start.replace(tzinfo=rules.to_tz())
    assert list(islice(rrulestr(event["RRULE"].to_ical().decode(), dtstart=start), 60)) == wanted
    [calendar] = vobject.readComponents(content)
    assert list(islice(calendar.vevent.getrruleset(addRDate=True), 60)) == wanted


@pytest.mark.parametrize(
    "zone",
    [
        *("Europe/Berlin", "Europe/Dublin", "America/Havana", "America/New_York", "Africa/Cairo", "Africa/Casablanca"),
        *("Australia/Lord_Howe", "Asia/Kathmandu"),
    ],
)
def test_each_change_of_clocks_is_written_by_the_clock_that_ends_there(
    zone: str, ann: FlaskClient, client: FlaskClient, engine: Engine
) -> None:
    """One hour of a year would be read wrongly otherwise (RFC 5545, 3.6.5); libraries that know the zone hide it."""
    asked_for(engine, "every sunday 3:30am", zone=zone)
    rules: Any
    [rules] = icalendar.Calendar.from_ical(read(client, made(ann)).data).walk("VTIMEZONE")
    found = set()
    for observance in rules.subcomponents:
        listed = [start for start, *_end in observance.rdates]
        rule = observance.get("RRULE")
        if rule is not None:
            listed += islice(rrulestr(rule.to_ical().decode(), dtstart=observance.DTSTART), 5)
        for start in {observance.DTSTART, *listed}:
            moment = (start - observance.TZOFFSETFROM).replace(tzinfo=UTC)
            before, at = ((moment + step).astimezone(ZoneInfo(zone)).utcoffset() for step in (-SECOND, timedelta(0)))
            if observance.TZOFFSETFROM != observance.TZOFFSETTO:
                found.add(start)
                assert (before, at) == (observance.TZOFFSETFROM, observance.TZOFFSETTO), start
    assert bool(found) == (zone != "Asia/Kathmandu")


def test_the_event_of_a_snooze_is_the_same_one_after_each_change(
    ann: FlaskClient, client: FlaskClient, engine: Engine
) -> None:
    path, id = made(ann), asked_for(engine, "every monday 9am")
    [before] = events(read(client, path).data)
    with engine.begin() as connection:
        change = "UPDATE email_snoozes SET remind_at = remind_at + INTERVAL '7 days', subject = 'Other' WHERE id = :id"
        connection.execute(text(change), {"id": id})
    [after] = events(read(client, path).data)
    assert after["UID"] == before["UID"]
    assert after.start - before.start == timedelta(days=7)


def test_what_came_back_is_in_atom_once_for_each_promise(ann: FlaskClient, client: FlaskClient, engine: Engine) -> None:
    old = a_sent_reminder(engine, subject="A <b> & \x00\x0b\ufffe“c”".replace("\x00", ""), note="ask\x0b her")
    a_sent_reminder(engine, subject="Long ago", promised=now() - timedelta(days=31))
    with engine.begin() as connection:
        copied = (
            "INSERT INTO reminder_sends "
            "(snooze_id, user_email, message_id, scheduled_for, channel, bucket, zone, state, "
            "reserved_at, sent_at) SELECT snooze_id, user_email, message_id, scheduled_for, 'mailbox', bucket, zone, "
            "state, reserved_at, sent_at - INTERVAL '5 seconds' FROM reminder_sends"
        )
        connection.execute(text(copied))
    path = made(ann, "returned")
    answer = read(client, path)
    assert answer.content_type == "application/atom+xml; charset=utf-8"
    [entry] = entries(answer.data)
    assert entry.findtext(f"{ATOM}title") == "A <b> & “c”"
    assert entry.findtext(f"{ATOM}summary") == "ask her"
    link = entry.find(f"{ATOM}link")
    assert link is not None
    assert link.get("href") == f"{BASE_URL}/snoozes/{old}"
    feed = ElementTree.fromstring(answer.data)
    assert feed.findtext(f"{ATOM}updated") == entry.findtext(f"{ATOM}updated")
    assert all(feed.findtext(f"{ATOM}{name}") for name in ("id", "title", "author/" + f"{ATOM}name"))
    assert "@" not in answer.text
    assert path.split("/")[2].split(".")[0] not in answer.text


def test_a_feed_without_subjects_says_when_and_nothing_else(
    ann: FlaskClient, client: FlaskClient, engine: Engine
) -> None:
    a_snooze(engine, subject="Secret", note="Secret", remind_at=now() + HOUR)
    a_sent_reminder(engine, subject="Secret", note="Secret")
    for kind, words in (("calendar", "A message comes back"), ("returned", "A message is back")):
        answer = read(client, made(ann, kind, subject=""))
        assert words in answer.text
        assert "Secret" not in answer.text


def test_a_feed_speaks_the_language_of_its_owner(
    app: Flask, client: FlaskClient, engine: Engine, people: People
) -> None:
    ann = app.test_client()
    ann.set_cookie("snoozer_session", people.ann().session)
    path = made(ann)
    with engine.begin() as connection:
        connection.execute(text("UPDATE accounts SET locale = 'de_DE'"))
    a_snooze(engine, subject=None)
    assert "Kein Betreff" in read(client, path, Accept_Language="en").text


@pytest.mark.parametrize("kind", ["calendar", "returned"])
def test_a_feed_that_has_not_changed_is_not_sent_again(
    kind: str, ann: FlaskClient, client: FlaskClient, engine: Engine
) -> None:
    path = made(ann, kind)
    a_snooze(engine, remind_at=now() + HOUR)
    a_sent_reminder(engine)
    tag = read(client, path).headers["ETag"]
    again = read(client, path, If_None_Match=tag)
    assert (again.status_code, again.data, again.headers["ETag"]) == (304, b"", tag)
    assert client.head(path).headers["ETag"] == tag
    with engine.begin() as connection:
        connection.execute(text("UPDATE email_snoozes SET note = 'new'"))
    assert read(client, path, If_None_Match=tag).status_code == 200


def test_the_secret_is_stored_as_a_hash_and_shown_once(ann: FlaskClient, client: FlaskClient, engine: Engine) -> None:
    path = made(ann)
    secret = path.split("/")[2].split(".")[0]
    page = ann.get("/settings/feeds").text
    assert secret not in page
    assert "Phone" in page
    assert "not used yet" in page
    with engine.connect() as connection:
        stored = connection.execute(text("SELECT feeds::text FROM feeds")).scalar_one()
    assert secret not in stored
    assert secret_keys.digest(secret) in stored
    read(client, path)
    assert "last used" in ann.get("/settings/feeds").text


def test_the_last_use_is_written_once_an_hour(ann: FlaskClient, client: FlaskClient, engine: Engine) -> None:
    path = made(ann)

    def used() -> tuple[str, datetime]:
        read(client, path)
        with engine.connect() as connection:
            version, used_at = connection.execute(text("SELECT xmin::text, used_at FROM feeds")).one()
        return version, used_at

    first = used()
    assert used() == first
    with engine.begin() as connection:
        connection.execute(text("UPDATE feeds SET used_at = used_at - INTERVAL '61 minutes'"))
    assert used()[1] > first[1]


def test_an_address_ends_when_it_is_revoked_by_its_owner_alone(
    app: Flask, ann: FlaskClient, client: FlaskClient, people: People
) -> None:
    path = made(ann)
    bob = app.test_client()
    bob.set_cookie("snoozer_session", people.ann("bob@snoozer.example").session)
    bob.post("/settings/feeds/1/revoke")
    assert read(client, path).status_code == 200
    assert "That address no longer works" in ann.post("/settings/feeds/1/revoke", follow_redirects=True).text
    assert read(client, path).status_code == 404
    assert "revoked already" in ann.post("/settings/feeds/1/revoke", follow_redirects=True).text


def test_a_feed_ends_with_its_account(ann: FlaskClient, client: FlaskClient, engine: Engine) -> None:
    path = made(ann)
    with engine.begin() as connection:
        assert accounts.close(connection, email=ANN)
    assert read(client, path).status_code == 404


def test_a_secret_opens_one_kind_of_feed_and_nothing_else(ann: FlaskClient, client: FlaskClient) -> None:
    path = made(ann)
    secret = path.split("/")[2].split(".")[0]
    assert client.get(f"/feeds/{secret}.atom").status_code == 404
    assert client.get("/api/v1/snoozes", headers={"Authorization": f"Bearer {secret}"}).status_code == 401
    client.set_cookie("snoozer_session", secret)
    assert client.get("/settings/feeds").status_code == 303


def test_guesses_of_secrets_are_counted_with_refused_tokens_and_real_ones_still_work(
    engine: Engine, settings: Settings, people: People
) -> None:
    app = create_app(engine=engine, settings=settings.model_copy(update={"failed_tokens_per_minute": 2}))
    app.config["WTF_CSRF_ENABLED"] = False
    ann, stranger = app.test_client(), app.test_client()
    ann.set_cookie("snoozer_session", people.ann().session)
    path = made(ann)
    guesses = [stranger.get(f"/feeds/guess-{number}.ics").status_code for number in range(2)]
    assert guesses == [404, 404]
    refused = stranger.get("/api/v1/snoozes", headers={"Authorization": "Bearer snz_made-up"})
    assert refused.status_code == 429
    assert "Retry-After" in stranger.get("/feeds/guess.atom").headers
    assert stranger.get(path).status_code == 200


def test_a_person_has_only_so_many_feeds(ann: FlaskClient, engine: Engine) -> None:
    with engine.begin() as connection:
        many = (
            "INSERT INTO feeds (account_id, kind, name, secret_hash) "
            "SELECT 1, 'calendar', '', n::text FROM generate_series(1, :most) AS n"
        )
        connection.execute(text(many), {"most": MAX_FEEDS})
    answer = ann.post("/settings/feeds", data={"kind": "calendar", "name": "one more"})
    assert answer.status_code == 422
    assert "Revoke one first" in answer.text
    assert ann.post("/settings/feeds", data={"kind": "nonsense"}).status_code == 400
