"""An action on one snooze leaves all others as they were: the person's own, and another person's of the same message.

A statement that forgets whom it is about passes a test with one row.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, text

from snoozer.db import mailbox_store
from snoozer.queue import ledger, queue
from snoozer.queue.promise import ReminderTime
from snoozer.queue.reminder import Claim, Send, UncertainPolicy
from snoozer.snoozes.acts import Pause, Skip, Wake
from tests import acting
from tests.db.links import DAILY
from tests.db.operations import operate
from tests.db.transitions import (
    a_fact,
    a_held_mail,
    authorise,
    mark_uncertain_one,
    refuse_one,
    release_one,
    schedule_next_one,
)
from tests.factories import ANN, HOUR, a_kept_message, an_original, now, the_send

BOB, THIS, OTHER = "bob@snoozer.example", "<this@mail.example>", "<other@mail.example>"
Act = Callable[[Connection, Claim, Send], object]

UNCLAIMED = (
    "UPDATE email_snoozes SET claimed_at = NULL, claimed_by = NULL, claim_token = NULL, lease_expires_at = NULL, "
    "inactive = CAST(:outcome AS text) IS NOT NULL, outcome = :outcome, "
    "finished_at = CASE WHEN CAST(:outcome AS text) IS NOT NULL THEN now() END"
)
UNCERTAIN = "UPDATE reminder_sends SET state = 'uncertain', uncertain_at = now() - INTERVAL '1 hour'"
AHEAD = "UPDATE email_snoozes SET remind_at = now() + INTERVAL '1 hour'"
CANCELLED = (
    "INSERT INTO snooze_events (snooze_id, kind, actor, route) SELECT id, 'cancelled', 'user', 'web' FROM email_snoozes"
)
LIE = "UPDATE messages SET folder = 'done', unread = FALSE, returned = TRUE"
SITUATIONS: dict[str, list[tuple[str, dict[str, str | None]]]] = {
    "held": [],
    "asleep": [(UNCLAIMED, {"outcome": None})],
    "uncertain": [(UNCERTAIN, {})],
    "asleep ahead": [(UNCLAIMED, {"outcome": None}), (AHEAD, {})],
    "cancelled": [(UNCLAIMED, {"outcome": "cancelled"}), (CANCELLED, {})],
    "a case": [(UNCLAIMED, {"outcome": "retired"}), (UNCERTAIN, {})],
}


def of(claim: Claim) -> dict[str, Any]:
    return {"id": claim.id, "claim_token": claim.claim_token}


def named(_: Claim) -> dict[str, Any]:
    return {"user_email": ANN, "message_id": THIS}


def pair(claim: Claim) -> list[Any]:
    return [(claim.id, claim.claim_token)]


def returned_to_inbox(db: Connection, claim: Claim, _: Send) -> bool:
    return bool(mailbox_store.return_due(db, batch_size=10, snooze_ids=[claim.id]))


ACTS: dict[str, tuple[str, Act]] = {
    "release": ("held", lambda db, claim, _: release_one(db, claim, error="?", attempts_used=1, delay=HOUR)),
    "finalize": ("held", lambda db, claim, _: queue.finalize(db, held=pair(claim))),
    "schedule next": ("held", lambda db, claim, _: schedule_next_one(db, claim, now() + HOUR)),
    "unclaim": ("held", lambda db, claim, _: queue.unclaim(db, held=pair(claim))),
    "extend": ("held", lambda db, claim, _: queue.extend(db, held=pair(claim), lease=HOUR)),
    "cancel": ("asleep", lambda db, claim, _: acting.cancel(db, claim.id)),
    "reschedule": (
        "asleep",
        lambda db, claim, _: acting.reschedule(db, claim.id, ReminderTime(remind_at=now() + HOUR)),
    ),
    "skip": ("asleep", lambda db, claim, _: acting.done(db, claim.id, Skip())),
    "pause": ("asleep", lambda db, claim, _: acting.done(db, claim.id, Pause())),
    "wake": ("asleep ahead", lambda db, claim, _: acting.done(db, claim.id, Wake())),
    "undo": ("cancelled", lambda db, claim, _: acting.undo(db, claim.id)),
    "reactivate": ("a case", lambda db, claim, _: operate(db, "reactivate", [claim.id])),
    "dismiss": ("a case", lambda db, claim, _: operate(db, "dismiss", [claim.id])),
    "reopen": ("a case", lambda db, claim, _: ledger.reopen(db, ids=[claim.id], actor="operator:1")),
    "dismiss in the ledger": ("a case", lambda db, claim, _: ledger.dismiss(db, ids=[claim.id], actor="operator:1")),
    "mark uncertain": ("held", lambda db, _, send: mark_uncertain_one(db, send)),
    "refuse": ("held", lambda db, _, send: refuse_one(db, send, reply="no")),
    "record": ("held", lambda db, _, send: ledger.record(db, facts=[a_fact(send)])),
    "acknowledge": (
        "uncertain",
        lambda db, claim, _: ledger.acknowledge(
            db, snooze_id=claim.id, scheduled_for=claim.scheduled_for, by_mail=True
        ),
    ),
    "move to snoozed": ("held", lambda db, claim, _: mailbox_store.move(db, **named(claim), folder="snoozed")),
    "mark done": ("held", lambda db, claim, _: mailbox_store.move(db, **named(claim), folder="done")),
    "move to inbox": ("held", lambda db, claim, _: mailbox_store.move(db, **named(claim), folder="inbox")),
    "return to inbox": ("held", returned_to_inbox),
}


def three(engine: Engine, situation: str) -> tuple[Claim, Send]:
    """Three snoozes in the same situation, past the dot, their messages put away; returns the newest, Ann's own."""
    promise = now() - HOUR
    for email, message_id in ((BOB, THIS), (ANN, OTHER), (ANN, THIS)):
        a_kept_message(engine, user_email=email, original=an_original(message_id=message_id))
        held, send = a_held_mail(engine, user_email=email, message_id=message_id, remind_at=promise, recurrence=DAILY)
        authorise(engine, send)
    with engine.begin() as connection:
        for change, values in (*SITUATIONS[situation], (LIE, {})):
            connection.execute(text(change), values)
    return held, send


def seen(engine: Engine, id: int) -> tuple[list[object], list[object]]:
    """All rows about this snooze, and about all others."""
    tables = (
        "SELECT id = :id, to_jsonb(t) FROM email_snoozes AS t",
        "SELECT snooze_id = :id, to_jsonb(t) FROM reminder_sends AS t",
        "SELECT user_email = :ann AND message_id = :this, to_jsonb(t) FROM messages AS t",
    )
    found: tuple[list[object], list[object]] = ([], [])
    with engine.connect() as connection:
        for table in tables:
            for ours, row in connection.execute(text(f"{table} ORDER BY t.id"), {"id": id, "ann": ANN, "this": THIS}):
                found[0 if ours else 1].append(row)
    return found


@pytest.mark.parametrize("act", ACTS)
def test_what_is_done_to_one_snooze_leaves_the_others_as_they_were(engine: Engine, act: str) -> None:
    situation, do = ACTS[act]
    held, send = three(engine, situation)
    ours, others = seen(engine, held.id)
    with engine.begin() as connection:
        assert do(connection, held, send)
    ours_now, others_now = seen(engine, held.id)
    assert ours_now != ours
    assert others_now == others


def test_a_lookup_returns_the_send_of_one_snooze(engine: Engine) -> None:
    held, _ = three(engine, "uncertain")
    with engine.begin() as connection:
        known = ledger.lookup(connection, snooze_id=held.id, uncertainty=UncertainPolicy(hold=timedelta(0)))
    assert known is not None
    assert known.id == the_send(engine, held.id).id


def test_the_next_occurrence_starts_without_the_failures_of_the_last_one(engine: Engine) -> None:
    """Else what repeats becomes a case in spring for what failed in winter."""
    held, _ = a_held_mail(engine, message_id=THIS, recurrence=DAILY)
    with engine.begin() as connection:
        connection.execute(
            text("UPDATE email_snoozes SET attempts = 4, crash_count = 4, last_error = 'no', last_error_at = now()")
        )
        assert schedule_next_one(connection, held, now() + HOUR)
        row = connection.execute(text("SELECT * FROM email_snoozes")).one()
    assert (row.attempts, row.crash_count, row.last_error, row.last_error_at) == (0, 0, None, None)
    assert (row.scheduled_for, row.claim_token) == (None, None)
