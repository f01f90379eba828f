"""The shape of a day is shown before it is saved, and each snooze that it defers says so."""

import re
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.db.models import SavedDayShape
from snoozer.timephrase.day_shape import DayShape
from tests.db.days import choose, quiet
from tests.factories import ANN, HOUR, a_snooze, asked_for, now, the_row
from tests.web.page_forms import hidden_field

BERLIN = ZoneInfo("Europe/Berlin")
WORK: dict[str, Any] = {"working_day": ["1", "2", "3", "4", "5"], "work_from": "09:00", "work_until": "17:00"}
NIGHT = {"quiet_from": "22:00", "quiet_until": "07:00"}


def saved(engine: Engine) -> Any:
    with engine.connect() as connection:
        return connection.execute(SavedDayShape.__table__.select()).first()


def tomorrow_at(hour: int, minute: int = 0) -> datetime:
    day = now().astimezone(BERLIN) + timedelta(days=1)
    return day.replace(hour=hour, minute=minute, second=0, microsecond=0)


def save(client: FlaskClient, **values: Any) -> None:
    """By the two steps of the page."""
    form = WORK | values
    page = client.post("/settings/day", data=form | {"act": "preview"})
    assert page.status_code == 200
    done = client.post("/settings/day", data=form | {"act": "save", "seen": hidden_field(page.text, "seen")})
    assert done.status_code == 303


def test_the_preview_tells_what_moves_and_saves_nothing(ann: FlaskClient, engine: Engine) -> None:
    id = a_snooze(engine, remind_at=tomorrow_at(22, 30), subject="Board papers <b>")
    a_snooze(engine, remind_at=tomorrow_at(12), subject="Lunch")
    before = the_row(engine, id)
    page = ann.post("/settings/day", data=WORK | NIGHT | {"act": "preview"}).text
    assert "1 snooze moves" in page
    assert "Board papers &lt;b&gt;" in page
    assert "Lunch" not in page
    assert (the_row(engine, id), saved(engine)) == (before, None)


def test_saving_needs_the_preview_of_the_same_values(ann: FlaskClient, engine: Engine) -> None:
    page = ann.post("/settings/day", data=WORK | NIGHT | {"act": "preview"}).text
    seen = hidden_field(page, "seen")
    other = WORK | NIGHT | {"quiet_until": "08:00", "act": "save", "seen": seen}
    assert "Nothing was saved yet" in ann.post("/settings/day", data=other).text
    assert "Nothing was saved yet" in ann.post("/settings/day", data=WORK | NIGHT | {"act": "save"}).text
    assert saved(engine) is None
    assert ann.post("/settings/day", data=WORK | NIGHT | {"act": "save", "seen": seen}).status_code == 303
    assert (saved(engine).quiet_from.hour, saved(engine).quiet_until.hour) == (22, 7)
    assert saved(engine).rest_reason == "quiet"


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("quiet_until", {"quiet_from": "22:00", "quiet_until": "22:00"}),
        ("quiet_until", {"quiet_from": "22:00"}),
        ("quiet_from", {"quiet_until": "22:00"}),
        ("gathers_over", {"gathers_over": "2"}),
        ("gathers_over", {"gathers_over": "51"}),
        ("gathers_over", {"gathers_over": "ten"}),
        ("quiet_from", {"quiet_from": "late", "quiet_until": "07:00"}),
        ("quiet_until_off", NIGHT | {"quiet_until_off": "23:00"}),
        ("work_from", {"work_from": ""}),
        ("work_until", {"work_until": "08:00"}),
        ("working_days", {"working_day": []}),
        ("working_days", {"working_day": ["8", "x"]}),
        ("back_on", {"away_from": "2099-01-02", "back_on": "2099-01-02"}),
        ("back_on", {"away_from": "2020-01-02", "back_on": "2020-01-05"}),
        ("away_from", {"away_from": "0000-00-00", "back_on": "2099-01-02"}),
        ("away_from", {"away_from": "9999-12-31", "back_on": "9999-12-31"}),
        ("back_on", {"away_from": "2099-01-02"}),
    ],
)
def test_the_error_stands_at_the_field_that_makes_no_sense(
    ann: FlaskClient, engine: Engine, field: str, values: dict[str, Any]
) -> None:
    page = ann.post("/settings/day", data=WORK | values | {"act": "save"})
    assert page.status_code == 422
    assert f'id="{field}-error"' in page.text
    assert saved(engine) is None


def test_a_field_with_an_error_keeps_what_was_typed(ann: FlaskClient) -> None:
    page = ann.post("/settings/day", data=WORK | {"quiet_from": "22:00", "quiet_until": "x<y"})
    assert 'value="x&lt;y"' in page.text


def test_a_deferred_snooze_says_when_it_comes_and_for_when_it_was_asked(ann: FlaskClient, engine: Engine) -> None:
    save(ann, **NIGHT)
    id = a_snooze(engine, remind_at=tomorrow_at(22, 30))
    row = ann.get("/").text
    assert "asked for" in row
    assert "22:30" in row
    assert "07:00" in row
    page = ann.get(f"/snoozes/{id}").text
    assert "which is in your quiet hours" in page
    free = a_snooze(engine, remind_at=tomorrow_at(22, 30), at_any_hour=True)
    assert "which is in your quiet hours" not in ann.get(f"/snoozes/{free}").text


def test_a_snooze_that_waits_for_the_end_of_a_rest_is_asleep(ann: FlaskClient, engine: Engine) -> None:
    end = now() + HOUR
    id = a_snooze(engine, remind_at=end, scheduled_for=now() - HOUR, deferred_until=end, deferred_by="vacation")
    page = ann.get(f"/snoozes/{id}").text
    assert "which is in your vacation" in page
    assert "Its time has come" not in page
    assert '<b class="asleep">Asleep</b>' in page
    assert "asked for" in ann.get("/").text
    assert "Back now" in page
    ann.post(f"/snoozes/{id}/back")
    row = the_row(engine, id)
    assert row.remind_at <= now()
    assert (row.deferred_until, row.at_any_hour) == (None, True)


def test_the_reading_of_a_phrase_tells_of_the_rest_and_offers_to_take_it_anyway(
    ann: FlaskClient, engine: Engine
) -> None:
    save(ann, **NIGHT)
    id = a_snooze(engine, remind_at=now() + HOUR)
    url, typed = f"/snoozes/{id}/time", {"phrase": "tomorrow 22:30", "note": ""}
    assert "That is in your quiet hours" in ann.get("/when/preview?phrase=tomorrow+22:30").text
    assert "quiet hours" not in ann.get("/when/preview?phrase=tomorrow+12:00").text
    reading = ann.post(url, data=typed | {"act": "read"}).text
    assert "Take tomorrow 22:30 anyway" in reading
    shown = {"seen_phrase": "tomorrow 22:30", "seen_at": hidden_field(reading, "seen_at"), "act": "snooze"}
    answer = ann.post(url, data=typed | shown, follow_redirects=True).text
    assert "at the end of your quiet hours" in answer
    assert the_row(engine, id).at_any_hour is False
    answer = ann.post(url, data=typed | shown | {"any_hour": "on"}, follow_redirects=True).text
    assert "Asleep until tomorrow 22:30." in answer
    assert the_row(engine, id).at_any_hour is True
    ann.post(f"/snoozes/{id}/note", data={"note": "call"})
    assert (the_row(engine, id).note, the_row(engine, id).at_any_hour) == ("call", True)


def test_the_reminder_that_came_at_the_end_counts_as_on_time(ann: FlaskClient, engine: Engine) -> None:
    promise = now() - 9 * HOUR
    id = a_snooze(
        engine,
        remind_at=now() - HOUR,
        scheduled_for=promise,
        deferred_until=now() - HOUR,
        deferred_by="quiet",
        inactive=True,
        outcome="sent",
        finished_at=now() - HOUR,
    )
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO reminder_sends (snooze_id, user_email, message_id, scheduled_for, bucket, state, zone, "
                "reserved_at, sent_at, claim_token, reminder_message_id, smtp_code, delayed_by) "
                "SELECT id, user_email, message_id, scheduled_for, bucket, 'sent', 'UTC', deferred_until, "
                "deferred_until + INTERVAL '1 second', gen_random_uuid(), '<r@x>', 250, 'quiet' FROM email_snoozes"
            )
        )
    page = ann.get(f"/snoozes/{id}").text
    assert "at the end of your quiet hours" in page
    assert "late by" not in page


def test_a_change_of_zone_moves_the_night(ann: FlaskClient, engine: Engine) -> None:
    save(ann, **NIGHT)
    before = saved(engine).rest_until
    ann.post("/settings", data={"zone": "Asia/Kolkata", "locale": "en_GB", "moving": "keep"})
    assert saved(engine).rest_until != before
    assert saved(engine).known_until > now()


def test_the_picture_of_the_days_has_words_too(ann: FlaskClient, engine: Engine) -> None:
    save(ann, **NIGHT, rests_on_days_off="on")
    page = ann.get("/settings/day").text
    assert "nothing comes midnight to 07:00 and 22:00 to midnight" in page
    assert "day off, nothing comes midnight to midnight" in page


def test_other_people_keep_their_days(ann: FlaskClient, engine: Engine) -> None:
    choose(engine, quiet(), email="bob@snoozer.example")
    assert 'name="quiet_from" type="time" value=""' in ann.get("/settings/day").text
    save(ann)
    with engine.connect() as connection:
        shapes = connection.execute(text("SELECT quiet_from IS NULL FROM day_shapes ORDER BY account_id"))
        assert sorted(shapes.scalars()) == [False, True]


def test_a_vacation_that_is_over_leaves_the_form(ann: FlaskClient, engine: Engine) -> None:
    today = now().date()
    shape = DayShape(away_from=today - timedelta(days=9), back_on=today - timedelta(days=3))
    choose(engine, shape, email=ANN)
    assert 'name="back_on" type="date" value=""' in ann.get("/settings/day").text
    save(ann)
    assert saved(engine).back_on is None


def test_without_a_shape_no_page_mentions_one(ann: FlaskClient, engine: Engine) -> None:
    asked_for(engine, "tomorrow 23:00")
    # The command bar finds the page of one's day by these words.
    shown = re.sub(r'data-words="[^"]*"', "", ann.get("/").text)
    assert "quiet hours" not in shown


def test_one_mail_for_many_is_chosen_and_ended(ann: FlaskClient, engine: Engine) -> None:
    save(ann, gathers_over="10")
    assert saved(engine).gathers_over == 10
    page = ann.get("/settings/day").text
    assert "More than 10 reminders that waited come in one mail" in page
    assert 'value="10"' in page
    save(ann, gathers_over="")
    assert saved(engine).gathers_over is None
