"""The queue, continued: statements that change many snoozes which their owner has chosen, by an act and by its Undo."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, CursorResult

from snoozer.db.reminder_time import ReminderTime
from snoozer.db.statements import execute, rows_as


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """A snooze that its owner has chosen, locked. `was` is the row as `put_back_many` takes it."""

    id: int
    message_id: str
    subject: str | None
    sender_email: str | None
    outcome: str | None
    inactive: bool
    claimed: bool
    promise: datetime
    is_due: bool
    recurrence: dict[str, Any] | None
    zone: str | None
    was: dict[str, Any]


def lock_chosen(
    connection: Connection, *, user_email: str, ids: Sequence[int] = (), message_ids: Sequence[str] = ()
) -> list[Chosen]:
    """Lock snoozes of this person, by their ids or the live ones of these messages, in the order of their ids."""
    values = {"ids": list(ids), "message_ids": list(message_ids), "user_email": user_email}
    return rows_as(execute(connection, "queue/lock_chosen", **values), Chosen)


def cancel_many(
    connection: Connection, *, ids: Sequence[int], user_email: str, unchanged_since: datetime | None = None
) -> dict[int, str]:
    """Cancel snoozes; returns the messages of those that were, by id. With `unchanged_since`, only those that were
    changed then and not since."""
    values = {"ids": list(ids), "user_email": user_email, "unchanged_since": unchanged_since}
    return _messages(execute(connection, "queue/cancel_many", **values))


def reschedule_many(
    connection: Connection, *, ids: Sequence[int], user_email: str, reminder_time: ReminderTime
) -> dict[int, str]:
    """Change the time of live snoozes; returns the messages of those that were changed, by id."""
    values = {"ids": list(ids), "user_email": user_email, **reminder_time.columns}
    return _messages(execute(connection, "queue/reschedule_many", **values))


def import_jobs(connection: Connection, *, source: str, jobs: Sequence[dict[str, Any]]) -> list[int]:
    """Enter jobs of another scheduler; returns the ids of their snoozes. Raises IntegrityError where a message is
    snoozed already."""
    return list(execute(connection, "queue/import_jobs", source=source, jobs=json.dumps(jobs)).scalars())


def enqueue_many(
    connection: Connection,
    *,
    user_email: str,
    messages: Sequence[tuple[str, str | None, str | None]],
    reminder_time: ReminderTime,
    traceparent: str | None = None,
) -> dict[int, str]:
    """Snooze messages, each its Message-ID, subject and sender, that have no live snooze; returns those that were
    snoozed, by the ids of their rows."""
    ids, subjects, senders = zip(*messages, strict=True) if messages else ((), (), ())
    columns = {"message_ids": list(ids), "subjects": list(subjects), "senders": list(senders)}
    values = {"user_email": user_email, "traceparent": traceparent, **columns, **reminder_time.columns}
    return _messages(execute(connection, "queue/enqueue_many", **values))


def wake_many(
    connection: Connection, *, snoozes: Sequence[tuple[int, dict[str, Any] | None]], user_email: str
) -> dict[int, str]:
    """Promise snoozes that are asleep, each with the recurrence that goes on, for this moment; returns the messages of
    those that were, by id."""
    recurrences = [None if recurrence is None else json.dumps(recurrence) for _, recurrence in snoozes]
    values = {"ids": [id for id, _ in snoozes], "recurrences": recurrences, "user_email": user_email}
    return _messages(execute(connection, "queue/wake_many", **values))


def skip_many(
    connection: Connection, *, snoozes: Sequence[tuple[int, datetime]], user_email: str, scheduled_for: datetime
) -> dict[int, str]:
    """Promise the next occurrences of snoozes that promise this one; returns the messages of those that were, by id."""
    values = {"ids": [id for id, _ in snoozes], "times": [time for _, time in snoozes], "user_email": user_email}
    return _messages(execute(connection, "queue/skip_many", scheduled_for=scheduled_for, **values))


def put_back_many(
    connection: Connection, *, before: Sequence[dict[str, Any]], user_email: str, unchanged_since: datetime
) -> dict[int, str]:
    """Give snoozes back what they were, each as `lock_chosen` returned it; returns the messages of those that nothing
    has changed since, by id. Raises IntegrityError where a concurrent transaction snoozed one of them again."""
    values = {"before": json.dumps(before), "user_email": user_email, "unchanged_since": unchanged_since}
    return _messages(execute(connection, "queue/put_back_many", **values))


def _messages(result: CursorResult[Any]) -> dict[int, str]:
    return {row.id: row.message_id for row in result}
