"""The clock tells a monitoring service each minute whether all is well."""

import logging
import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
from sqlalchemy import Engine, text

from snoozer.cli.database_findings import PING, database_findings, first_trouble
from snoozer.cli.ping import make_switch
from snoozer.db.engine import make_engine
from snoozer.delivery.chores import chore_runner
from snoozer.queue import workers
from snoozer.runtime.dead_man_switch import CONFIRM_AFTER, EVERY, DeadManSwitch, fail_url
from snoozer.runtime.outbound_http import Limits
from snoozer.settings import Settings, SettingsError
from tests.factories import HOUR, a_snooze, now
from tests.webhook_receiver import Answer, Receiver


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


def all_runs(engine: Engine) -> None:
    """A worker and a clock work."""
    for chore in ("bury", "recover", "retire", "doubt", "abandon", "verify", "prepare months"):
        chore_runner.record_run(engine, chore)
    with engine.begin() as connection:
        workers.register(connection, id="w1")


def settings_of(url: str = "") -> Settings:
    return Settings(DATABASE_URL="postgresql://127.0.0.1:9/none", SNOOZER_PING_URL=url)


def requests_to(receiver: Receiver) -> list[tuple[str, str, str]]:
    return [(one.method, one.path, one.body.decode()) for one in receiver.posted]


def is_ping_wrong(engine: Engine, settings: Settings) -> list[bool]:
    with engine.begin() as connection:
        return [one.verdict == "wrong" for one in database_findings(connection, settings) if one.check == "ping"]


def test_all_that_is_well_is_a_get_and_the_doctor_knows(engine: Engine, receiver: Receiver) -> None:
    all_runs(engine)
    settings = settings_of(receiver.url())
    assert is_ping_wrong(engine, settings) == [True]
    assert make_switch(engine, settings).turn() == EVERY
    assert requests_to(receiver) == [("GET", "/hook", "")]
    assert is_ping_wrong(engine, settings) == [False]
    assert is_ping_wrong(engine, settings_of()) == []


def test_what_stays_wrong_is_posted_until_it_is_right(engine: Engine, receiver: Receiver) -> None:
    all_runs(engine)
    switch = make_switch(engine, settings_of(receiver.url("a/b?c=d")))
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM workers"))
    assert (switch.turn(), requests_to(receiver)) == (CONFIRM_AFTER, [])
    assert switch.turn() == EVERY
    assert requests_to(receiver) == [("POST", "/a/b/fail?c=d", "Workers: No worker is alive: no reminder goes out.")]
    all_runs(engine)
    assert switch.turn() == EVERY
    assert requests_to(receiver)[1:] == [("GET", "/a/b?c=d", "")]


def test_a_database_that_does_not_answer_is_reported(engine: Engine, receiver: Receiver) -> None:
    away = make_engine("postgresql+psycopg://127.0.0.1:9/none", name="away")
    switch = make_switch(away, settings_of(receiver.url()))
    switch.turn()
    switch.turn()
    assert requests_to(receiver) == [("POST", "/hook/fail", "The database cannot be reached, or gives no answer.")]


def test_the_sentence_holds_nothing_that_people_wrote(engine: Engine) -> None:
    all_runs(engine)
    settings = settings_of()
    a_snooze(engine, subject="Secret plan", remind_at=now() - HOUR, scheduled_for=now() - HOUR, created_at=now() - HOUR)
    with engine.begin() as connection:
        late = first_trouble(connection, settings)
        connection.execute(
            text(
                "INSERT INTO pauses (kind, value, reason, actor) "
                "VALUES ('all', '', 'ann@snoozer.example asked', 'operator')"
            )
        )
        paused = first_trouble(connection, settings)
    assert late.startswith("Late reminders: 1 overdue, the oldest since ")
    assert paused == "Pauses: Operators hold reminders back."


@pytest.mark.parametrize("status", [302, 404, 500])
def test_a_service_that_refuses_is_logged_once_an_hour_and_no_redirect_is_followed(
    status: int, engine: Engine, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    all_runs(engine)
    receiver.answers["/hook"] += 2 * [Answer(status, headers={"Location": receiver.url("elsewhere")})]
    switch = make_switch(engine, settings_of(receiver.url()))
    with caplog.at_level(logging.WARNING, logger="snoozer.runtime.dead_man_switch"):
        assert [switch.turn(), switch.turn()] == [EVERY, EVERY]
    assert [path for _, path, _ in requests_to(receiver)] == ["/hook", "/hook"]
    assert [record.message for record in caplog.records] == [
        f"the service of SNOOZER_PING_URL took no report: It answered {status}."
    ]
    with engine.connect() as connection:
        assert not chore_runner.was_done(connection, PING, within=timedelta(hours=1))


def test_a_service_that_hangs_is_left(receiver: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    def hang() -> Answer:
        time.sleep(1)
        return Answer()

    receiver.answers["/hook"] = [hang]
    limits = Limits(seconds=0.2, size=100, allow_private=True, cuts=True)
    switch = DeadManSwitch(url=receiver.url(), look=lambda: "", reached=lambda: pytest.fail("late"), limits=limits)
    assert switch.turn() == EVERY
    assert "took too long to answer" in caplog.text


def test_fail_is_the_end_of_the_path() -> None:
    assert fail_url("https://hc-ping.com/uuid") == "https://hc-ping.com/uuid/fail"
    assert fail_url("https://hc-ping.com/key/name/?create=1") == "https://hc-ping.com/key/name/fail?create=1"


@pytest.mark.parametrize("url", ["hc-ping.com/uuid", "ftp://hc-ping.com/uuid", "https://user:pw@hc-ping.com/uuid"])
def test_an_address_that_is_none_is_refused(url: str, engine: Engine) -> None:
    with pytest.raises(SettingsError, match="SNOOZER_PING_URL must be a web address"):
        make_switch(engine, settings_of(url))
