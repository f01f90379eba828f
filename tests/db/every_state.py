"""A row of each state and reason that snooze_state() tells apart, named after the reason if it has one."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, Engine, select, text, true

from snoozer.db.models import Snooze
from snoozer.db.models.state import state_of
from snoozer.db.schema import SUPPORTED_SCHEMA
from snoozer.queue import events
from tests.factories import HOUR, a_snooze, now

MINUTE = timedelta(minutes=1)
FAILED = {"last_error": "451 later", "last_error_at": now() - HOUR}
A_SEND = """
INSERT INTO reminder_sends (
    snooze_id, user_email, message_id, scheduled_for, bucket, zone, state,
    reminder_message_id, claim_token, reserved_at, dot_authorised_at, uncertain_at, bytes_sha256
)
SELECT
    id, user_email, message_id, scheduled_for, bucket, 'UTC', CAST(:state AS text),
    id || '@reminder', gen_random_uuid(), now(), now(), CASE CAST(:state AS text) WHEN 'uncertain' THEN now() END, 'x'
FROM email_snoozes
WHERE id = :id
"""
A_DIGEST = """
WITH account AS (
    INSERT INTO accounts (email, verified_at) VALUES ('digest-' || :lead || '@x.example', now()) RETURNING id
),
digest AS (
    INSERT INTO digests (account_id, snooze_id, scheduled_for) SELECT id, :lead, now() FROM account RETURNING id
)
INSERT INTO digest_members (digest_id, position, snooze_id, scheduled_for)
SELECT digest.id, 1, snooze.id, snooze.scheduled_for
FROM digest, email_snoozes AS snooze
WHERE snooze.id = :member
"""


def a_send(engine: Engine, id: int, *, state: str) -> None:
    """The entry of the row's promise in the ledger."""
    with engine.begin() as connection:
        connection.execute(text(A_SEND), {"id": id, "state": state})


def a_digest(engine: Engine, member: int) -> int:
    """Another row whose reminder is a digest that lists this one; returns its id."""
    lead = a_snooze(engine, user_email=f"lead-{member}@x.example", **_over("sent"))
    with engine.begin() as connection:
        connection.execute(text(A_DIGEST), {"member": member, "lead": lead})
    return lead


def an_event(engine: Engine, id: int, kind: str) -> None:
    with engine.begin() as connection:
        events.append(connection, snooze_id=id, kind=kind, actor="user", route="web")


def _over(outcome: str) -> dict[str, Any]:
    return {"inactive": True, "outcome": outcome, "finished_at": now()}


def _put_back(engine: Engine, **columns: Any) -> int:
    return a_snooze(engine, **{"remind_at": now() + HOUR, "scheduled_for": now() - HOUR} | columns)


def _uncertain(engine: Engine, **columns: Any) -> int:
    id = _put_back(engine, **FAILED | columns)
    a_send(engine, id, state="uncertain")
    return id


def _leaving(engine: Engine, **columns: Any) -> int:
    id = a_snooze(engine, claimed_at=now(), **columns)
    with engine.begin() as connection:
        connection.execute(text("UPDATE email_snoozes SET scheduled_for = remind_at WHERE id = :id"), {"id": id})
    a_send(engine, id, state="sending")
    with engine.begin() as connection:
        token = "UPDATE email_snoozes SET claim_token = send.claim_token FROM reminder_sends AS send"
        connection.execute(text(f"{token} WHERE email_snoozes.id = :id AND snooze_id = :id"), {"id": id})
    return id


def _digest(engine: Engine, **columns: Any) -> int:
    id = _put_back(engine, **columns)
    a_send(engine, id, state="failed")
    a_digest(engine, id)
    return id


def _paused(engine: Engine, *kinds: str, **columns: Any) -> int:
    id = a_snooze(engine, inactive=True, **columns)
    for kind in kinds:
        an_event(engine, id, kind)
    return id


def _behind(engine: Engine, **columns: Any) -> int:
    key = str(uuid4())
    a_snooze(engine, claimed_at=now(), serialization_key=key, **columns)
    return a_snooze(engine, serialization_key=key, **columns)


def _rest(until: datetime) -> dict[str, Any]:
    return {"remind_at": until, "deferred_until": until, "deferred_by": "quiet hours"}


STATES: dict[str, Callable[..., int]] = {
    "due": a_snooze,
    "asleep": lambda engine, **columns: a_snooze(engine, remind_at=now() + HOUR, **columns),
    "held": lambda engine, **columns: a_snooze(engine, claimed_at=now(), **columns),
    "leaving": _leaving,
    "key": _behind,
    "newer": lambda engine, **columns: a_snooze(engine, schema_version=SUPPORTED_SCHEMA + 1, **columns),
    "spent": lambda engine, **columns: a_snooze(engine, attempts=5, **columns),
    "retry": lambda engine, **columns: _put_back(engine, **FAILED | columns),
    "hold": _uncertain,
    "digest": _digest,
    "rest": lambda engine, **columns: _put_back(engine, **_rest(now() + HOUR) | columns),
    "message": _put_back,
    "owner_pause": lambda engine, **columns: _paused(engine, "paused", **columns),
    "database_pause": lambda engine, **columns: _paused(engine, "paused", "resumed", **columns),
    "operator_pause": lambda engine, **columns: a_snooze(engine, inactive=True, paused_by=1, **columns),
    "sent": lambda engine, **columns: a_snooze(engine, **_over("sent") | columns),
    "cancelled": lambda engine, **columns: a_snooze(engine, **_over("cancelled") | columns),
    "case": lambda engine, **columns: a_snooze(engine, **_over("retired") | columns),
}


# The state of each; the name of another one is its state.
STATE_OF = {
    **dict.fromkeys(("key", "newer", "spent", "retry", "digest", "rest", "message"), "waiting"),
    **dict.fromkeys(("owner_pause", "operator_pause", "database_pause"), "paused"),
    "hold": "uncertain",
}


def words(connection: Connection) -> dict[int, tuple[str, str | None]]:
    """State and reason of each row."""
    its = state_of()
    rows = connection.execute(select(Snooze.id, its.c.state, its.c.why).join(its, true()))
    return {row.id: (row.state, row.why) for row in rows}


def names(connection: Connection) -> dict[int, str]:
    """The reason of each row, or its state if it has no reason."""
    return {id: why or state for id, (state, why) in words(connection).items()}
