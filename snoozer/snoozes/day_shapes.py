"""The shape of a person's day: choose it, show what that would move, and what a rest defers.

The rule is in `timephrase/day_shape.py`. The database keeps the present or next rest, so the statements that send and
return know it; a reader that finds it stale computes it again. (docs/decisions/0017)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, select

from snoozer.db import day_shapes
from snoozer.db.day_shapes import StaleDay
from snoozer.db.models import SavedDayShape
from snoozer.db.models.day_shape import shape_of
from snoozer.db.queries import Found, columns, snoozes
from snoozer.queue import queue
from snoozer.timephrase.day_shape import HORIZON, Arrival, Days, DayShape
from snoozer.timephrase.zones import zone_or_utc

BATCH_SIZE = 500
# Rows shown in the preview of a changed shape.
MAX_SHOWN = 5
# If no rest comes, compute the next one this long before the end of the known time.
AHEAD = timedelta(days=1)
NO_SHAPE = DayShape()
_COLUMNS = (
    "working_days work_from work_until quiet_from quiet_until quiet_until_off rests_on_days_off away_from back_on "
    "gathers_over"
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


def days_of(shape: DayShape, zone: str) -> Days:
    """The days of a person in this zone, or in UTC if this machine does not know the zone."""
    return Days(shape, zone_or_utc(zone))


def find(connection: Connection, *, account_id: int) -> DayShape | None:
    """The shape that this person chose; None if the person chose none."""
    chosen = select(*columns(SavedDayShape, _COLUMNS)).where(SavedDayShape.account_id == account_id)
    row = connection.execute(chosen).first()
    return None if row is None else shape_of(dict(row._mapping))


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


def choose(connection: Connection, *, account_id: int, shape: DayShape) -> None:
    """Save this shape, which `check` accepts; snoozes deferred by an earlier shape follow this one."""
    day_shapes.save(connection, account_id=account_id, shape=shape)
    refresh(connection, account_id=account_id)


def refresh(connection: Connection, *, account_id: int | None = None) -> int:
    """Compute the rests that are not known any more, of one person or of up to BATCH_SIZE; if a shape changed, snoozes
    that it had deferred are due again, BATCH_SIZE at a time. Returns how many rests were computed."""
    stale = day_shapes.lock_stale(connection, batch_size=BATCH_SIZE, account_id=account_id)
    _compute(connection, stale, undefers=True)
    return len(stale)


def refresh_owners(connection: Connection, *, snooze_ids: Sequence[int]) -> None:
    """Compute the rests of these snoozes' owners that are not known any more, without waiting for a lock; snoozes
    deferred by an earlier shape are left to `refresh`."""
    stale = day_shapes.lock_stale(connection, batch_size=len(snooze_ids), snooze_ids=snooze_ids)
    _compute(connection, stale, undefers=False)


def _compute(connection: Connection, stale: Sequence[StaleDay], *, undefers: bool) -> None:
    for day in stale:
        days = days_of(day.shape, day.zone)
        rest = days.next_rest(day.now)
        following = None if rest is None else days.next_rest(rest.ends)
        known_until = following.starts if following else (rest.ends if rest else day.now) + HORIZON
        until = rest.ends if rest is not None and rest.starts <= day.now else None
        left = day.changed and (not undefers or _undefer(connection, user_email=day.user_email, rest_until=until))
        day_shapes.record_rest(
            connection,
            account_id=day.account_id,
            rest=rest,
            known_until=known_until,
            refresh_at=day.now if left else rest.ends if rest else known_until - AHEAD,
            changed=left,
        )


def _undefer(connection: Connection, *, user_email: str, rest_until: datetime | None) -> bool:
    """Returns whether there may be more."""
    day_shapes.undefer_messages(connection, user_email=user_email, rest_until=rest_until)
    count = queue.undefer(connection, user_email=user_email, rest_until=rest_until, batch_size=BATCH_SIZE)
    return count == BATCH_SIZE


def _arrival(row: Found, days: Days, *, now: datetime) -> Arrival:
    """When it comes: a due snooze waits for the end of the present rest."""
    if row.at_any_hour:
        return Arrival(at=row.promise)
    return days.arrival(max(row.promise, now))
