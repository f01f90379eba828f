"""How far away a time is, in the same words on every page, in the API and in the sentence that reads a phrase."""

import re
from datetime import timedelta

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine

from snoozer.settings import Settings
from snoozer.timephrase.describe import distance, span_in_words
from snoozer.web.text.time_format import TimeFormatter
from tests.factories import HOUR, People, a_kept_message, a_snooze, now
from tests.web.reminders import a_link, a_sent_reminder

MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
SPANS = [
    (2 * HOUR + 31 * MINUTE, "2 hours 31 minutes"),
    (4 * HOUR + 30 * MINUTE, "4 hours 30 minutes"),
    (37 * HOUR, "2 days"),
    (40 * DAY, "6 weeks"),
    (90 * DAY, "3 months"),
    (365 * DAY, "1 year"),
    (550 * DAY, "1 year 6 months"),
]
# So that it is rounded the same while the pages are read.
A_LITTLE = timedelta(seconds=10)


@pytest.mark.parametrize(("span", "words"), SPANS)
def test_every_page_rounds_a_distance_the_same_way(
    span: timedelta, words: str, ann: FlaskClient, people: People, engine: Engine, settings: Settings
) -> None:
    at = now() + span + A_LITTLE
    message = a_kept_message(engine, message_id="<m@x>")
    sent = a_sent_reminder(engine, message_id="<m@x>")
    ann.post(f"/mailbox/{message}/snooze", data={"at": at.isoformat()})
    [id] = set(re.findall(r'href="/snoozes/(\d+)"', ann.get(f"/mailbox/{message}").text))
    pages = ["/", "/mailbox?folder=asleep", f"/mailbox/{message}", f"/snoozes/{id}", a_link(engine, settings, sent)]
    for path in pages:
        assert f"in {words}" in ann.get(path).text, path
    minutes = span // MINUTE
    read = ann.get("/when/preview", query_string={"phrase": f"in {minutes} minutes"}).text
    assert re.findall(r"\bin (\d+ [^<)]*)", read.partition("<button")[0]).count(words) == 2, read
    assert f"(in {words})" in ann.get(f"/api/v1/snoozes/{id}", headers=people.ann().bearer).text


@pytest.mark.parametrize(("span", "words"), SPANS)
def test_what_is_late_rounds_as_what_is_ahead(span: timedelta, words: str, ann: FlaskClient, engine: Engine) -> None:
    id = a_snooze(engine, remind_at=now() - span - A_LITTLE)
    page = ann.get(f"/snoozes/{id}").text
    assert f"{words} ago" in page
    assert f"It has been due for {words} " in page


def test_no_span_has_two_names() -> None:
    times = TimeFormatter(now=now(), zone="UTC", locale="en-GB")
    for seconds in (*range(60, 600, 7), *range(600, 200_000, 997), *range(200_000, 90_000_000, 99_991)):
        span = timedelta(seconds=seconds)
        assert times.distance(times.now + span) == distance(span) == f"in {span_in_words(span)}"
        assert times.distance(times.now - span) == f"{span_in_words(span)} ago"
