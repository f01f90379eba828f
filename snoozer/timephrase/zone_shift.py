"""Where a promise by the clock falls when the person's zone is another one, or when a zone's rules have changed."""

from datetime import UTC, datetime, timedelta

from snoozer.timephrase.recurrence import Recurrence
from snoozer.timephrase.zones import canonical, local, settle, zone_of

# Newer rules move a time by an hour at most; between two zones there are 26.
_RULES = timedelta(hours=1)
_ZONES = timedelta(hours=26)
_BEFORE = timedelta(days=10)


def moved(
    promise: datetime, *, wall: datetime | None, zone: str, to: str, recurrence: Recurrence | None = None
) -> datetime | None:
    """The instant on which the promised time on the clock of `zone` falls in `to`, by the grammar's own rules: out of
    a gap it moves forward, in an overlap the first counts.

    With `to` equal to `zone` only newer rules of that zone can move it. For a repetition it is the promised
    occurrence that moves; `wall` is not asked then. None where nothing can be said: a zone that this machine does
    not know, or a promise that is no occurrence.
    """
    if canonical(zone) != zone or canonical(to) != to:
        return None
    if recurrence is not None:
        wall = _occurrence(recurrence, promise, zone)
        if wall is None:
            return None
    here = promise.astimezone(zone_of(zone)).replace(tzinfo=None, fold=0)
    if zone == to and wall in (None, here):
        return promise
    return local(settle(wall or here, zone_of(to))[0], to)


def _occurrence(recurrence: Recurrence, promise: datetime, zone: str) -> datetime | None:
    """The wall time of the occurrence that the promise stands for: the one that newer rules put within an hour, else
    the last before it, whose hour was over in this zone when its person came, so that the instant was kept."""
    place, sought = zone_of(zone), promise.astimezone(UTC)
    last: tuple[timedelta, datetime] | None = None
    for day in recurrence.dates(near=sought.date() - _BEFORE):
        wall = datetime.combine(day, recurrence.at)
        since = sought - settle(wall, place)[0]
        if since < -_RULES:
            break
        if last is None or abs(since) < last[0]:
            last = abs(since), wall
    return None if last is None or last[0] > _ZONES else last[1]
