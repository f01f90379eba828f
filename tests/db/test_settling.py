"""Whatever became of a delivery is settled, many in one commit; the mail server's reply is never lost."""

import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import SQLAlchemyError

from snoozer.db.engine import make_engine
from snoozer.delivery.chores.recovery import record_inherited_facts
from snoozer.delivery.claiming import DeliveryConfig
from snoozer.delivery.settling import (
    Ending,
    EntriesLocked,
    Settler,
    finish,
    record_facts,
    settle,
)
from snoozer.queue.fact_journal import FactJournal
from snoozer.queue.ledger import Refusal
from snoozer.queue.reminder import Claim, DeliveryOutcome, Failure, Send, UncertainPolicy
from tests.db.transitions import a_fact, a_held_mail, authorise, claim, record, recovered, sendable
from tests.factories import a_snooze, the_events, the_row, the_send

WEEKLY = {
    "unit": "week",
    "interval": 1,
    "start": "2026-01-05",
    "at": "08:00:00",
    "until": None,
    "weekdays": [0],
    "rest": [5, 6],
}
HOUR = timedelta(hours=1)
DAILY = WEEKLY | {"weekend_rule": "none", "week_start": 0, "weekdays": [0, 1, 2, 3, 4, 5, 6]}
CONFIG = DeliveryConfig(
    worker="w", domain="x.example", lease=HOUR, uncertainty=UncertainPolicy(hold=HOUR), first_delay=HOUR, deadline=60
)
STEAL = text("UPDATE email_snoozes SET claim_token = gen_random_uuid() WHERE id = :id")
LOCK = text("SELECT 1 FROM email_snoozes WHERE id = :id FOR UPDATE")


def in_flight(engine: Engine, count: int = 1, **columns: Any) -> list[tuple[Claim, Send]]:
    for _ in range(count):
        a_snooze(engine, **columns)
    taken = []
    for held in claim(engine):
        [entry] = sendable(engine, held)
        authorise(engine, entry)
        taken.append((held, entry))
    return taken


def accepted(held: Claim, send: Send) -> Ending:
    return Ending(claim=held, outcome=DeliveryOutcome.SENT, fact=a_fact(send))


def released(held: Claim, **values: Any) -> Ending:
    given: dict[str, Any] = {"error": "451 later", "attempts_used": 1, "delay": HOUR} | values
    failure = Failure(id=held.id, claim_token=held.claim_token, **given)
    return Ending(claim=held, outcome=DeliveryOutcome.RELEASED, failure=failure)


def settled(engine: Engine, *endings: Ending) -> list[DeliveryOutcome | None]:
    with engine.begin() as connection:
        return settle(connection, endings, config=CONFIG)


def finished(engine: Engine, held: Claim) -> bool:
    with engine.begin() as connection:
        return bool(finish(connection, [held]))


@contextmanager
def full_disk() -> Iterator[None]:
    """No file of this process may grow."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def outcome_of(
    engine: Engine, ending: Ending, *, journal: FactJournal, shutting_down: Callable[[], bool] = lambda: True
) -> DeliveryOutcome:
    """The outcome that a settler reports in the end."""
    outcomes: list[DeliveryOutcome] = []
    settler = Settler(engine, journal=journal, config=CONFIG, shutting_down=shutting_down, rng=Random(1))
    pending = settler.pending(ending, outcomes.append)
    while not outcomes:
        try:
            [outcome] = settler.settle([pending])
            settler.retry_after(pending, outcome)
        except SQLAlchemyError as error:
            settler.retry_after(pending, error)
    return outcomes[0]


def test_every_kind_of_ending_is_settled_in_one_commit(engine: Engine) -> None:
    taken = in_flight(engine, 6)
    (sent, one), (failed, two), (spent, _), (silent, four), (unbegun, _), (lost, six) = taken
    with engine.begin() as connection:
        connection.execute(STEAL, {"id": lost.id})
    refusal = Refusal(send=two, reply="try later", smtp_code=451)
    endings = [
        accepted(sent, one),
        Ending(claim=failed, outcome=DeliveryOutcome.RELEASED, failure=released(failed).failure, refusal=refusal),
        released(spent, permanent=True),
        Ending(
            claim=silent,
            outcome=DeliveryOutcome.UNCERTAIN,
            failure=released(silent, attempts_used=0).failure,
            silence=(four, "it hung up"),
        ),
        Ending(claim=unbegun, outcome=DeliveryOutcome.UNCLAIMED),
        accepted(lost, six),
    ]
    assert [outcome and outcome.value for outcome in settled(engine, *endings)] == [
        "sent", "released", "retired", "uncertain", "handed_back", "lost",
    ]  # fmt: skip
    rows = [the_row(engine, held.id) for held, _ in taken]
    assert [row.outcome for row in rows] == ["sent", None, "retired", None, None, None]
    assert [row.attempts for row in rows] == [0, 1, 1, 0, 0, 0]
    assert [row.claimed_at is None for row in rows] == [True, True, True, True, True, False]
    sends = [the_send(engine, held.id) for held, _ in taken]
    assert [send.state for send in sends] == ["sent", "failed", "sending", "uncertain", "sending", "sent"]
    assert (sends[1].smtp_code, sends[3].reply) == (451, "it hung up")
    assert [the_events(engine, held.id) for held, _ in taken] == [
        [], ["failed"], ["retired"], ["uncertain", "failed"], [], [],
    ]  # fmt: skip


def test_a_locked_row_is_settled_later_and_the_others_now(engine: Engine) -> None:
    (held, send), (other, another) = in_flight(engine, 2)
    with engine.begin() as operator:
        operator.execute(LOCK, {"id": held.id})
        assert settled(engine, accepted(held, send), accepted(other, another)) == [None, DeliveryOutcome.SENT]
        assert the_send(engine, held.id).state == "sent"
    assert settled(engine, accepted(held, send)) == [DeliveryOutcome.SENT]


def test_a_locked_entry_keeps_its_claim_until_its_reply_is_recorded(engine: Engine, tmp_path: Path) -> None:
    [(held, send)] = in_flight(engine)
    journal = FactJournal(tmp_path, worker="w")
    operator = engine.connect()
    operator.execute(text("SELECT 1 FROM reminder_sends FOR UPDATE"))
    with pytest.raises(EntriesLocked):
        settled(engine, accepted(held, send))

    def after_the_first_try() -> bool:
        operator.rollback()
        return False

    outcome = outcome_of(engine, accepted(held, send), journal=journal, shutting_down=after_the_first_try)
    operator.close()
    journal.close()
    assert (outcome, the_send(engine, held.id).state) == (DeliveryOutcome.SENT, "sent")


def test_a_refusal_of_a_locked_entry_is_settled_later_and_the_others_now(engine: Engine, tmp_path: Path) -> None:
    """The statement waited for the entry, and with it every other ending."""
    (held, send), (other, another) = in_flight(engine, 2)
    no_dot = Refusal(send=send, reply="no")
    refused = Ending(claim=held, outcome=DeliveryOutcome.UNCLAIMED, refusal=no_dot)
    journal = FactJournal(tmp_path, worker="w")
    settler = Settler(engine, journal=journal, config=CONFIG, shutting_down=lambda: False, rng=Random(1))
    pending = [settler.pending(one, lambda outcome: None) for one in (refused, accepted(other, another))]
    with engine.begin() as operator:
        operator.execute(text("SELECT 1 FROM reminder_sends WHERE snooze_id = :id FOR UPDATE"), {"id": held.id})
        assert settler.settle(pending) == [None, DeliveryOutcome.SENT]
    assert settler.settle(pending[:1]) == [DeliveryOutcome.UNCLAIMED]
    journal.close()
    assert (the_send(engine, held.id).state, the_send(engine, held.id).reply) == ("failed", "no")


def test_a_reply_behind_a_lock_is_kept_when_the_worker_stops(engine: Engine, tmp_path: Path) -> None:
    """The first try found the entry locked, there was no second one, and the mail was sent again."""
    [(held, send)] = in_flight(engine)
    journal = FactJournal(tmp_path, worker="w")
    with engine.begin() as operator:
        operator.execute(text("SELECT 1 FROM reminder_sends FOR UPDATE"))
        assert outcome_of(engine, accepted(held, send), journal=journal) is DeliveryOutcome.LOST
    journal.close()
    next_one = FactJournal(tmp_path, worker="v")
    assert record_inherited_facts(engine, journal=next_one, actor="worker:v") == 1
    next_one.close()
    assert the_send(engine, held.id).state == "sent"


def test_a_reply_that_does_not_fit_on_the_disk_is_recorded_in_the_database_all_the_same(
    engine: Engine, tmp_path: Path
) -> None:
    """An attempt was spent on a mail that the server had accepted, and it was sent again."""
    [(held, send)] = in_flight(engine)
    journal = FactJournal(tmp_path, worker="w")
    operator = engine.connect()
    operator.execute(LOCK, {"id": held.id})

    def after_the_first_try() -> bool:
        operator.rollback()
        return False

    with full_disk():
        outcome = outcome_of(engine, accepted(held, send), journal=journal, shutting_down=after_the_first_try)
    operator.close()
    journal.close()
    assert outcome is DeliveryOutcome.SENT
    assert (the_send(engine, held.id).state, the_row(engine, held.id).outcome) == ("sent", "sent")


def test_a_reply_that_the_database_cannot_record_is_in_the_journal_for_the_next_worker(
    engine: Engine, tmp_path: Path
) -> None:
    [(held, send)] = in_flight(engine)
    journal = FactJournal(tmp_path, worker="w")
    unavailable = make_engine("postgresql+psycopg://someone@127.0.0.1:9/none", name="away")
    assert outcome_of(unavailable, accepted(held, send), journal=journal) is DeliveryOutcome.LOST
    journal.close()
    next_one = FactJournal(tmp_path, worker="next")
    assert record_inherited_facts(engine, journal=next_one, actor="worker:next") == 1
    assert the_send(engine, held.id).state == "sent"
    next_one.close()


@pytest.mark.parametrize("recurrence", [None, DAILY], ids=["once", "daily"])
@pytest.mark.parametrize(("still_held", "outcome"), [(True, DeliveryOutcome.SENT), (False, DeliveryOutcome.LOST)])
def test_the_outcome_is_lost_where_the_claim_was_no_longer_held(
    engine: Engine, recurrence: object, still_held: bool, outcome: DeliveryOutcome
) -> None:
    [(held, send)] = in_flight(engine, recurrence=recurrence)
    if not still_held:
        with engine.begin() as connection:
            connection.execute(STEAL, {"id": held.id})
    assert settled(engine, accepted(held, send)) == [outcome]
    assert the_send(engine, held.id).state == "sent"


@pytest.mark.parametrize(
    "recurrence",
    [
        {},
        WEEKLY | {"weekdays": []},
        WEEKLY | {"interval": 0},
        WEEKLY | {"interval": "x"},
        WEEKLY | {"start": "?"},
        WEEKLY | {"unit": "hour"},
        WEEKLY | {"unit": "month", "nth": 1, "weekdays": []},
    ],
    ids=str,
)
def test_a_recurrence_that_makes_no_sense_ends_with_this_occurrence(engine: Engine, recurrence: object) -> None:
    id = a_snooze(engine, recurrence=recurrence)
    [held] = claim(engine)
    assert finished(engine, held)
    assert the_row(engine, id).outcome == "sent"


@pytest.mark.parametrize("zone", ["Mars/Olympus", "Europe", "+99:00", ""])
def test_a_recurrence_in_no_known_zone_ends_with_this_occurrence(engine: Engine, zone: str) -> None:
    id = a_snooze(engine, recurrence=WEEKLY, zone=zone)
    [held] = claim(engine)
    assert finished(engine, held)
    assert the_row(engine, id).outcome == ("sent" if zone else None)


def test_recurrences_are_scheduled_each_to_its_own_next_occurrence(engine: Engine) -> None:
    weekly = a_snooze(engine, recurrence=WEEKLY | {"weekend_rule": "none", "week_start": 0})
    daily, once = a_snooze(engine, recurrence=DAILY), a_snooze(engine)
    with engine.begin() as connection:
        assert finish(connection, claim(engine)) == {weekly, daily, once}
    assert [the_row(engine, id).outcome for id in (weekly, daily, once)] == [None, None, "sent"]
    assert the_row(engine, daily).remind_at <= the_row(engine, weekly).remind_at


def events_after_recording(engine: Engine, send: Send) -> list[str]:
    """The kinds of the snooze's events once the server's reply is recorded."""
    with engine.begin() as connection:
        record_facts(connection, [a_fact(send)], actor="worker:w")
    return the_events(engine, send.snooze_id)


def test_a_late_reply_appends_one_event(engine: Engine) -> None:
    held, send = a_held_mail(engine)
    authorise(engine, send)
    recovered(engine, held)
    assert events_after_recording(engine, send) == ["late"]
    assert events_after_recording(engine, send) == ["late"]


def test_a_second_copy_appends_an_event(engine: Engine) -> None:
    held, first = a_held_mail(engine)
    authorise(engine, first)
    [entry] = sendable(engine, recovered(engine, held), hold=timedelta(0))
    authorise(engine, entry)
    record(engine, entry)
    assert events_after_recording(engine, first) == ["late"]
    with engine.connect() as connection:
        assert connection.execute(text("SELECT detail FROM snooze_events")).scalar_one() == {"second_copy": True}
