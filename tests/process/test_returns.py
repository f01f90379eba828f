"""The message is back at its time while its reminder cannot be sent, and pages, API and doctor tell the same story."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.db import mailbox_store
from snoozer.settings import Settings
from tests.factories import ANN, People, a_kept_message, a_snooze, now, the_row
from tests.mail.scripted_server import USUAL, ScriptedServer
from tests.process.conftest import TIMEOUT, Field, wait

MESSAGE = "<kept@mail.example>"
DAY = timedelta(days=1)
# All that lies in the past of this story, moved further back.
FREE = text("SELECT id FROM email_snoozes WHERE claimed_at IS NULL AND scheduled_for IS NOT NULL FOR UPDATE")
SHIFT = (
    "UPDATE reminder_sends SET scheduled_for = scheduled_for - CAST(:by AS interval), "
    "reserved_at = reserved_at - CAST(:by AS interval)",
    "UPDATE email_snoozes SET scheduled_for = scheduled_for - CAST(:by AS interval), "
    "created_at = created_at - CAST(:by AS interval), last_error_at = last_error_at - CAST(:by AS interval)",
    "UPDATE circuit_breakers SET away_since = away_since - CAST(:by AS interval)",
)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """What pages know of delivery is read anew for each."""
    return settings.model_copy(update={"poll": 0.0})


@dataclass
class Story:
    """Ann's message, snoozed, and what she, her programs and the operator see of it."""

    place: Field
    browser: FlaskClient
    headers: dict[str, str]
    kept: int
    id: int

    @property
    def row(self) -> Any:
        return the_row(self.place.engine, self.id)

    @property
    def mailbox(self) -> str:
        return self.browser.get("/mailbox").text

    @property
    def page(self) -> str:
        return self.browser.get(f"/snoozes/{self.id}").text

    @property
    def api(self) -> dict[str, Any]:
        found: dict[str, Any] = self.browser.get(f"/api/v1/snoozes/{self.id}", headers=self.headers).get_json()
        return found

    def is_back(self) -> bool:
        """Is the message unread on top of the inbox?"""
        with self.place.engine.connect() as connection:
            top = connection.execute(
                text("SELECT id, unread FROM messages WHERE folder = 'inbox' ORDER BY surfaced_at DESC")
            ).first()
        return top == (self.kept, True)

    def shift(self, by: timedelta) -> None:
        def is_shifted() -> bool:
            with self.place.engine.begin() as connection:
                if connection.execute(FREE).first() is None:
                    return False
                for statement in SHIFT:
                    connection.execute(text(statement), {"by": by})
            return True

        wait(is_shifted)

    def doctor(self) -> dict[str, str]:
        """The verdict of each check."""
        report = json.loads(self.place.run("doctor", "--json").stdout)
        return {check["check"]: check["verdict"] for check in report["checks"]}


@contextmanager
def a_story(place: Field, app: Flask, people: People, server: ScriptedServer, **settings: str) -> Iterator[Story]:
    """A read message that is due in two seconds, below another one, while the worker and the clock run."""
    ann = people.ann()
    browser = app.test_client()
    browser.set_cookie("snoozer_session", ann.session)
    place.settings = {"SMTP_URL": f"smtp://127.0.0.1:{server.port}", **settings}
    kept = a_kept_message(place.engine, message_id=MESSAGE)
    a_kept_message(place.engine)
    id = a_snooze(place.engine, message_id=MESSAGE, remind_at=now() + timedelta(seconds=2))
    with place.engine.begin() as connection:
        mailbox_store.move(connection, user_email=ANN, message_id=MESSAGE, folder="snoozed")
        mailbox_store.mark(connection, id=kept, user_email=ANN, unread=False)
    processes = [place.start("worker"), place.start("clock")]
    try:
        yield Story(place=place, browser=browser, headers=ann.bearer, kept=kept, id=id)
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.communicate(timeout=TIMEOUT)


def test_a_message_is_back_whose_recipient_is_refused_for_two_days(place: Field, app: Flask, people: People) -> None:
    with ScriptedServer(rcpt="452 4.2.2 The mailbox is full") as server, a_story(place, app, people, server) as story:
        wait(story.is_back)
        assert on_time(place.engine, story)
        wait(lambda: "was asked" in story.page)
        story.shift(2 * DAY)
        wait(lambda: "Its reminder is late" in story.mailbox)
        wait(lambda: "does not take the reminder for your address for now" in story.page)
        assert story.api["state"] in {"due", "claimed"}
        assert "did not take mail for your address" in story.api["late_because"]
        assert "A reminder is late" in story.browser.get("/").text
        assert "Reminders are not going out" not in story.mailbox
        doctor = story.doctor()
        assert (doctor["late reminders"], doctor["invariant messages return"]) == ("wrong", "right")
        assert (story.row.attempts, story.row.outcome) == (0, None)
        server.answer("rcpt", USUAL["rcpt"])
        wait(lambda: story.row.outcome == "sent")
        assert "late by 2 days, because the mail server did not take mail for your address at first" in story.page


def test_a_message_is_back_while_the_mail_server_is_gone_for_45_days(place: Field, app: Flask, people: People) -> None:
    cooldown = {"SNOOZER_BREAKER_COOLDOWN_SECONDS": "0.5", "SNOOZER_BREAKER_THRESHOLD": "2"}
    with (
        ScriptedServer(banner="421 4.3.2 down for maintenance") as server,
        a_story(place, app, people, server, **cooldown) as story,
    ):
        wait(story.is_back)
        assert on_time(place.engine, story)
        wait(lambda: "Reminders are not going out" in story.mailbox)
        story.shift(45 * DAY)
        for page in (story.mailbox, story.page, story.browser.get("/settings").text):
            assert "has not been taking mail since" in page
        wait(lambda: "Its reminder is late" in story.mailbox)
        assert story.api["state"] in {"due", "claimed"}
        assert story.api["late_because"] == "because the mail server was away"
        doctor = story.doctor()
        assert (doctor["breaker"], doctor["late reminders"]) == ("wrong", "wrong")
        assert doctor["invariant messages return"] == "right"
        assert (story.row.attempts, story.row.outcome) == (0, None)
        server.answer("banner", USUAL["banner"])
        wait(lambda: story.row.outcome == "sent")
        wait(lambda: "Reminders are not going out" not in story.mailbox)
        assert "because the mail server was away" in story.page


def on_time(engine: Engine, story: Story) -> bool:
    """Was it entered as returned once, and not before its time?"""
    with engine.connect() as connection:
        rows = connection.execute(
            text("SELECT sent_at >= scheduled_for AS due FROM reminder_sends WHERE channel = 'mailbox'")
        ).scalars()
        return list(rows) == [True]
