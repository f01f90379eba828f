"""The shape of the day that a person chose, and what another one would move."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, select

from snoozer.db import day_shapes as db
from snoozer.db import statements
from snoozer.db.day_shapes import shape_of
from snoozer.db.models import SavedDayShape
from snoozer.db.queries import Found, columns, snoozes
from snoozer.snoozes import acts, day_shapes, input
from snoozer.snoozes.acts import By, Review
from snoozer.snoozes.day_shapes import NO_SHAPE, days_of
from snoozer.timephrase.context import OwnDays
from snoozer.timephrase.day_shape import Arrival, Days, DayShape
from snoozer.timephrase.parse import parse

# Rows shown in the preview.
MAX_SHOWN = 5
_COLUMNS = (
    "working_days work_from work_until quiet_from quiet_until quiet_until_off rests_on_days_off away_from back_on "
    "gathers_over review_on"
)


@dataclass(frozen=True, kw_only=True)
class Move:
    """A snooze that comes at another time with a changed shape of its owner's day."""

    id: int
    subject: str | None
    promise: datetime
    before: Arrival
    after: Arrival


@dataclass(frozen=True, kw_only=True)
class Preview:
    """How many snoozes would come at another time, and the first of them."""

    count: int
    first: list[Move]


def find(connection: Connection, *, account_id: int) -> DayShape | None:
    """The shape that this person chose; None if the person chose none."""
    chosen = select(*columns(SavedDayShape, _COLUMNS)).where(SavedDayShape.account_id == account_id)
    row = connection.execute(chosen).first()
    return None if row is None else shape_of(dict(row._mapping))


def days_for_phrases(connection: Connection, *, account_id: int) -> OwnDays:
    """A function that finds the shape of this person's days, for phrases that need it."""
    return lambda: find(connection, account_id=account_id) or NO_SHAPE


def find_days(connection: Connection, *, account_id: int, zone: str) -> Days | None:
    """The days of a person in this zone; None if the person chose no shape."""
    shape = find(connection, account_id=account_id)
    return None if shape is None else days_of(shape, zone)


def preview(
    connection: Connection, *, user_email: str, zone: str, old: DayShape, new: DayShape, now: datetime
) -> Preview:
    """The snoozes that come at another time with the new shape, the next one first; changes nothing."""
    days, count, first = (days_of(old, zone), days_of(new, zone)), 0, list[Move]()
    for row in snoozes.waiting(connection, user_email=user_email, now=now):
        before, after = (_arrival(row, one, now=now) for one in days)
        if before.at == after.at:
            continue
        count += 1
        if len(first) < MAX_SHOWN:
            first.append(Move(id=row.id, subject=row.subject, promise=row.promise, before=before, after=after))
    return Preview(count=count, first=first)


def _arrival(row: Found, days: Days, *, now: datetime) -> Arrival:
    """When it comes: a due snooze waits for the end of the present rest."""
    if row.at_any_hour:
        return Arrival(at=row.promise)
    return days.arrival(max(row.promise, now))


def choose(connection: Connection, *, account_id: int, shape: DayShape) -> None:
    """Save this shape, which `check` accepts; snoozes deferred by an earlier shape follow this one, and so do the
    reviews of what has no date."""
    db.save(connection, account_id=account_id, shape=shape)
    day_shapes.refresh(connection, account_id=account_id)
    _move_reviews(connection, account_id=account_id, shape=shape)


def _move_reviews(connection: Connection, *, account_id: int, shape: DayShape) -> None:
    waiting = snoozes.someday(connection, account_id=account_id)
    if not waiting:
        return
    owner, now = waiting[0], statements.database_time(connection)
    reading = parse("someday", now=now, zone=owner.zone, own=lambda: shape)
    time = input.reminder_time_of(reading, now=now)
    ids = [row.id for row in waiting if row.remind_at > now and row.remind_at != time.remind_at]
    acts.act(connection, ids, Review(time=time), By(owner.email, "settings"))
