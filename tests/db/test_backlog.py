"""Each snooze that waits is counted once, by its state, on every page, gauge and query."""

from collections import Counter
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, text

from snoozer.db import support
from snoozer.db.queries import delivery, metrics
from tests.db.every_state import STATE_OF, STATES, names, words
from tests.factories import HOUR, now
from tests.next_try import set_next_try

# Where each state is counted. One row behind its key has another one in flight, and a digest a row that was sent.
FIGURES = {
    "due": "due",
    "key": "behind_key",
    "newer": "deferred",
    "spent": "spent",
    "retry": "retrying",
    "hold": "held",
    "digest": "in_digest",
    "rest": "resting",
    "message": "put_off",
    "owner_pause": "paused",
    "operator_pause": "paused_by_operator",
    "database_pause": "paused_in_database",
    "held": "claimed",
    "leaving": "claimed",
    "asleep": "asleep",
    "case": "cases",
}


@pytest.mark.parametrize("state", STATES)
def test_a_row_is_counted_as_what_it_waits_for_and_as_nothing_else(state: str, engine: Engine) -> None:
    """The page counted a retry as asleep, and nothing counted rows that were paused, held or in a digest."""
    id = STATES[state](engine)
    expected = {FIGURES.get(state): 1} | ({"claimed": 1} if state == "key" else {})
    with engine.connect() as connection:
        assert words(connection)[id] == (STATE_OF.get(state, state), state if state in STATE_OF else None)
        found = dict(support.read(connection, "backlog").one()._mapping) | {
            "cases": support.read(connection, "health").one().cases
        }
        page = metrics.read(connection, dead_after=HOUR)
    for figure in FIGURES.values():
        assert found[figure] == expected.get(figure, 0), figure
        assert getattr(page, figure) == expected.get(figure, 0), figure


def test_every_state_of_a_live_row_has_its_figure_and_they_add_up(engine: Engine) -> None:
    for number, state in enumerate(sorted(STATES), start=1):
        for _ in range(number):
            STATES[state](engine)
    truth = "SELECT count(*) FROM email_snoozes WHERE outcome IS NULL"
    with engine.connect() as connection:
        live = connection.execute(text(truth)).scalar_one()
        found = support.read(connection, "backlog").one()._mapping
        page = metrics.read(connection, dead_after=HOUR)
        known = names(connection)
    figures = sorted({figure for state, figure in FIGURES.items() if state != "case"})
    assert sum(found[figure] for figure in figures) == live
    assert [found[figure] for figure in figures] == [getattr(page, figure) for figure in figures]
    assert set(known.values()) == set(STATES)
    counted = Counter(FIGURES[state] for state in known.values() if state in FIGURES)
    assert counted == {figure: found[figure] for figure in figures} | {"cases": page.cases}


def test_counts_of_a_page_stop_at_its_limit(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "MAX_COUNTED", 2)
    for state in ("due", "retry", "owner_pause", "asleep", "held", "case"):
        for _ in range(5):
            STATES[state](engine)
    with engine.connect() as connection:
        page = metrics.read(connection, dead_after=HOUR)
    assert [page.due, page.retrying, page.paused, page.asleep, page.claimed, page.cases] == [3] * 6
    assert page.more_due


def test_what_rests_or_is_paused_hides_nothing_that_comes_later(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics, "MAX_COUNTED", 2)
    for state in ("rest", "owner_pause"):
        for _ in range(5):
            STATES[state](engine)
    for state in ("retry", "operator_pause", "database_pause"):
        STATES[state](engine)
    with engine.begin() as connection:
        set_next_try(connection, 24 * HOUR, "attempts > 0 OR last_error IS NOT NULL")
        page = metrics.read(connection, dead_after=HOUR)
    assert (page.resting, page.retrying, page.paused, page.paused_by_operator) == (3, 1, 3, 1)
    assert page.more_paused, "of persons and in the database; which, only the first ones tell"


def a_breaker(connection: Connection, **columns: Any) -> None:
    values = {"state": "closed", "failures": 3, "failed": "1 minute", "worked": "2 hours"} | columns
    connection.execute(
        text(
            "INSERT INTO circuit_breakers (server, state, failures, last_failure_at, last_success_at) VALUES "
            "('mx:25', :state, :failures, now() - CAST(:failed AS interval), now() - CAST(:worked AS interval))"
        ),
        values,
    )


def test_in_an_outage_with_few_reminders_person_and_operator_read_the_same(engine: Engine) -> None:
    """The breaker of a server that fails stays closed while fewer fail than open it. The operator's page showed that
    nothing waits and that the mail server is in use, and no page of a person that reminders do not go out."""
    STATES["retry"](engine)
    with engine.begin() as connection:
        a_breaker(connection)
        page, status = metrics.read(connection, dead_after=HOUR), delivery.status(connection)
        assert (page.due, page.asleep, page.retrying) == (0, 0, 1)
        assert page.oldest_retry is not None
        assert page.oldest_retry < now() - HOUR / 2
        assert status.fails
        assert status.away_since is not None


@pytest.mark.parametrize(
    ("state", "columns"),
    [
        ("retry", {"failures": 0}),
        ("retry", {"failed": "2 hours", "worked": "3 hours"}),
        ("retry", {"failed": "2 minutes", "worked": "1 minute"}),
        ("rest", {}),
        ("message", {}),
        ("asleep", {}),
    ],
)
def test_a_reminder_that_waits_for_something_else_is_no_outage(
    state: str, columns: dict[str, Any], engine: Engine
) -> None:
    STATES[state](engine)
    with engine.begin() as connection:
        a_breaker(connection, **columns)
        assert not delivery.status(connection).fails
