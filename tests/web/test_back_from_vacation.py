"""Each door that takes a phrase knows the vacation: "when I am back" is its end, and asked back if there is none."""

from collections.abc import Callable
from datetime import datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from click.testing import CliRunner
from flask.testing import FlaskClient
from sqlalchemy import Engine

from snoozer.cli.when import command as when
from snoozer.timephrase.day_shape import DayShape
from snoozer.timephrase.parse import parse
from tests.db.days import choose
from tests.factories import ANN, HOUR, People, a_kept_message, a_snooze, now, the_row
from tests.web.page_forms import hidden_field

BERLIN = ZoneInfo("Europe/Berlin")
PHRASE = "when I am back"
NO_VACATION = "No vacation is set, so the day you are back is not known"


def leave(engine: Engine, *, days: int = 10, work_from: time = time(10, 30)) -> datetime:
    """Ann is away from yesterday on; returns the end of her vacation."""
    today = now().astimezone(BERLIN).date()
    back_on = today + timedelta(days=days)
    choose(engine, DayShape(away_from=today - timedelta(days=1), back_on=back_on, work_from=work_from), email=ANN)
    return datetime.combine(back_on, work_from, tzinfo=BERLIN)


def by_reading(client: FlaskClient, headers: dict[str, str]) -> Any:
    return client.get(f"/api/v1/when?phrase={PHRASE}", headers=headers)


def by_snooze(client: FlaskClient, headers: dict[str, str]) -> Any:
    return client.post("/api/v1/snoozes", json={"subject": "Offer", "when": PHRASE}, headers=headers)


def by_many(client: FlaskClient, headers: dict[str, str]) -> Any:
    body = {"act": "create", "snoozes": [{"subject": "Offer", "when": PHRASE}]}
    return client.post("/api/v1/snoozes/bulk", json=body, headers=headers)


@pytest.mark.parametrize("door", [by_reading, by_snooze, by_many])
def test_programs_get_the_end_of_the_vacation_or_the_reason(
    client: FlaskClient, people: People, engine: Engine, door: Callable[..., Any]
) -> None:
    headers = people.ann().bearer
    refused = door(client, headers)
    assert NO_VACATION in refused.text
    assert "no_vacation" in refused.text
    assert "in 2 weeks" in refused.text
    end = leave(engine)
    answer = door(client, headers)
    assert answer.status_code < 300
    assert end.isoformat() in answer.text


def test_the_page_reads_and_saves_it_and_nothing_moves_it(ann: FlaskClient, engine: Engine) -> None:
    path, typed = f"/mailbox/{a_kept_message(engine)}/snooze", {"phrase": PHRASE, "note": ""}
    assert NO_VACATION in ann.get(f"/when/preview?phrase={PHRASE}").text
    refused = ann.post(path, data=typed)
    assert (refused.status_code, NO_VACATION in refused.text) == (422, True)
    end = leave(engine)
    preview = ann.get(f"/when/preview?phrase={PHRASE}").text
    assert "10:30" in preview
    assert "vacation" not in preview
    reading = ann.post(path, data=typed | {"act": "read"}).text
    shown = {"seen_phrase": PHRASE, "seen_at": hidden_field(reading, "seen_at"), "act": "snooze"}
    assert ann.post(path, data=typed | shown).status_code == 303
    with engine.connect() as connection:
        (saved,) = connection.exec_driver_sql("SELECT remind_at, deferred_until FROM email_snoozes")
    assert tuple(saved) == (end, None)


def test_an_own_time_may_be_saved_before_a_vacation_is_set(ann: FlaskClient, engine: Engine) -> None:
    own = {"label": ["Back", "Tomorrow"], "phrase": [PHRASE, "tomorrow 9am"], "act": "save"}
    assert ann.post("/settings/presets", data=own).status_code == 303
    assert 'disabled data-key="1"' in ann.get("/when/offers").text
    leave(engine)
    offers = ann.get("/when/offers").text
    assert 'disabled data-key="1"' not in offers
    assert "10:30" in offers


def test_a_search_and_the_end_of_a_series_know_it_too(ann: FlaskClient, engine: Engine) -> None:
    end = leave(engine)
    a_snooze(engine, subject="Later", remind_at=end + HOUR)
    a_snooze(engine, subject="Sooner", remind_at=end - timedelta(days=2))
    found = ann.get(f'/?q=due:"{PHRASE}"').text
    assert ("Later" in found, "Sooner" in found) == (True, False)
    daily = parse("every day at 9am", now=now(), zone="Europe/Berlin")
    assert daily.at and daily.recurrence
    series = a_snooze(engine, remind_at=daily.at, recurrence=daily.recurrence.as_json(), zone=daily.zone)
    form = {"version": hidden_field(ann.get(f"/snoozes/{series}").text, "version"), "end": f"until {PHRASE}"}
    answer = ann.post(f"/snoozes/{series}/end", data=form)
    assert answer.status_code == 303, answer.text
    assert the_row(engine, series).recurrence["until"] == end.date().isoformat()


def test_the_command_line_takes_the_day() -> None:
    desk = ["--now", "2026-03-05T10:20:00", "--zone", "Europe/Berlin"]
    refused = CliRunner().invoke(when, [PHRASE, *desk])
    assert (refused.exit_code, refused.stderr.startswith(f"no_vacation: {NO_VACATION}")) == (2, True)
    read = CliRunner().invoke(when, [PHRASE, *desk, "--back", "2026-03-16"])
    assert read.stdout.splitlines()[0] == "2026-03-16T09:00:00+01:00"
    wrong = CliRunner().invoke(when, [PHRASE, *desk, "--back", "soon"])
    assert (wrong.exit_code, "such as 2026-12-07" in wrong.stderr) == (2, True)
