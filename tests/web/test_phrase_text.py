"""A typed phrase can be checked later: its words, every flag explained, its alternative one click away."""

import re
from datetime import UTC, datetime
from html import unescape

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.timephrase.parse import parse
from snoozer.timephrase.zones import zone_or_utc
from snoozer.web.text.time_format import TimeFormatter
from tests.factories import HOUR, a_kept_message, a_snooze, now, the_row
from tests.web.page_forms import shown_reading


def put_away(ann: FlaskClient, engine: Engine, phrase: str) -> int:
    path = f"/mailbox/{a_kept_message(engine)}/snooze"
    read = ann.post(path, data={"phrase": phrase})
    assert ann.post(path, data={"phrase": phrase, "act": "snooze", **shown_reading(read)}).status_code == 303
    return the_newest(engine)


def the_newest(engine: Engine) -> int:
    with engine.connect() as connection:
        return int(connection.execute(text("SELECT max(id) FROM email_snoozes")).scalar_one())


def test_the_page_of_a_snooze_shows_its_phrase_and_its_time_kind(ann: FlaskClient, engine: Engine) -> None:
    wall = put_away(ann, engine, "in 3 days at 8am")
    page = ann.get(f"/snoozes/{wall}").text
    assert "“in 3 days at 8am”" in page
    assert "At 08:00 in Europe/Berlin, also when clocks change there." in page
    row = the_row(engine, wall)
    assert (row.time_kind, row.zone, row.wall_time.hour) == ("wall", "Europe/Berlin", 8)
    elapsed = put_away(ann, engine, "in 3 hours")
    assert "the instant stays" in ann.get(f"/snoozes/{elapsed}").text
    assert the_row(engine, elapsed).time_kind == "elapsed"
    raw = a_snooze(engine, remind_at=now() + HOUR)
    assert "As an exact instant." in ann.get(f"/snoozes/{raw}").text


def alternative_form(page: str) -> dict[str, str]:
    form = re.search(r'<form method="post" action="[^"]+" class="">((?:(?!</form>).)*?name="at".*?)</form>', page, re.S)
    assert form is not None
    return {name: unescape(value) for name, value in re.findall(r'name="([^"]+)" value="([^"]*)"', form.group(1))}


@pytest.mark.parametrize(("phrase", "kind"), [("3/4/2031", "wall"), ("in a few hours", "elapsed")])
def test_the_alternative_is_one_click_away_and_is_the_time_that_was_shown(
    ann: FlaskClient, engine: Engine, phrase: str, kind: str
) -> None:
    id = put_away(ann, engine, phrase)
    page = ann.get(f"/snoozes/{id}").text
    assert "It could also mean" in page
    fields = alternative_form(page)
    assert ann.post(f"/snoozes/{id}/time", data=fields).status_code == 303
    row = the_row(engine, id)
    assert row.remind_at == datetime.fromisoformat(fields["at"])
    assert (row.time_kind, row.zone) == (kind, "Europe/Berlin")
    after = ann.get(f"/snoozes/{id}").text
    assert "It could also mean" not in after
    assert f"“{phrase}”" in after


def test_a_new_time_without_a_phrase_leaves_the_old_phrase_to_the_history(ann: FlaskClient, engine: Engine) -> None:
    id = put_away(ann, engine, "3/4/2031")
    ann.post(f"/snoozes/{id}/time", data={"at": (now() + 50 * HOUR).isoformat()})
    page = ann.get(f"/snoozes/{id}").text
    assert "It could also mean" not in page
    assert "<dt>Your words</dt>" not in page
    assert "You snoozed it on these pages: “3/4/2031”." in page


def test_a_new_note_keeps_the_phrase(ann: FlaskClient, engine: Engine) -> None:
    id = put_away(ann, engine, "3/4/2031")
    ann.post(f"/snoozes/{id}/note", data={"note": "bring the forms"})
    assert "It could also mean" in ann.get(f"/snoozes/{id}").text


def test_a_recurrence_shows_its_rule_and_next_occurrences(ann: FlaskClient, engine: Engine) -> None:
    id = put_away(ann, engine, "every monday 9am")
    assert "every Monday at 09:00" in ann.get("/").text
    page = ann.get(f"/snoozes/{id}").text
    assert "Every Monday at 09:00" in page
    repeats = page.split('<ol class="upcoming"')[1].split("</ol>")[0]
    upcoming = [datetime.fromisoformat(at) for at in re.findall(r'datetime="([^"]+)"', repeats)]
    assert len(upcoming) == 5
    there = [at.astimezone(zone_or_utc("Europe/Berlin")) for at in upcoming]
    assert all((at.weekday(), at.hour) == (0, 9) for at in there)
    assert upcoming[0] == the_row(engine, id).remind_at


def test_a_new_time_is_for_only_this_one_unless_every_one_is_chosen(ann: FlaskClient, engine: Engine) -> None:
    kept = a_kept_message(engine)
    first = {"phrase": "every day 9am", "act": "snooze"}
    again = {"phrase": "tomorrow 10:30", "act": "snooze"}
    for page_of in ("mailbox", "snoozes"):
        path = f"/mailbox/{kept}/snooze"
        ann.post(path, data=first | shown_reading(ann.post(path, data={"phrase": "every day 9am"})))
        id = the_newest(engine)
        assert re.search('data-row[^>]*data-recurrence="every day at 09:00"', ann.get("/").text)
        assert re.search('data-row[^>]*data-recurrence="every day at 09:00"', ann.get(f"/mailbox/{kept}").text)
        form, path = (path, path) if page_of == "mailbox" else (f"/snoozes/{id}", f"/snoozes/{id}/time")
        read = ann.post(path, data={"phrase": "tomorrow 10:30"})
        for page in (ann.get(form).text, read.text):
            choice = re.search("<fieldset[^>]*data-occurrence-choice>(.*?)</fieldset>", page, re.DOTALL)
            assert choice is not None
            assert "every day at 09:00" in choice.group(1)
            assert 'value="once" checked' in choice.group(1)
        ann.post(path, data=again | shown_reading(read))
        row = the_row(engine, id)
        assert row.recurrence["at"] == "09:00:00"
        assert row.wall_time.strftime("%H:%M") == "10:30"
        ann.post(path, data=again | shown_reading(read) | {"scope": "every"})
        row = the_row(engine, id)
        assert row.recurrence["at"] == "10:30:00"
        assert not row.inactive
        trail = ann.get(f"/snoozes/{id}").text
        assert "You changed only one time on these pages:" in trail
        assert "You changed every time on these pages, from" in trail


def test_the_same_recurrence_chosen_again_ends_nothing(ann: FlaskClient, engine: Engine) -> None:
    id = put_away(ann, engine, "every day 9am")
    read = ann.post(f"/snoozes/{id}/time", data={"phrase": "daily at 9am"})
    chosen = {"phrase": "daily at 9am", "act": "snooze"} | shown_reading(read)
    assert "ended its repetition" not in ann.post(f"/snoozes/{id}/time", data=chosen, follow_redirects=True).text


def test_a_recurrence_is_confirmed_when_it_is_saved(ann: FlaskClient, engine: Engine) -> None:
    path = f"/mailbox/{a_kept_message(engine)}/snooze"
    read = ann.post(path, data={"phrase": "every monday 9am"})
    assert "<b>Every Monday at 09:00</b>" in read.text
    saved = ann.post(
        path, data={"phrase": "every monday 9am", "act": "snooze", **shown_reading(read)}, follow_redirects=True
    )
    assert ", then every Monday at 09:00." in saved.text


@pytest.mark.parametrize("locale", ["en", "en_US", "en_GB", "en_NZ", "en_CA", "en_IN", "en_AU", "de_DE", "fr_FR"])
def test_a_time_is_shown_in_the_order_and_on_the_clock_it_is_read_in(locale: str) -> None:
    march = datetime(2027, 3, 1, tzinfo=UTC)
    meant = parse("11/5/2027 3:00", now=march, zone="UTC", locale=locale).at
    assert meant is not None
    shown = TimeFormatter(now=march, zone="UTC", locale=locale).words(datetime(2027, 11, 5, 14, tzinfo=UTC))
    assert ("November 5" in shown) == (meant.month == 11)
    assert shown.endswith("2:00 pm" if meant.hour == 15 else "14:00")
