"""What workers, the clock and the mail server's replies do to the queue and the ledger: one call each, committed."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Engine, text

from snoozer.db import mailbox_store
from snoozer.queue import ledger, queue
from snoozer.queue.ledger import Fact, Refusal
from snoozer.queue.queue import Lane
from snoozer.queue.reminder import Claim, Failure, Recovered, Send, UncertainPolicy
from tests.factories import a_snooze

LEASE = timedelta(seconds=90)
DELAY = timedelta(seconds=60)
HOLD = timedelta(minutes=10)
SHA = "0" * 64
# The next try of what is promised already is due; without the condition it would be another promise.
NEXT_TRY = "remind_at = now() - INTERVAL '1 second' WHERE snooze_keeps('promise')"


def claim(engine: Engine, *, worker: str = "w", batch_size: int = 100, poison_rows: bool = False) -> list[Claim]:
    """Rows that lost workers, or all others, with a serialization key or without."""
    claimed: list[Claim] = []
    with engine.begin() as connection:
        for lane in (Lane(crashes=crashes, keyed=keyed) for crashes in (0, 1, 2) for keyed in (False, True)):
            room = batch_size - len(claimed)
            if room and poison_rows == bool(lane.crashes):
                claimed += queue.claim(connection, worker=worker, batch_size=room, lease=LEASE, lane=lane)
    return sorted(claimed, key=lambda claim: (claim.scheduled_for, claim.id))


def release(engine: Engine, held: Claim, **values: Any) -> str | None:
    given: dict[str, Any] = {"error": "451 try later", "attempts_used": 1, "delay": DELAY} | values
    with engine.begin() as connection:
        return release_one(connection, held, **given)


def release_one(connection: Connection, held: Any, **values: Any) -> str | None:
    """Returns "released" or "retired", None where nothing changed."""
    failure = Failure(id=held.id, claim_token=held.claim_token, **values)
    return {False: "released", True: "retired", None: None}[queue.release(connection, failures=[failure]).get(held.id)]


def refuse_one(connection: Connection, send: Send, **values: Any) -> bool:
    return bool(ledger.refuse(connection, refusals=[Refusal(send=send, **values)]))


def mark_uncertain_one(connection: Connection, send: Send) -> bool:
    return bool(ledger.mark_uncertain(connection, silences=[(send, "no answer")]))


def schedule_next_one(connection: Connection, held: Claim, remind_at: datetime) -> bool:
    """Its message is back by then."""
    mailbox_store.return_due(connection, batch_size=1, snooze_ids=[held.id])
    return bool(queue.schedule_next(connection, occurrences=[(held, remind_at)]))


def finalize(engine: Engine, held: Claim) -> bool:
    with engine.begin() as connection:
        return bool(queue.finalize(connection, held=[(held.id, held.claim_token)]))


def recover(engine: Engine, **values: Any) -> list[Recovered]:
    given: dict[str, Any] = {
        "batch_size": 100,
        "lease": LEASE,
        "delay": timedelta(0),
        "hold": timedelta(minutes=10),
        "hold_for_operator": False,
        "max_crashes": 5,
        "max_resends": 2,
    } | values
    with engine.begin() as connection:
        return queue.recover(connection, **given)


def lapse(engine: Engine, ids: Sequence[int]) -> None:
    """As if these leases had run out an hour ago."""
    with engine.begin() as connection:
        connection.execute(
            text("UPDATE email_snoozes SET lease_expires_at = now() - INTERVAL '1 hour' WHERE id = ANY(:ids)"),
            {"ids": list(ids)},
        )


def sendable(engine: Engine, held: Claim, *, worker: str = "w", **values: Any) -> list[Send]:
    uncertainty = UncertainPolicy(**({"hold": HOLD} | values))
    with engine.begin() as connection:
        return ledger.list_sendable(
            connection, worker=worker, ids=[held.id], domain="snoozer.example", uncertainty=uncertainty
        )


def a_held_mail(engine: Engine, **columns: Any) -> tuple[Claim, Send]:
    """A claim and its mail, whose dot is not authorised."""
    a_snooze(engine, **columns)
    [held] = claim(engine)
    [send] = sendable(engine, held)
    return held, send


def authorise(engine: Engine, send: Send, *, sha: str = SHA, **values: Any) -> bool:
    uncertainty = UncertainPolicy(**({"hold": timedelta(0)} | values))
    with engine.begin() as connection:
        return bool(ledger.authorise(connection, dots=[(send, sha)], uncertainty=uncertainty))


def a_fact(send: Send) -> Fact:
    return Fact(
        reminder_message_id=send.reminder_message_id,
        snooze_id=send.snooze_id,
        claim_token=send.claim_token,
        smtp_code=250,
        enhanced_code="2.0.0",
        reply="queued",
        queue_id="4X1",
    )


def record(engine: Engine, send: Send) -> ledger.Recorded:
    with engine.begin() as connection:
        [recorded] = ledger.record(connection, facts=[a_fact(send)]).values()
    return recorded


def recovered(engine: Engine, held: Claim) -> Claim:
    """The same snooze, claimed by the next worker after recovery."""
    lapse(engine, [held.id])
    recover(engine)
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE email_snoozes SET {NEXT_TRY} AND id = :id"), {"id": held.id})  # noqa: S608
    [again] = claim(engine, poison_rows=True)
    return again
