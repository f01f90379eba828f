"""The rows of acts: locked snoozes, and the terms that an act gives them.

An act locks, decides in Python, and writes once, for one snooze as for five hundred.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, NamedTuple, Self

from sqlalchemy import Connection

from snoozer.db.statements import execute
from snoozer.queue.promise import CONDITIONS, DEFAULT_OPTIONS, EnqueueOptions, ReminderTime

# The binds of queue/release_claims.
CLAIM_RELEASED = {
    "error_released": "An operator took it back from its worker",
    "error_uncertain": "It may have been sent: an operator took it back from its worker after the end of the message",
}


@dataclass(frozen=True, kw_only=True)
class Terms(ReminderTime, EnqueueOptions):
    """The terms that acts decide about a snooze: its time, its options, and whether it is paused by its owner or over.
    `remind_at` is the promise, whenever the next try is."""

    priority: int
    max_attempts: int
    paused: bool
    outcome: str | None

    def with_time(self, time: ReminderTime) -> "Terms":
        """These terms with another time, and resumed if it was paused. A condition stays if the time has None."""
        given = {name: value for name, value in vars(time).items() if value is not None or name not in CONDITIONS}
        return replace(self, **given, paused=self.paused and time.remind_at == self.remind_at)

    def with_options(self, options: EnqueueOptions, *, keeps_key: bool) -> "Terms":
        """These terms with what `options` names; the key too, unless it `keeps_key`."""
        named = {name: value for name, value in vars(options).items() if value is not None}
        key = self.serialization_key if keeps_key else options.serialization_key
        return replace(self, **{**named, "serialization_key": key})

    def changes_from(self, former: "Terms") -> tuple[dict[str, Any], dict[str, Any]]:
        """Returns the terms that differ, before and after, and always the promise and the state, for an event."""
        always = {"remind_at", "paused", "outcome"}
        names = [name for name in vars(self) if name in always or getattr(self, name) != getattr(former, name)]
        return _plain(former, names), _plain(self, names)

    def with_plain(self, plain: Mapping[str, Any]) -> Self:
        """These terms, overwritten by a result of `changes_from`."""
        values = {name: value for name, value in plain.items() if name in Terms.__dataclass_fields__}
        for name in ("remind_at", "wall_time"):
            if values.get(name) is not None:
                values[name] = datetime.fromisoformat(values[name])
        return replace(self, **values)


@dataclass(frozen=True, kw_only=True)
class Chosen(Terms):
    """A snooze that an act found and locked. `tried_at` is the time of the next try, whatever the promise. `send_state`
    is the state of the reminder of its promise, None without one; `in_flight` is True while a reminder of it may still
    arrive; `snoozed_again_at` is when another snooze of its message was entered, if that snooze is live. `paused_by` is
    the pause of operators that has set it aside."""

    id: int
    user_email: str
    message_id: str
    subject: str | None
    sender_email: str | None
    tried_at: datetime
    attempts: int
    deferred_until: datetime | None
    finished_at: datetime | None
    inactive: bool
    paused_by: int | None
    is_claimed: bool
    claimed_by: str | None
    send_state: str | None
    uncertain_at: datetime | None
    in_flight: bool
    snoozed_again_at: datetime | None

    @property
    def is_leaving(self) -> bool:
        """Whether the dot of its reminder was authorised, and the row does not know the end yet."""
        return self.send_state == "sent" or (self.is_claimed and self.send_state == "sending")

    @property
    def terms(self) -> Terms:
        """Its terms as they are."""
        return Terms(**{name: getattr(self, name) for name in Terms.__dataclass_fields__})


# The columns of peek/chosen that have other names than the fields.
_COLUMNS = {"remind_at": "promise", "tried_at": "remind_at", "duration_hours": "snooze_duration_hours"}


class Retry(NamedTuple):
    """When an operator has a snooze tried next for its promise: with all its attempts, if it starts `afresh`."""

    at: datetime
    afresh: bool = True


NO_RETRIES: Mapping[int, Retry] = MappingProxyType({})


class ReleasedClaim(NamedTuple):
    """A claim that was taken back; `uncertain` if its reminder may have been sent."""

    worker: str
    uncertain: bool


@dataclass(frozen=True, kw_only=True)
class NewSnooze:
    """A message without a live snooze, and the terms of its new snooze."""

    message_id: str
    subject: str | None
    sender_email: str | None
    time: ReminderTime
    options: EnqueueOptions = DEFAULT_OPTIONS

    @property
    def terms(self) -> dict[str, Any]:
        """As `enqueue_many` takes them."""
        message = {name: getattr(self, name) for name in ("message_id", "subject", "sender_email")}
        hours = {"snooze_duration_hours": self.time.duration_hours}
        return {**message, **_plain(self.time, vars(self.time)), **hours, **vars(self.options)}


def asked_terms(time: ReminderTime) -> dict[str, Any]:
    """Returns the terms of a new snooze for its event, as `with_plain` takes them."""
    return {**_plain(time, ("remind_at", "note", "recurrence")), "paused": False, "outcome": None}


def lock_chosen(
    connection: Connection,
    *,
    user_email: str | None,
    ids: Collection[int] = (),
    message_ids: Collection[str] = (),
) -> list[Chosen]:
    """Lock snoozes by their ids, or the live snoozes of these messages; returns them in the order of their ids.

    Snoozes of other people than `user_email` are missing, unless it is None.
    """
    values = {"ids": list(ids), "message_ids": list(message_ids), "user_email": user_email}
    locked = list(execute(connection, "queue/lock_chosen", **values).scalars())
    return chosen(connection, ids=locked) if locked else []


def lock_for_operator(connection: Connection, *, ids: Collection[int]) -> set[int]:
    """Lock snoozes for an act of an operator; the result has no snooze that another transaction has locked."""
    return set(execute(connection, "queue/lock_for_operator", ids=list(ids)).scalars())


def chosen(connection: Connection, *, ids: Collection[int]) -> list[Chosen]:
    """Returns snoozes in the order of their ids, except deleted and archived snoozes."""
    found = execute(connection, "peek/chosen", ids=list(ids))
    names = {name: _COLUMNS.get(name, name) for name in Chosen.__dataclass_fields__}
    return [Chosen(**{name: row[column] for name, column in names.items()}) for row in found.mappings()]


def newer_cases(connection: Connection, *, ids: Collection[int], operation_id: int) -> dict[int, bool]:
    """Returns the cases whose message has a newer case in the operation, and whether a reminder of such a newer one is
    uncertain."""
    rows = execute(connection, "peek/newer_cases", ids=list(ids), operation_id=operation_id)
    return {row.id: row.is_uncertain for row in rows}


def change_many(
    connection: Connection,
    *,
    changes: Sequence[tuple[Chosen, Terms]],
    retries: Mapping[int, Retry] = NO_RETRIES,
    keeps_claims: bool = False,
    traceparent: str | None = None,
) -> None:
    """Write the terms that an act decided about snoozes that are locked. With `retries`, by their ids, no promise
    changes. Raises IntegrityError when a concurrent transaction has just snoozed the message of a revived snooze."""
    rows = [
        {
            "id": row.id,
            **_plain(terms, Terms.__dataclass_fields__),
            "keeps_promise": terms.remind_at == row.remind_at,
            "keeps_claim": keeps_claims or _keeps_claim(row, terms),
            "stays_aside": terms.remind_at == row.remind_at and row.id not in retries,
            "tried_at": _iso(retries[row.id].at) if row.id in retries else None,
            "afresh": row.id in retries and retries[row.id].afresh,
        }
        for row, terms in changes
    ]
    if rows:
        values = {"terms": json.dumps(rows), "keeps": "promise" if retries else "clock"}
        execute(connection, "queue/change_many", traceparent=traceparent, **values)


def release_claims(connection: Connection, *, ids: Collection[int], of_the_living: bool) -> dict[int, ReleasedClaim]:
    """Take the claims of these back from workers that are not alive, or from any with `of_the_living`."""
    rows = execute(connection, "queue/release_claims", ids=list(ids), of_the_living=of_the_living, **CLAIM_RELEASED)
    return {row.id: ReleasedClaim(worker=row.worker, uncertain=row.uncertain) for row in rows}


def enqueue_many(
    connection: Connection, *, user_email: str, terms: Sequence[dict[str, Any]], traceparent: str | None = None
) -> list[tuple[str, int]]:
    """Snooze messages that have no live snooze, on terms by the names of their columns; returns each Message-ID with
    the new id."""
    values = {"user_email": user_email, "traceparent": traceparent, "terms": json.dumps(terms)}
    return [(row.message_id, row.id) for row in execute(connection, "queue/enqueue_many", **values)]


def describe(connection: Connection, found: Mapping[int, tuple[str | None, str | None]]) -> None:
    """Fill in the subject and the sender of live snoozes that have none, by their ids; no promise changes."""
    rows = [{"id": id, "subject": subject, "sender_email": sender} for id, (subject, sender) in found.items()]
    execute(connection, "queue/describe", found=json.dumps(rows))


def returning(connection: Connection, *, ids: Collection[int]) -> set[int]:
    """Returns the ids of the snoozes whose message returns to a mailbox by now."""
    return set(execute(connection, "peek/returning", ids=list(ids)).scalars())


def import_jobs(connection: Connection, *, source: str, jobs: Sequence[dict[str, Any]]) -> list[int]:
    """Enter jobs of another scheduler; returns the ids of their snoozes. Raises IntegrityError if a message is snoozed
    already."""
    return list(execute(connection, "queue/import_jobs", source=source, jobs=json.dumps(jobs)).scalars())


def _keeps_claim(row: Chosen, terms: Terms) -> bool:
    """Whether the worker goes on: the reminder is leaving, and neither its promise nor its key has changed."""
    same = terms.remind_at == row.remind_at and terms.serialization_key == row.serialization_key
    return row.is_claimed and row.is_leaving and same and not terms.paused and terms.outcome is None


def _plain(values: object, names: Collection[str]) -> dict[str, Any]:
    """Values as JSON has them; instants in UTC."""
    found = {name: getattr(values, name) for name in names}
    return {name: _iso(value) if isinstance(value, datetime) else value for name, value in found.items()}


def _iso(at: datetime) -> str:
    return (at if at.tzinfo is None else at.astimezone(UTC)).isoformat()
