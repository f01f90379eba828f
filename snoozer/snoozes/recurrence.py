"""The series of a snooze that repeats: its next occurrence, and its rest after an act.

Functions raise SnoozeError with a sentence for people if the series does not allow it.
"""

from dataclasses import replace
from datetime import date, datetime
from typing import Any, NamedTuple, Protocol

from snoozer.queue.promise import ReminderTime
from snoozer.snoozes.input import SnoozeError
from snoozer.timephrase import series as rules
from snoozer.timephrase.recurrence import Recurrence, next_reminder_after
from snoozer.timephrase.zones import resolve_wall_time, wall_time, zone_of
from snoozer.translations import gettext as _


class Series(Protocol):
    """A promise, its recurrence, and the zone of its clock; None for UTC."""

    @property
    def remind_at(self) -> datetime: ...
    @property
    def recurrence(self) -> dict[str, Any] | None: ...
    @property
    def zone(self) -> str | None: ...


class Promised(NamedTuple):
    """A series by itself."""

    remind_at: datetime
    recurrence: dict[str, Any] | None
    zone: str | None


def is_someday(row: Series) -> bool:
    """Whether it has no date, and is reviewed."""
    return row.recurrence is not None and row.recurrence.get("kind") == "someday"


def following(row: Series, *, now: datetime) -> datetime | None:
    """The first occurrence after the promise and after `now`; None after the last."""
    _series(row)
    return next_reminder_after(row.recurrence, promised=row.remind_at, now=now, zone=row.zone)


def rest(row: Series) -> dict[str, Any] | None:
    """The recurrence without the promised occurrence; None after the last."""
    left = rules.rest(_series(row), row.remind_at, _zone(row))
    return None if left is None else left.as_json()


def once(row: Series, new: ReminderTime) -> ReminderTime:
    """The time for the promised occurrence alone. It stays a time on the clock of the series, also if it was asked for
    as a span from now: the row's kind is that of all its occurrences."""
    wall = wall_time(new.remind_at, _zone(row))
    return replace(new, recurrence=rest(row), wall_time=wall, zone=row.zone, time_kind="wall")


def every(row: Series, new: ReminderTime) -> ReminderTime:
    """The time for every occurrence from the promised one on: the series from it, and its next time."""
    zone = _zone(row)
    wall = wall_time(new.remind_at, zone).replace(second=0, microsecond=0)
    try:
        series = rules.moved(_series(row), row.remind_at, zone, wall=wall)
    except rules.SeriesError as error:
        raise SnoozeError("past", str(error)) from None
    at, _flags = resolve_wall_time(wall, zone_of(zone))
    return replace(new, remind_at=at, recurrence=series.as_json(), wall_time=wall, zone=row.zone, time_kind="wall")


def ended(row: Series, *, until: date | None, times: int | None) -> dict[str, Any] | None:
    """The recurrence with its last day, or with a number of occurrences left; neither for no end."""
    try:
        left = rules.ending(_series(row), row.remind_at, _zone(row), until=until, times=times)
    except rules.SeriesError as error:
        raise SnoozeError("past", str(error)) from None
    return None if left is None else left.as_json()


def _series(row: Series) -> Recurrence:
    if row.recurrence is None:
        raise SnoozeError("single", _("It does not repeat any more."))
    try:
        zone_of(_zone(row))
        return Recurrence.from_json(row.recurrence)
    except (KeyError, ValueError):
        raise SnoozeError(
            "unreadable", _("This Snoozer cannot read how it repeats. Give it a new time that repeats, or cancel it.")
        ) from None


def _zone(row: Series) -> str:
    return row.zone or "UTC"
