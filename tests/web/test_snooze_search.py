"""Search of what is asleep: by words and filters, in the address of the page, of one person only."""

import re
from datetime import datetime, timedelta
from html import unescape
from urllib.parse import urlencode

import pytest
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine, insert

from snoozer.db.models import Snooze
from snoozer.mailboxes.search_terms import MAX_TERMS
from snoozer.web.snoozes import search
from snoozer.web.snoozes.search import SearchError
from snoozer.web.text.time_format import TimeFormatter
from tests.db.links import DAILY
from tests.factories import ANN, HOUR, a_snooze, now


def found(ann: FlaskClient, typed: str) -> list[str]:
    answer = ann.get(f"/?{urlencode({'q': typed})}")
    assert answer.status_code == 200
    return [unescape(title) for title in re.findall(r'class="row-title"[^>]*>([^<]*)<', answer.text)]


@pytest.fixture
def snoozes(engine: Engine) -> None:
    a_snooze(engine, subject="Invoice 100%", sender_email="ann@shop.example", remind_at=now() + 30 * HOUR)
    a_snooze(engine, subject="Dinner", sender_email="carl@home.example", note="Call first", remind_at=now() + 60 * HOUR)
    a_snooze(engine, subject="Water the plants", remind_at=now() + 40 * HOUR, recurrence=DAILY)
    a_snooze(engine, subject="Overdue", remind_at=now() - HOUR)
    a_snooze(engine, subject="Paused", remind_at=now() + 50 * HOUR, inactive=True)
    a_snooze(engine, subject="Refused", remind_at=now(), inactive=True, outcome="retired", finished_at=now())
    a_snooze(engine, subject="Invoice of Bob", user_email="bob@snoozer.example")


@pytest.mark.usefixtures("snoozes")
@pytest.mark.parametrize(
    ("typed", "subjects"),
    [
        ("invoice", ["Invoice 100%"]),
        ("INVOICE 100%", ["Invoice 100%"]),
        ("%", ["Invoice 100%"]),
        ("call", ["Dinner"]),
        ("note:call", ["Dinner"]),
        ("subject:call", []),
        ("from:carl", ["Dinner"]),
        ('"call first" from:home', ["Dinner"]),
        ("repeats:", ["Water the plants"]),
        ("state:late", ["Overdue"]),
        ("state:paused", ["Paused"]),
        ("state:stuck", ["Refused"]),
        ("state:asleep", ["Invoice 100%", "Water the plants", "Dinner"]),
        ("nothing of that", []),
        ("12:30", []),
    ],
)
def test_words_and_filters_find_what_has_all_of_them(ann: FlaskClient, typed: str, subjects: list[str]) -> None:
    assert found(ann, typed) == subjects


def test_days_are_those_of_the_persons_zone(ann: FlaskClient, engine: Engine) -> None:
    times = TimeFormatter(now=now(), zone="Europe/Berlin", locale="en_GB")
    noon = times.local(times.now).replace(hour=12, minute=0)
    for days in range(1, 5):
        a_snooze(engine, subject=f"In {days}", remind_at=noon + timedelta(days=days))
    a_snooze(engine, subject="Late on day 2", remind_at=(noon + timedelta(days=2)).replace(hour=23, minute=59))
    day = f"{noon + timedelta(days=2):%Y-%m-%d}"
    assert found(ann, f"due:{day}") == ["In 2", "Late on day 2"]
    assert found(ann, f"due:<{day}") == ["In 1"]
    assert found(ann, f"due:>{day}") == ["In 3", "In 4"]
    assert found(ann, "due:tomorrow") == ["In 1"]
    assert found(ann, f"due:>tomorrow due:<{noon + timedelta(days=4):%Y-%m-%d}") == ["In 2", "Late on day 2", "In 3"]


def test_a_day_is_that_of_the_calendar_at_every_hour_and_across_clock_changes() -> None:
    def days(typed: str, now: str, zone: str) -> tuple[str, str]:
        times = TimeFormatter(now=datetime.fromisoformat(now), zone=zone, locale="en_GB")
        filters = search.parse(typed, times=times)
        assert filters.since is not None
        assert filters.before is not None
        return filters.since.isoformat(), filters.before.isoformat()

    nuuk = ("2027-03-27T00:00:00-02:00", "2027-03-28T00:00:00-01:00")
    assert days("due:saturday", "2027-03-25T12:00:00+00:00", "America/Nuuk") == nuuk
    assert days("due:2027-03-27", "2027-03-25T12:00:00+00:00", "America/Nuuk") == nuuk
    friday = ("2026-03-06T00:00:00+01:00", "2026-03-07T00:00:00+01:00")
    for clock in ("00:00:00", "12:30:00", "23:59:30"):
        assert days("due:today", f"2026-03-06T{clock}+01:00", "Europe/Berlin") == friday
        assert days("due:friday", f"2026-03-06T{clock}+01:00", "Europe/Berlin") == friday
    clock_change = ("2026-03-29T00:00:00+01:00", "2026-03-30T00:00:00+02:00")
    assert days("due:sunday", "2026-03-27T12:00:00+01:00", "Europe/Berlin") == clock_change


def test_a_day_that_has_passed_and_too_many_words_are_explained(ann: FlaskClient) -> None:
    assert "“due:2020-01-01” has passed" in unescape(ann.get("/?q=due:2020-01-01").text)
    page = ann.get("/?" + urlencode({"q": "repeats: a b c d e f g state:stuck"}))
    assert page.status_code == 422
    assert "at most 8 words and filters" in page.text
    assert ann.get("/?" + urlencode({"q": "repeats: a b c d e f g"})).status_code == 200


@pytest.mark.parametrize("typed", ["due:<frday", "due:", "state:sleepy", "state:"])
def test_a_filter_that_cannot_be_read_is_explained(ann: FlaskClient, engine: Engine, typed: str) -> None:
    a_snooze(engine)
    answer = ann.get(f"/?{urlencode({'q': typed})}")
    assert answer.status_code == 422
    assert "data-row" not in answer.text
    assert 'aria-invalid="true"' in answer.text
    assert f"“{typed.partition(':')[0]}:" in unescape(answer.text)


def test_a_search_is_kept_from_page_to_page(ann: FlaskClient, engine: Engine) -> None:
    rows = [
        {"user_email": ANN, "message_id": f"<{n}>", "subject": f"Row {n}", "remind_at": now() + n * HOUR}
        for n in range(1, 100)
    ]
    with engine.begin() as connection:
        connection.execute(insert(Snooze), rows)
    url, seen = "/?q=row+subject%3Arow", []
    while url:
        page = ann.get(url).text
        assert "99 messages" in page
        seen += re.findall(r'class="row-title"[^>]*>([^<]*)<', page)
        following = re.search(r'href="([^"]+)" rel="next"', page)
        url = unescape(following[1]) if following else ""
    assert seen == [f"Row {n}" for n in range(1, 100)]


def test_what_is_typed_is_escaped(ann: FlaskClient) -> None:
    page = ann.get("/?" + urlencode({"q": "<script>alert(1)</script>"})).text
    assert "<script>alert" not in page
    assert "Nothing was found" in page


@given(typed=st.text(st.characters() | st.sampled_from(list('duefrom:<>"st ate')), max_size=60))
def test_whatever_is_typed_is_read_or_refused_in_words(typed: str) -> None:
    times = TimeFormatter(now=now(), zone="Europe/Berlin", locale="en_GB")
    try:
        filters = search.parse(typed, times=times)
    except SearchError as error:
        assert error.message.startswith("“")
    else:
        assert len(filters.texts) <= MAX_TERMS
        assert all(text.strip() for _, text in filters.texts)
