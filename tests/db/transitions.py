"""What workers, the clock and the mail server's replies do to the queue and the ledger: one call each, committed."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, TypeVar

from psycopg.errors import LockNotAvailable
from sqlalchemy import Engine, text
from sqlalchemy.exc import OperationalError

from snoozer.db import ledger, queue
from snoozer.db.ledger import Fact, Reserved, UncertainPolicy
from snoozer.db.queue import Recovered
from snoozer.domain.reminder import Claim, Send
from tests.factories import a_snooze

LEASE = timedelta(seconds=90)
DELAY = timedelta(seconds=60)
HOLD = timedelta(minutes=10)
SHA = "0" * 64

Answer = TypeVar("Answer")


def claim(engine: Engine, *, worker: str = "w", batch_size: int = 100, poison_rows: bool = False) -> list[Claim]:
    with engine.begin() as connection:
        return queue.claim(connection, worker=worker, batch_size=batch_size, lease=LEASE, poison_rows=poison_rows)


def release(engine: Engine, held: Claim, **values: Any) -> str | None:
    given: dict[str, Any] = {"error": "451 try later", "attempts_used": 1, "delay": DELAY} | values
    with engine.begin() as connection:
        return queue.release(connection, id=held.id, claim_token=held.claim_token, **given)


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


def reserve(engine: Engine, held: Claim, *, worker: str = "w", **values: Any) -> list[Reserved]:
    uncertainty = UncertainPolicy(**({"hold": HOLD} | values))
    with engine.begin() as connection:
        return ledger.reserve(
            connection, worker=worker, ids=[held.id], domain="snoozer.example", uncertainty=uncertainty
        )


def a_reserved_send(engine: Engine, **columns: Any) -> tuple[Claim, Send]:
    a_snooze(engine, **columns)
    [held] = claim(engine)
    [entry] = reserve(engine, held)
    return held, entry.send


def until_locked(act: Callable[[], Answer]) -> Answer:
    """Call `act` again as long as a lock_timeout ends it, as on a machine that stands still for a second."""
    while True:
        try:
            return act()
        except OperationalError as error:
            if not isinstance(error.orig, LockNotAvailable):
                raise


def mark(engine: Engine, send: Send) -> bool:
    with engine.begin() as connection:
        return bool(ledger.mark(connection, dots=[(send, SHA)]))


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
        connection.execute(text("UPDATE email_snoozes SET remind_at = now() - INTERVAL '1 second'"))
    [again] = claim(engine, poison_rows=True)
    return again
