"""While delivery fails, pages and API say so, and call nothing asleep that is overdue."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, insert, text

from snoozer.db.models import CircuitBreaker
from snoozer.db.schema import SUPPORTED_SCHEMA
from snoozer.delivery.chores.returns import return_due
from snoozer.settings import Settings
from tests.factories import HOUR, People, a_kept_message, a_snooze, now
from tests.web.reminders import a_sent_reminder

MESSAGE = "<kept@mail.example>"
PAGES = ("/", "/mailbox", "/mailbox?folder=asleep", "/add", "/settings")
AWAY = "Reminders are not going out"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """What pages know of delivery is read anew for each."""
    return settings.model_copy(update={"poll": 0.0})


def a_breaker(engine: Engine, **columns: Any) -> None:
    values = {"server": "127.0.0.1:9", "state": "open", "opened_at": now(), "away_since": now() - HOUR} | columns
    with engine.begin() as connection:
        connection.execute(insert(CircuitBreaker).values(**values))


@pytest.mark.parametrize("path", PAGES)
def test_every_page_says_since_when_the_mail_server_is_away(ann: FlaskClient, engine: Engine, path: str) -> None:
    assert AWAY not in ann.get(path).text
    a_breaker(engine)
    page = ann.get(path).text
    assert AWAY in page
    assert "has not been taking mail since" in page
    assert "Messages are back in the inbox at their time all the same" in page


def test_an_operators_page_leads_to_the_queue(operator: FlaskClient, engine: Engine) -> None:
    a_breaker(engine, refuses_everybody=True)
    page = operator.get("/admin/cases").text
    assert "has refused every reminder since" in page
    assert "snoozer doctor" in page


def test_the_breaker_of_a_mail_server_that_is_not_used_any_more_is_no_trouble(ann: FlaskClient, engine: Engine) -> None:
    """Its address was changed while it was away, and no worker asks for it again."""
    a_breaker(engine, server="old.example:25", updated_at=now() - 2 * HOUR)
    assert AWAY not in ann.get("/").text
    assert 'class="banner"' not in ann.get("/").text


def test_every_page_says_that_no_worker_takes_what_is_due(ann: FlaskClient, engine: Engine) -> None:
    a_snooze(engine, user_email="bob@snoozer.example", remind_at=now() - HOUR, created_at=now() - 2 * HOUR)
    assert "Reminders go out late" in ann.get("/mailbox").text


def test_what_waits_for_a_newer_release_or_for_its_turn_is_no_failure(ann: FlaskClient, engine: Engine) -> None:
    """The page missed a worker that would take it, and every page announced late reminders."""
    due = {"remind_at": now() - HOUR, "created_at": now() - 2 * HOUR}
    deferred = a_snooze(engine, **due, schema_version=SUPPORTED_SCHEMA + 1)
    assert "Reminders go out late" not in ann.get("/mailbox").text
    assert "A newer release of Snoozer wrote it" in ann.get(f"/snoozes/{deferred}").text
    keyed = a_snooze(engine, **due, serialization_key="series")
    assert "one after the other" in ann.get(f"/snoozes/{keyed}").text


def test_every_page_says_that_messages_do_not_come_back(ann: FlaskClient, engine: Engine) -> None:
    a_kept_message(engine, message_id=MESSAGE)
    a_snooze(engine, message_id=MESSAGE)
    assert "are not back in the inbox yet" in ann.get("/mailbox").text
    return_due(engine)
    assert "are not back in the inbox yet" not in ann.get("/mailbox").text


def overdue() -> dict[str, Any]:
    return {"remind_at": now() - HOUR}


def retrying() -> dict[str, Any]:
    return {"remind_at": now() + HOUR, "scheduled_for": now() - HOUR, "last_error": "rcpt: 452 full"}


def a_case() -> dict[str, Any]:
    return {"inactive": True, "outcome": "retired", "finished_at": now(), "scheduled_for": now() - HOUR}


@pytest.mark.parametrize(
    ("columns", "word"),
    [
        (retrying, "Its reminder is late"),
        (overdue, "Its reminder is late"),
        (a_case, "Its reminder could not be delivered"),
    ],
)
def test_a_message_whose_reminder_was_not_sent_says_so_where_it_is_listed_and_read(
    ann: FlaskClient, engine: Engine, columns: Callable[[], dict[str, Any]], word: str
) -> None:
    kept = a_kept_message(engine, message_id=MESSAGE)
    id = a_snooze(engine, message_id=MESSAGE, **(overdue() | columns()))
    return_due(engine)
    with engine.begin() as connection:
        # A case from before messages returned by themselves.
        connection.execute(text("UPDATE messages SET folder = 'inbox'"))
    for path in ("/mailbox", f"/mailbox/{kept}"):
        page = ann.get(path).text
        assert word in page
        assert f'href="/snoozes/{id}"' in page
        assert "Asleep until" not in page
    assert "The message itself is back in your inbox" in ann.get(f"/snoozes/{id}").text


def test_the_api_calls_nothing_asleep_that_waits_for_another_try(
    client: FlaskClient, people: People, engine: Engine
) -> None:
    ann = people.ann()
    id = a_snooze(engine, **retrying(), last_error_at=now() - HOUR / 2)
    body = client.get(f"/api/v1/snoozes/{id}", headers=ann.bearer).get_json()
    assert (body["state"], body["late_because"]) == ("due", "because the mail server was away")
    assert 3590 < body["late_seconds"] < 3700
    for state, ids in (("asleep", []), ("due", [id])):
        found = client.get(f"/api/v1/snoozes?state={state}", headers=ann.bearer).get_json()["snoozes"]
        assert [row["id"] for row in found] == ids


def test_the_api_says_how_late_a_reminder_was_and_why(client: FlaskClient, people: People, engine: Engine) -> None:
    ann = people.ann()
    on_time = a_sent_reminder(engine)
    late = a_sent_reminder(engine, promised=now() - HOUR, late=timedelta(minutes=2))
    with engine.begin() as connection:
        connection.execute(
            text("UPDATE reminder_sends SET delayed_by = 'recipient' WHERE snooze_id = :id"), {"id": late}
        )
    body = client.get(f"/api/v1/snoozes/{on_time}", headers=ann.bearer).get_json()
    assert (body["late_seconds"], body["late_because"]) == (None, None)
    body = client.get(f"/api/v1/snoozes/{late}", headers=ann.bearer).get_json()
    assert 119 < body["late_seconds"] < 123
    assert "did not take mail for your address" in body["late_because"]


def test_the_list_says_how_late_a_reminder_was_and_why(ann: FlaskClient, engine: Engine) -> None:
    late = a_sent_reminder(engine, promised=now() - HOUR, late=timedelta(minutes=2))
    with engine.begin() as connection:
        connection.execute(text("UPDATE reminder_sends SET delayed_by = 'mail server'"))
    words = "late by 2 minutes, because the mail server was away"
    assert words in ann.get("/").text
    assert words in ann.get(f"/snoozes/{late}").text


@pytest.mark.parametrize("is_tried", [False, True])
def test_every_page_says_that_the_mail_server_fails_during_each_try_too(
    ann: FlaskClient, engine: Engine, is_tried: bool
) -> None:
    a_breaker(engine, state="closed", failures=1, last_failure_at=now(), last_success_at=now() - HOUR, away_since=None)
    claim = {"claimed_by": "ant-1", "claimed_at": now()} if is_tried else {}
    remind_at = now() if is_tried else now() + HOUR
    a_snooze(
        engine,
        remind_at=remind_at,
        scheduled_for=now() - HOUR,
        created_at=now() - 2 * HOUR,
        last_error="timed out",
        last_error_at=now(),
        **claim,
    )
    assert "has not been taking mail since" in ann.get("/settings").text
