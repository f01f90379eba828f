"""What each row waits for is counted once, as that, by every page, gauge and query; and is what the claim knows."""

from itertools import product
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, select, text, true

from snoozer.db import support
from snoozer.db.models import Snooze
from snoozer.db.models.snooze import waits_for
from snoozer.db.queries import delivery, metrics
from snoozer.delivery.claiming import FairScheduler
from tests.db.every_state import STATES, a_digest, a_send
from tests.db.transitions import LEASE
from tests.factories import HOUR, a_snooze, now
from tests.next_try import set_next_try

# Where each state is counted. One row behind its key has another one in flight, and a digest a row that was sent.
FIGURES = {
    "due": "due",
    "key": "behind_key",
    "newer": "deferred",
    "spent": "spent",
    "retry": "retrying",
    "uncertain": "held",
    "digest": "in_digest",
    "resting": "resting",
    "put_off": "put_off",
    "paused": "paused",
    "paused_operator": "paused_by_operator",
    "paused_database": "paused_in_database",
    "claimed": "claimed",
    "asleep": "asleep",
    "retired": "cases",
}


def states(connection: Connection) -> dict[int, str]:
    """What each row waits for."""
    waits = waits_for()
    return {row.id: row.state for row in connection.execute(select(Snooze.id, waits.c.state).join(waits, true()))}


@pytest.mark.parametrize("state", STATES)
def test_a_row_is_counted_as_what_it_waits_for_and_as_nothing_else(state: str, engine: Engine) -> None:
    """What waited for a retry was asleep to the page, and what was paused, held or in a digest was counted nowhere."""
    id = STATES[state](engine)
    expected = {state: 1} | ({"claimed": 1} if state == "key" else {})
    with engine.connect() as connection:
        assert states(connection)[id] == state
        found = dict(support.read(connection, "backlog").one()._mapping) | {
            "cases": support.read(connection, "health").one().cases
        }
        page = metrics.read(connection, dead_after=HOUR)
    for name, figure in FIGURES.items():
        assert found[figure] == expected.get(name, 0), figure
        assert getattr(page, figure) == expected.get(name, 0), figure


def test_every_state_of_a_live_row_has_its_figure_and_they_add_up(engine: Engine) -> None:
    for number, state in enumerate(sorted(STATES), start=1):
        for _ in range(number):
            STATES[state](engine)
    truth = "SELECT count(*) FROM email_snoozes WHERE outcome IS NULL"
    with engine.connect() as connection:
        live = connection.execute(text(truth)).scalar_one()
        found = support.read(connection, "backlog").one()._mapping
        page = metrics.read(connection, dead_after=HOUR)
        known = states(connection)
    figures = [figure for state, figure in FIGURES.items() if state != "retired"]
    assert sum(found[figure] for figure in figures) == live
    assert [found[figure] for figure in figures] == [getattr(page, figure) for figure in figures]
    assert set(known.values()) == set(STATES)
    counted = {state: list(known.values()).count(state) for state in FIGURES}
    assert counted == {state: found[figure] for state, figure in FIGURES.items() if state != "retired"} | {
        "retired": page.cases
    }


def test_counts_of_a_page_stop_at_its_limit(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "MAX_COUNTED", 2)
    for state in ("due", "retry", "paused", "asleep", "claimed", "retired"):
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
    for state in ("resting", "paused"):
        for _ in range(5):
            STATES[state](engine)
    for state in ("retry", "paused_operator", "paused_database"):
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
        ("resting", {}),
        ("put_off", {}),
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


DIMENSIONS: dict[str, tuple[Any, ...]] = {
    "due": (True, False),
    "inactive": (False, True),
    "attempts": (0, 5),
    "schema_version": (1, 2),
    "crash_count": (0, 1, 2),
    "promised": (False, True),
    "ledger": (None, "uncertain", "reserved", "digest"),
    "key": (None, "first", "flagged", "behind", "in flight"),
}


def a_combination(engine: Engine, number: int, **of: Any) -> None:
    """A row with these properties, and the other row of its key."""
    moment = now() - HOUR if of["due"] else now() + HOUR
    columns = {
        "user_email": f"p{number}@x.example",
        "remind_at": moment,
        "scheduled_for": now() - 2 * HOUR if of["promised"] else None,
        **{name: of[name] for name in ("inactive", "attempts", "schema_version", "crash_count")},
    }
    if of["key"] is not None:
        columns |= {"serialization_key": f"k{number}", "behind_key": of["key"] == "flagged"}
    if of["key"] == "behind":
        a_snooze(engine, serialization_key=f"k{number}", remind_at=moment - HOUR, user_email=f"q{number}@x.example")
    if of["key"] == "in flight":
        a_snooze(engine, serialization_key=f"k{number}", claimed_at=now(), user_email=f"q{number}@x.example")
    id = a_snooze(engine, **columns)
    if of["ledger"] in ("uncertain", "reserved"):
        a_send(engine, id, state=of["ledger"])
    elif of["ledger"] == "digest":
        a_digest(engine, id)


def claims(connection: Connection) -> set[int]:
    """Everything that a worker's claims take at this moment."""
    scheduler, empty = FairScheduler(worker="w", lease=LEASE), 0
    taken: set[int] = set()
    while empty < 3:
        found = scheduler.claim_batch(connection, batch_size=500, crashed_room=500)
        found += scheduler.claim_poison_row(connection)
        taken |= {claim.id for claim in found}
        empty = 0 if found else empty + 1
    return taken


def test_what_a_claim_takes_is_what_its_state_says(engine: Engine) -> None:
    """For each combination of what the claim looks at: due, uncertain or in a digest and due, or not taken."""
    combinations: list[dict[str, Any]] = [
        dict(zip(DIMENSIONS, values, strict=True)) for values in product(*DIMENSIONS.values())
    ]
    possible = [
        one
        for one in combinations
        if (one["promised"] or one["ledger"] is None)
        # One property at a time that keeps a row from being claimed, beside all of the others.
        and sum((one["inactive"], one["attempts"] > 0, one["schema_version"] > 1, not one["due"])) <= 1
    ]
    for number, one in enumerate(possible):
        a_combination(engine, number, **one)
    with engine.begin() as connection:
        known = states(connection)
        due = set(connection.execute(text("SELECT id FROM email_snoozes WHERE remind_at <= now()")).scalars())
        expected = {id for id, state in known.items() if id in due and state in {"due", "uncertain", "digest"}}
        taken = claims(connection)
        connection.rollback()
    assert len(possible) > 300
    assert {known[id] for id in taken} == {"due", "uncertain", "digest"}
    assert taken == expected
