"""Statements make rows of each state, claims take what is due, and the conditions for indexes agree with that."""

from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import product
from typing import Any, get_args

import pytest
from sqlalchemy import Connection, Engine, func, literal_column, select, text, true

from snoozer.db.models import Snooze
from snoozer.db.models.state import due_time, in_state, may_be_in_state, promised_time, state_of
from snoozer.db.queries import api_snoozes, snoozes
from snoozer.db.state_words import State, public_state
from snoozer.delivery.chores import chores
from snoozer.delivery.claiming import FairScheduler
from snoozer.queue import queue
from snoozer.queue.promise import ReminderTime
from snoozer.queue.reminder import Claim, Deferral
from snoozer.snoozes.acts import Pause
from tests import acting
from tests.db.archived import RETENTION, finished
from tests.db.every_state import a_digest, a_send, names, words
from tests.db.operations import operate
from tests.db.transitions import (
    HOLD,
    LEASE,
    a_held_mail,
    authorise,
    claim,
    finalize,
    lapse,
    record,
    recover,
    release,
)
from tests.factories import ANN, HOUR, a_snooze, now


def one_word(engine: Engine, id: int) -> tuple[str, str | None, datetime | None]:
    its = state_of()
    with engine.connect() as connection:
        row = connection.execute(select(its.c.state, its.c.why, its.c.next_at).select_from(Snooze).join(its, true()))
        state, why, next_at = row.one()
    return state, why, next_at


def claimed(engine: Engine, **columns: Any) -> Claim:
    a_snooze(engine, **columns)
    [held] = claim(engine)
    return held


def marked(engine: Engine) -> Claim:
    held, send = a_held_mail(engine)
    authorise(engine, send)
    return held


def lost_at_the_dot(engine: Engine) -> Claim:
    held = marked(engine)
    lapse(engine, [held.id])
    recover(engine)
    return held


def sent(engine: Engine) -> Claim:
    held, send = a_held_mail(engine)
    authorise(engine, send)
    record(engine, send)
    finalize(engine, held)
    return held


def given_back(engine: Engine, how: Callable[[Connection, Claim], object]) -> Claim:
    held = claimed(engine)
    with engine.begin() as connection:
        how(connection, held)
    return held


def defer(connection: Connection, held: Claim) -> None:
    queue.defer(connection, held=[(held.id, held.claim_token)], delays=[HOUR])


def rest(connection: Connection, held: Claim) -> None:
    deferral = Deferral(id=held.id, until=now() + HOUR, reason="quiet")
    queue.rest(connection, held=[(held.id, held.claim_token)], deferrals=[deferral])


def set_aside(connection: Connection, held: Claim) -> None:
    pause = text(
        "INSERT INTO pauses (kind, value, actor, reason, until)"
        " VALUES ('person', :person, 'operator:1', 'why', now() + INTERVAL '1 hour') RETURNING id"
    )
    paused_by = connection.execute(pause, {"person": ANN}).scalar_one()
    queue.set_aside(connection, held=[(held.id, held.claim_token)], pause_ids=[paused_by])


def pause(connection: Connection, held: Claim) -> None:
    assert acting.done(connection, held.id, Pause())


def cancel(connection: Connection, held: Claim) -> None:
    assert acting.cancel(connection, held.id)


def held_back(engine: Engine) -> Claim:
    """Due, and its claim would be set aside."""
    held = given_back(engine, set_aside)
    with engine.begin() as connection:
        connection.execute(text("UPDATE email_snoozes SET inactive = FALSE"))
    return held


def lose_the_lease(engine: Engine) -> Claim:
    held = claimed(engine)
    lapse(engine, [held.id])
    recover(engine)
    return held


def asleep(engine: Engine) -> Claim:
    held = given_back(engine, lambda connection, held: queue.unclaim(connection, held=[(held.id, held.claim_token)]))
    with engine.begin() as connection:
        later = ReminderTime(remind_at=now() + HOUR)
        assert acting.reschedule(connection, held.id, later)
    return held


# By what was done: the state, why, and after how long that changes by itself.
DONE: dict[str, tuple[Callable[[Engine], Claim], str, str | None, timedelta | None]] = {
    "reschedule": (asleep, "asleep", None, HOUR),
    "recover": (lose_the_lease, "due", None, None),
    "claim": (claimed, "held", None, LEASE),
    "reserve": (lambda engine: a_held_mail(engine)[0], "held", None, LEASE),
    "mark": (marked, "leaving", None, LEASE),
    "recover after the mark": (lost_at_the_dot, "uncertain", "hold", HOLD),
    "finalize": (sent, "sent", None, None),
    "release": (lambda engine: released(engine, delay=HOUR), "waiting", "retry", HOUR),
    "release for good": (lambda engine: released(engine, permanent=True), "case", None, None),
    "defer": (lambda engine: given_back(engine, defer), "waiting", "message", HOUR),
    "rest": (lambda engine: given_back(engine, rest), "waiting", "rest", HOUR),
    "set aside": (lambda engine: given_back(engine, set_aside), "paused", "operator_pause", HOUR),
    "pause of a person": (held_back, "waiting", "operator_pause", HOUR),
    "pause": (lambda engine: given_back(engine, pause), "paused", "owner_pause", None),
    "cancel": (lambda engine: given_back(engine, cancel), "cancelled", None, None),
}


def released(engine: Engine, **values: Any) -> Claim:
    held = claimed(engine)
    release(engine, held, **values)
    return held


@pytest.mark.parametrize("done", DONE)
def test_what_was_done_to_a_row_is_its_state(done: str, engine: Engine) -> None:
    act, state, why, after = DONE[done]
    held = act(engine)
    found = one_word(engine, held.id)
    assert found[:2] == (state, why)
    assert (found[2] is None) == (after is None)
    if found[2] is not None and after is not None:
        assert timedelta(0) <= now() + after - found[2] < timedelta(minutes=1)


def test_another_claims_mark_is_not_this_ones(engine: Engine) -> None:
    """Its owner moved it to another time and back while its mail was leaving: a claim of today holds it."""
    held = marked(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE email_snoozes SET claim_token = gen_random_uuid()"))
    assert one_word(engine, held.id)[0] == "held"


def test_an_uncertain_send_that_a_rest_defers_says_so(engine: Engine) -> None:
    held = lost_at_the_dot(engine)
    until = now() + 2 * HOUR
    with engine.begin() as connection:
        rested = (
            "UPDATE email_snoozes SET remind_at = :until, deferred_until = :until, deferred_by = 'quiet'"
            " WHERE snooze_keeps('promise')"
        )
        connection.execute(text(rested), {"until": until})
    assert one_word(engine, held.id) == ("uncertain", "rest", until)


def test_what_an_operator_delays_is_asleep_until_its_promise(engine: Engine) -> None:
    id = a_snooze(engine, remind_at=now() + HOUR)
    with engine.begin() as connection:
        operate(connection, "delay", [id], delay_until=(now() + 9 * HOUR).isoformat())
    assert one_word(engine, id)[:2] == ("asleep", None)
    with engine.begin() as connection:
        connection.execute(text("UPDATE email_snoozes SET scheduled_for = now() - INTERVAL '1 hour'"))
    assert one_word(engine, id)[:2] == ("waiting", "message")


DIMENSIONS: dict[str, tuple[Any, ...]] = {
    "due": (True, False),
    "inactive": (False, True),
    "attempts": (0, 5),
    "schema_version": (1, 2),
    "crash_count": (0, 1, 2),
    "promised": (False, True),
    "ledger": (None, "uncertain", "failed", "digest"),
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
    if of["ledger"] in ("uncertain", "failed"):
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
        # At most one property that keeps a row from being claimed, with each combination of the others.
        and sum((one["inactive"], one["attempts"] > 0, one["schema_version"] > 1, not one["due"])) <= 1
    ]
    for number, one in enumerate(possible):
        a_combination(engine, number, **one)
    with engine.begin() as connection:
        known = names(connection)
        due = set(connection.execute(text("SELECT id FROM email_snoozes WHERE remind_at <= now()")).scalars())
        expected = {id for id, state in known.items() if id in due and state in {"due", "uncertain", "digest"}}
        taken = claims(connection)
        connection.rollback()
    assert len(possible) > 300
    assert {known[id] for id in taken} == {"due", "uncertain", "digest"}
    assert taken == expected


# The contract of the API as it was before the function, in plain SQL of its own.
PROMISED = """
SELECT
    id,
    CASE
        WHEN outcome IS NOT NULL THEN outcome
        WHEN inactive THEN 'paused'
        WHEN claimed_at IS NOT NULL THEN 'claimed'
        WHEN GREATEST(COALESCE(scheduled_for, remind_at), deferred_until) <= CURRENT_TIMESTAMP THEN 'due'
        ELSE 'asleep'
    END AS state
FROM email_snoozes
"""
TIMES: dict[str, tuple[Any, ...]] = {
    "remind_at": (-1, 1),
    "scheduled_for": (None, -2, 0.5),
    "deferred_until": (None, -1, 1, 0.5),
    "over": (None, "paused", "claimed", "sent", "retired"),
    "ledger": (None, "uncertain", "digest"),
    "attempts": (0, 1, 5),
    "schema_version": (1, 2),
    "key": (None, "behind"),
}


def is_possible(one: dict[str, Any]) -> bool:
    """No statement makes a row due before its promise, or before the end of the rest that defers it."""
    due = max(one["scheduled_for"] or -9, one["deferred_until"] or -9)
    is_early = one["remind_at"] < 0 < due
    return not is_early and (one["ledger"] is None or (one["scheduled_for"] or 9) < 0)


def a_row_of(engine: Engine, number: int, **of: Any) -> None:
    moments = {name: None if of[name] is None else now() + of[name] * HOUR for name in list(TIMES)[:3]}
    columns: dict[str, Any] = moments | {"attempts": of["attempts"], "schema_version": of["schema_version"]}
    columns["deferred_by"] = None if of["deferred_until"] is None else "quiet"
    columns["inactive"] = of["over"] not in (None, "claimed")
    if of["over"] == "claimed":
        columns["claimed_at"] = now()
    if of["over"] in ("sent", "retired"):
        columns |= {"outcome": of["over"], "finished_at": now()}
    if of["key"]:
        columns |= {"serialization_key": f"k{number}", "behind_key": True}
    id = a_snooze(engine, **columns)
    if of["ledger"] == "uncertain":
        a_send(engine, id, state="uncertain")
    elif of["ledger"] == "digest":
        a_digest(engine, id)


def test_programs_read_what_they_always_read_and_every_filter_finds_it(engine: Engine) -> None:
    """For each combination of what the state depends on."""
    all_of_them = [dict(zip(TIMES, values, strict=True)) for values in product(*TIMES.values())]
    plain = {"ledger": None, "attempts": 0, "schema_version": 1, "key": None}
    possible = [
        one for one in all_of_them if is_possible(one) and (one["over"] is None or one.items() >= plain.items())
    ]
    for number, one in enumerate(possible):
        a_row_of(engine, number, **one)
    moment = func.current_timestamp()
    with engine.begin() as connection:
        promised = {row.id: row.state for row in connection.execute(text(PROMISED))}
        assert {id: public_state(*word) for id, word in words(connection).items()} == promised
        for wanted in get_args(State):
            expected = {id for id, state in promised.items() if state == wanted}
            exactly = select(Snooze.id).where(in_state(wanted, now=moment))
            roughly = select(Snooze.id).where(may_be_in_state(wanted, now=moment))
            assert set(connection.execute(exactly).scalars()) == expected, wanted
            assert set(connection.execute(roughly).scalars()) >= expected, wanted
    assert len(possible) > 300


def test_the_promise_is_the_same_in_python_and_in_the_database(engine: Engine) -> None:
    for scheduled_for, deferred_until in product((None, -2, 2), (None, -1, 1)):
        times = {"scheduled_for": scheduled_for, "deferred_until": deferred_until}
        columns: dict[str, Any] = {name: hours and now() + hours * HOUR for name, hours in times.items()}
        a_snooze(engine, **columns, deferred_by=deferred_until and "quiet")
    row: Any = literal_column("email_snoozes")
    its = func.snooze_promise(row) == promised_time(), func.snooze_due_at(row) == due_time()
    with engine.connect() as connection:
        assert connection.execute(select(*its)).all() == [(True, True)] * 9


def test_an_archived_row_has_its_own_end(engine: Engine) -> None:
    """Each row of the archive had the end of any other one, too."""
    ended = {finished(engine, outcome=outcome): outcome for outcome in ("sent", "cancelled", "sent")}
    chores.archive(engine, config=RETENTION)
    with engine.connect() as connection:
        for id, outcome in ended.items():
            for found in (snoozes.one, api_snoozes.one):
                row = found(connection, id=id, user_email=ANN)
                assert row is not None
                assert (row.state, row.why, row.next_at) == (outcome, None, None)
