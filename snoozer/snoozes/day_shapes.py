"""The shape of a person's day: compute what a rest defers.

The rule is in `timephrase/day_shape.py`. The database keeps the present or next rest, so the statements that send and
return know it; a reader that finds it stale computes it again. (docs/decisions/0017)
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import Connection

from snoozer.db import day_shapes
from snoozer.db.day_shapes import StaleDay
from snoozer.queue import queue
from snoozer.timephrase.day_shape import HORIZON, Days, DayShape
from snoozer.timephrase.zones import zone_or_utc

BATCH_SIZE = 500
# If no rest comes, compute the next one this long before the end of the known time.
AHEAD = timedelta(days=1)
NO_SHAPE = DayShape()


def days_of(shape: DayShape, zone: str) -> Days:
    """The days of a person in this zone, or in UTC if this machine does not know the zone."""
    return Days(shape, zone_or_utc(zone))


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
