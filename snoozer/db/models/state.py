"""The promise of a snooze, when it is due, and its state.

The function `snooze_state` of the database decides which state a row has. The conditions here find rows in a state by
an index; tests/db/test_state.py compares each with the function.
"""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, exists, func, literal_column, null, or_, select, true, tuple_
from sqlalchemy.orm import aliased

from snoozer.db.models.snooze import EMAIL, Send, Snooze
from snoozer.db.schema import SUPPORTED_SCHEMA
from snoozer.db.state_words import State

# A reminder that is overdue is tried again within this.
MAX_BACKOFF = timedelta(days=1)


def promised_time(snooze: Any = Snooze) -> ColumnElement[datetime]:
    """`snooze_promise`, for archived rows too (docs/decisions/0001)."""
    promise: ColumnElement[datetime] = func.coalesce(snooze.scheduled_for, snooze.remind_at)
    return promise


def due_time(snooze: Any = Snooze) -> ColumnElement[datetime]:
    """`snooze_due_at`, for archived rows too: the promise, or the end of the rest that defers it."""
    due: ColumnElement[datetime] = func.greatest(promised_time(snooze), snooze.deferred_until)
    return due


def is_send_of(snooze: Any = Snooze, send: Any = Send) -> ColumnElement[bool]:
    """Whether a send is the reminder of a snooze's present promise."""
    return and_(
        send.channel == EMAIL,
        send.user_email == snooze.user_email,
        send.message_id == snooze.message_id,
        send.scheduled_for == promised_time(snooze),
    )


def state_of(snooze: Any = Snooze) -> Any:
    """`state`, `why` and `next_at` of a row, to be joined with it on TRUE. An archived one was sent or cancelled."""
    if snooze is not Snooze:
        archived = select(snooze.outcome.label("state"), null().label("why"), null().label("next_at"))
        return archived.correlate(snooze).lateral("its")
    whole_row: ColumnElement[Any] = literal_column(Snooze.__tablename__)
    return func.snooze_state(whole_row, SUPPORTED_SCHEMA).table_valued("state", "why", "next_at").lateral("its")


def in_state(state: State, *, now: Any) -> ColumnElement[bool]:
    """Whether a row has this state, in the words of the API."""
    match state:
        case "asleep":
            return and_(*is_unclaimed(), due_time() > now)
        case "due":
            return and_(*is_unclaimed(), is_overdue(now))
        case "claimed":
            return and_(~Snooze.inactive, Snooze.claimed_at.is_not(None))
        case "paused":
            return and_(Snooze.inactive, Snooze.outcome.is_(None))
        case _:
            return Snooze.outcome == state


def may_be_in_state(state: State, *, now: Any) -> ColumnElement[bool]:
    """The part of `in_state` that the index of a person's snoozes decides."""
    if state in {"sent", "cancelled", "retired"}:
        return Snooze.outcome == state
    times = {"asleep": Snooze.remind_at > now, "paused": true()}
    return and_(Snooze.outcome.is_(None), times.get(state, Snooze.remind_at <= now + MAX_BACKOFF))


def is_overdue(now: Any) -> ColumnElement[bool]:
    """Whether a row is due or claimed: neither paused nor over, and its time has come."""
    return and_(Snooze.outcome.is_(None), ~Snooze.inactive, due_time() <= now)


def is_unclaimed(snooze: Any = Snooze) -> list[ColumnElement[bool]]:
    """Conditions of a row that is neither paused nor over nor claimed, as the indexes of claims have them."""
    return [~snooze.inactive, snooze.claimed_at.is_(None)]


def is_claimable(snooze: Any = Snooze) -> list[ColumnElement[bool]]:
    """Conditions of a row that a worker of this release claims at its time and in its turn, as in queue/claim.sql."""
    return [*is_unclaimed(snooze), snooze.attempts < snooze.max_attempts, snooze.schema_version <= SUPPORTED_SCHEMA]


def is_behind_key() -> ColumnElement[bool]:
    """Whether another row of its serialization key is in flight or comes before it, whatever `behind_key` says."""
    same = aliased(Snooze)
    in_flight = exists().where(same.serialization_key == Snooze.serialization_key, same.claimed_at.is_not(None))
    return or_(in_flight, exists().where(*is_ahead(same)))


def is_ahead(other: Any, *, of: Any = Snooze) -> list[ColumnElement[bool]]:
    """Conditions of a row that waits and comes before another of the same serialization key."""
    same_key = other.serialization_key == of.serialization_key
    return [same_key, *is_claimable(other), tuple_(other.remind_at, other.id) < tuple_(of.remind_at, of.id)]
