"""The rows of acts: locked snoozes, and the terms that an act gives them.

An act locks, decides in Python, and writes once, for one snooze as for five hundred.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Self

from sqlalchemy import Connection

from snoozer.db.enqueue_options import DEFAULT_OPTIONS, EnqueueOptions
from snoozer.db.reminder_time import ReminderTime
from snoozer.db.statements import execute, rows_as


@dataclass(frozen=True, kw_only=True)
class Terms:
    """All that acts decide about a snooze: what it promises, in which words, how it is delivered, and whether it is
    paused by its owner or over. `remind_at` is the promise, whenever the next try is."""

    remind_at: datetime
    duration_hours: int | None
    note: str | None
    recurrence: dict[str, Any] | None
    wall_time: datetime | None
    zone: str | None
    time_kind: str | None
    at_any_hour: bool
    reply_policy: str | None
    reply_scope: str | None
    priority: int
    max_attempts: int
    serialization_key: str | None
    reference: str | None
    paused: bool
    outcome: str | None

    def with_time(self, time: ReminderTime) -> "Terms":
        """These terms with another time, and resumed if it was paused. The reply policy stays unless the time
        names it."""
        return replace(
            self,
            remind_at=time.remind_at,
            duration_hours=time.duration_hours,
            note=time.note,
            recurrence=time.recurrence,
            wall_time=time.wall_time,
            zone=time.zone,
            time_kind=time.time_kind,
            at_any_hour=time.at_any_hour,
            reply_policy=time.reply_policy or self.reply_policy,
            reply_scope=time.reply_scope or self.reply_scope,
            paused=self.paused and time.remind_at == self.remind_at,
        )

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
    """A snooze that an act found and locked. `send_state` is that of the reminder of its promise, None without one;
    `in_flight` is True while a reminder of it may still arrive; `snoozed_again_at` is when another snooze of its
    message was entered, if that is live."""

    id: int
    user_email: str
    message_id: str
    subject: str | None
    sender_email: str | None
    deferred_until: datetime | None
    inactive: bool
    is_claimed: bool
    send_state: str | None
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


@dataclass(frozen=True, kw_only=True)
class NewSnooze:
    """A message without a live snooze, and the terms of its new snooze."""

    message_id: str
    subject: str | None
    sender_email: str | None
    time: ReminderTime
    options: EnqueueOptions = DEFAULT_OPTIONS


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
    return rows_as(execute(connection, "peek/chosen", ids=locked), Chosen) if locked else []


def change_many(
    connection: Connection, *, changes: Sequence[tuple[Chosen, Terms]], traceparent: str | None = None
) -> None:
    """Write the terms that an act decided about snoozes that `lock_chosen` has locked. Raises IntegrityError when a
    concurrent transaction has just snoozed the message of a revived snooze."""
    rows = [
        {
            "id": row.id,
            **_plain(terms, Terms.__dataclass_fields__),
            "keeps_promise": terms.remind_at == row.remind_at,
            "keeps_claim": _keeps_claim(row, terms),
        }
        for row, terms in changes
    ]
    if rows:
        execute(connection, "queue/change_many", terms=json.dumps(rows), traceparent=traceparent)


def enqueue_many(
    connection: Connection, *, user_email: str, snoozes: Sequence[NewSnooze], traceparent: str | None = None
) -> dict[str, int]:
    """Snooze messages that have no live snooze; returns the new ids by Message-ID."""
    rows = [
        {
            "message_id": one.message_id,
            "subject": one.subject,
            "sender_email": one.sender_email,
            **_plain(one.time, vars(one.time)),
            **vars(one.options),
        }
        for one in snoozes
    ]
    values = {"user_email": user_email, "traceparent": traceparent, "terms": json.dumps(rows)}
    return {row.message_id: row.id for row in execute(connection, "queue/enqueue_many", **values)}


def returning(connection: Connection, *, ids: Collection[int]) -> set[int]:
    """Returns the ids of the snoozes whose message returns to a mailbox by now."""
    return set(execute(connection, "peek/returning", ids=list(ids)).scalars())


def import_jobs(connection: Connection, *, source: str, jobs: Sequence[dict[str, Any]]) -> list[int]:
    """Enter jobs of another scheduler; returns the ids of their snoozes. Raises IntegrityError if a message is snoozed
    already."""
    return list(execute(connection, "queue/import_jobs", source=source, jobs=json.dumps(jobs)).scalars())


def _keeps_claim(row: Chosen, terms: Terms) -> bool:
    """Whether the worker goes on: the reminder is leaving, and neither its promise nor its key is another one."""
    same = terms.remind_at == row.remind_at and terms.serialization_key == row.serialization_key
    return row.is_claimed and row.is_leaving and same and not terms.paused and terms.outcome is None


def _plain(values: object, names: Collection[str]) -> dict[str, Any]:
    """Values as JSON has them; instants in UTC."""
    found = {name: getattr(values, name) for name in names}
    return {name: _iso(value) if isinstance(value, datetime) else value for name, value in found.items()}


def _iso(at: datetime) -> str:
    return (at if at.tzinfo is None else at.astimezone(UTC)).isoformat()
