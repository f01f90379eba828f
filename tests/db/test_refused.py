"""Statements that the database refuses again and again are executed less and less often, until they are allowed."""

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from threading import Thread
from typing import Any

import pytest
from sqlalchemy import Engine, event, text

from snoozer.cli.clock import FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS, do_chore
from snoozer.cli.mailbox import make_watcher
from snoozer.db import schema
from snoozer.db.engine import make_engine
from snoozer.db.statements import NAME_OPTION
from snoozer.delivery.chores import chores
from snoozer.mailboxes.sync import watcher
from snoozer.operators import chunks
from snoozer.runtime.backoff import Pauses
from snoozer.settings import Settings
from tests.db.operations import an_operation, the_operation
from tests.factories import a_snooze, now

ROLE = "snoozer_refused"
TEN_MINUTES = 600


@dataclass
class Clock:
    """Seconds that a test advances."""

    seconds: float = 0.0

    def __call__(self) -> float:
        return self.seconds


@dataclass
class App:
    """The way of a role without the owner's rights, and how often each statement was executed by it."""

    engine: Engine
    owner: Engine
    executed: Counter[str] = field(default_factory=Counter)
    times: list[float] = field(default_factory=list)

    def revoke(self, rights: str) -> None:
        with self.owner.begin() as connection:
            connection.execute(text(f"REVOKE {rights} FROM {ROLE}"))

    def grant(self) -> None:
        schema.grant(self.owner, role=ROLE)


@pytest.fixture
def app(engine: Engine) -> Iterator[App]:
    with engine.begin() as connection:
        connection.execute(text(f"CREATE ROLE {ROLE} LOGIN PASSWORD 'refused'"))
    url = engine.url.set(username=ROLE, password="refused").render_as_string(hide_password=False)
    app = App(engine=make_engine(url, name="refused"), owner=engine)
    app.grant()

    def count(connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
        app.times.append(time.monotonic())
        app.executed[context.execution_options.get(NAME_OPTION, "")] += 1

    event.listen(app.engine, "before_cursor_execute", count)
    yield app
    app.engine.dispose()
    with engine.begin() as connection:
        connection.execute(text(f"DROP OWNED BY {ROLE}"))
        connection.execute(text(f"DROP ROLE {ROLE}"))


def most(seconds: int) -> int:
    """How many tries the pauses leave in so many seconds."""
    tries, at, pause = 1, 0.0, FIRST_PAUSE_SECONDS
    while (at := at + pause) < seconds:
        tries, pause = tries + 1, min(2 * pause, LONGEST_PAUSE_SECONDS)
    return tries


def test_a_refused_chore_pauses_longer_each_time_and_resumes(app: App) -> None:
    clock = Clock()
    pauses = Pauses(first=FIRST_PAUSE_SECONDS, cap=LONGEST_PAUSE_SECONDS, clock=clock)
    chore = partial(do_chore, app.engine, "minutes", partial(chores.record_minutes, app.engine), pauses=pauses)
    app.revoke("INSERT ON housekeeping_runs")
    for _ in range(TEN_MINUTES):
        chore()
        clock.seconds += 1
    refused = app.executed["housekeeping/record_run"]
    assert refused == most(TEN_MINUTES) < TEN_MINUTES / 30
    app.grant()
    for _ in range(TEN_MINUTES):
        chore()
        clock.seconds += 1
    assert app.executed["housekeeping/record_run"] - refused > TEN_MINUTES - LONGEST_PAUSE_SECONDS


def test_a_refused_operation_pauses_alone_and_is_done_when_it_is_allowed(app: App) -> None:
    clock = Clock()
    pauses = Pauses(first=FIRST_PAUSE_SECONDS, cap=LONGEST_PAUSE_SECONDS, clock=clock)
    ids = [a_snooze(app.owner, inactive=True, outcome="retired", finished_at=now()) for _ in range(2)]
    entered = [an_operation(app.owner, act="dismiss", ids=[id]) for id in ids]
    app.revoke("UPDATE ON email_snoozes")
    for _ in range(TEN_MINUTES):
        assert chunks.work(app.engine, pauses=pauses) == 0
        clock.seconds += 1
    assert app.executed["operations/lock"] == 2 * most(TEN_MINUTES)
    assert app.executed["operations/list_open"] == TEN_MINUTES
    app.grant()
    clock.seconds += LONGEST_PAUSE_SECONDS
    chunks.work(app.engine, pauses=pauses)
    assert all(the_operation(app.owner, id).finished_at for id in entered)


def test_a_mailbox_process_that_is_refused_asks_less_and_less_and_stops_at_once(
    app: App, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, longest = 0.05, 0.4
    monkeypatch.setattr(watcher, "ASK_SECONDS", 0.01)
    monkeypatch.setattr(watcher, "FIRST_REFUSED_SECONDS", first)
    monkeypatch.setattr(watcher, "LONGEST_REFUSED_SECONDS", longest)
    app.revoke("SELECT, INSERT, UPDATE ON mailboxes, mailbox_watchers")
    watching = make_watcher(app.engine, settings)
    thread = Thread(target=watching.run)
    thread.start()
    while len(app.times) < 6:
        thread.join(0.01)
        assert thread.is_alive()
    watching.stop()
    thread.join()
    pauses = [after - before for before, after in pairwise(app.times[:6])]
    assert all(pause >= least for pause, least in zip(pauses, (first, 0.1, 0.2, longest, longest), strict=True))
