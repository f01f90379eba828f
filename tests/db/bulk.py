"""Acts on many messages of Ann, and their Undo."""

from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import Connection, Engine

from snoozer.bulk_acts import acts, record
from snoozer.bulk_acts.results import Done, Result, Undone
from snoozer.db.queue import ReminderTime
from snoozer.snoozing import Message
from tests.factories import ANN, HOUR, now

Work = Callable[[Connection], Done]


def later(hours: int = 50, **columns: Any) -> ReminderTime:
    return ReminderTime(remind_at=(now() + hours * HOUR).replace(microsecond=0), zone="UTC", **columns)


def perform(engine: Engine, work: Work, *, account: int, id: UUID | None = None) -> tuple[Result, UUID]:
    id = id or uuid4()
    with engine.begin() as connection:
        result = record.once(connection, account_id=account, id=id, act=lambda: work(connection))
    return result, id


def undo(engine: Engine, id: UUID, *, account: int) -> Undone | None:
    with engine.begin() as connection:
        return record.undo(connection, account_id=account, user_email=ANN, id=id, route="web")


def rescheduled(ids: list[int], reminder_time: ReminderTime) -> Work:
    return lambda connection: acts.reschedule(
        connection, user_email=ANN, ids=ids, reminder_time=reminder_time, route="web"
    )


def cancelled(ids: list[int]) -> Work:
    return lambda connection: acts.cancel(connection, user_email=ANN, ids=ids, route="web")


def woken(ids: list[int]) -> Work:
    return lambda connection: acts.wake(connection, user_email=ANN, ids=ids, route="web")


def snoozed(messages: list[Message], reminder_time: ReminderTime) -> Work:
    return lambda connection: acts.snooze(
        connection, user_email=ANN, messages=messages, reminder_time=reminder_time, route="web"
    )
