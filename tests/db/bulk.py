"""Acts on many messages of Ann, and their Undo."""

from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import Connection, Engine

from snoozer.queue.promise import ReminderTime
from snoozer.snoozes import acts, bulk
from snoozer.snoozes.acts import By, Cancel, Snooze, Wake
from snoozer.snoozes.bulk import Done, Summary, Undone
from snoozer.snoozes.input import Message
from tests.factories import ANN, HOUR, now

Work = Callable[[Connection], Done]
BY = By(ANN, "web")


def later(hours: int = 50, **columns: Any) -> ReminderTime:
    return ReminderTime(remind_at=(now() + hours * HOUR).replace(microsecond=0), zone="UTC", **columns)


def perform(engine: Engine, work: Work, *, account: int, id: UUID | None = None) -> tuple[Summary, UUID]:
    id = id or uuid4()
    with engine.begin() as connection:
        result = bulk.once(connection, account_id=account, id=id, act=lambda: work(connection))
    return result, id


def undo(engine: Engine, id: UUID, *, account: int) -> Undone | None:
    with engine.begin() as connection:
        return bulk.undo(connection, account_id=account, id=id, by=BY)


def rescheduled(ids: list[int], reminder_time: ReminderTime) -> Work:
    return lambda connection: bulk.reschedule(connection, ids, Snooze(time=reminder_time, keeps_note=True), BY)


def cancelled(ids: list[int]) -> Work:
    return lambda connection: bulk.summed("cancel", acts.act(connection, ids, Cancel(), BY))


def woken(ids: list[int]) -> Work:
    return lambda connection: bulk.summed("wake", acts.act(connection, ids, Wake(), BY))


def snoozed(messages: list[Message], reminder_time: ReminderTime) -> Work:
    return lambda connection: bulk.snooze(connection, messages, Snooze(time=reminder_time), BY)
