"""The rule of a person's day: when nothing comes, and when reminders promised for such a time come instead.

A rest is a time in which nothing comes: quiet hours, a day off, a vacation. It begins at the first instant whose clock
shows its start or later, and ends after the last instant whose clock shows less than its end, even if clocks change.
Rests that overlap or meet are one, with the reason of the part that ends last.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import cached_property, lru_cache
from typing import Literal

from snoozer.translations import gettext as _

RestReason = Literal["quiet", "day off", "vacation"]

WEEKDAYS = range(1, 8)
MAX_VACATION = timedelta(days=366)
DAY = timedelta(days=1)
GATHERS_OVER = range(3, 51)
# How far ahead `next_rest` looks.
HORIZON = timedelta(days=7)
# Rests are computed by the week, with MARGIN days before and after it: the longest rest other than a vacation is six
# days off and a night.
WEEK, MARGIN = 7, 9


class DayShapeError(ValueError):
    """The shape is not valid. `field` is the field to correct, `message` is for people."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.message = message


@dataclass(frozen=True, kw_only=True)
class DayShape:
    """When a person works, and when nothing is to come.

    `working_days` are ISO weekdays, Monday is 1. Quiet hours are on each day, and may go past midnight;
    `quiet_until_off` is their end on a day off, if it differs. With `rests_on_days_off` nothing comes on days off,
    until the end of the quiet hours of the next working day, or the start of work if there are no quiet hours. From
    `away_from` nothing comes before the start of work on `back_on`.
    More than `gathers_over` reminders that a rest deferred come in one mail. Snoozes until someday are reviewed
    on the weekday `review_on`, when work starts.
    """

    working_days: frozenset[int] = frozenset({1, 2, 3, 4, 5})
    work_from: time = time(9)
    work_until: time = time(17)
    quiet_from: time | None = None
    quiet_until: time | None = None
    quiet_until_off: time | None = None
    rests_on_days_off: bool = False
    away_from: date | None = None
    back_on: date | None = None
    gathers_over: int | None = None
    review_on: int = 5

    @property
    def back(self) -> datetime | None:
        """The wall time at which the vacation ends, None if there is none."""
        return None if self.back_on is None else datetime.combine(self.back_on, self.work_from)

    def check(self) -> None:
        """Raises DayShapeError if it is contradictory."""
        if not self.working_days or not self.working_days <= set(WEEKDAYS):
            raise DayShapeError("working_days", _("Choose at least one working day."))
        if self.work_from >= self.work_until:
            raise DayShapeError("work_until", _("Work ends after it starts, on the same day."))
        if self.review_on not in WEEKDAYS:
            raise DayShapeError("review_on", _("Choose the day on which you look through someday."))
        self._check_quiet_hours()
        if self.gathers_over is not None and self.gathers_over not in GATHERS_OVER:
            raise DayShapeError("gathers_over", _("Give a number from 3 to 50, or leave it empty for single mails."))
        if (self.away_from is None) != (self.back_on is None):
            field = "away_from" if self.away_from is None else "back_on"
            raise DayShapeError(field, _("A vacation has two days: the first one away, and the one you are back on."))
        if self.away_from is not None and self.back_on is not None:
            if self.back_on <= self.away_from:
                raise DayShapeError("back_on", _("The day you are back comes after the first one away."))
            if self.back_on - self.away_from > MAX_VACATION:
                raise DayShapeError("back_on", _("That is more than a year away. Give a day within a year."))

    def _check_quiet_hours(self) -> None:
        start, end, end_off = self.quiet_from, self.quiet_until, self.quiet_until_off
        if start is None or end is None:
            if start is not None or end is not None:
                field = "quiet_from" if start is None else "quiet_until"
                raise DayShapeError(field, _("Quiet hours have a start and an end. Give both, or neither."))
            if end_off is not None:
                raise DayShapeError("quiet_from", _("Quiet hours have a start and an end. Give both, or neither."))
            return
        if start == end:
            raise DayShapeError("quiet_until", _("Quiet hours that end when they start would be the whole day."))
        if end_off is not None and (end_off == start or (end_off > start) != (end > start)):
            raise DayShapeError("quiet_until_off", _("On days off, too, quiet hours end before they start again."))

    def ends_quiet_on(self, day: date) -> time | None:
        """When the quiet hours that end on this day end."""
        return self.quiet_until_off or self.quiet_until if self.is_off(day) else self.quiet_until

    def is_off(self, day: date) -> bool:
        """Whether it is a day off."""
        return day.isoweekday() not in self.working_days


@dataclass(frozen=True, kw_only=True)
class Rest:
    """A time in which nothing comes, and why."""

    starts: datetime
    ends: datetime
    reason: RestReason


@dataclass(frozen=True, kw_only=True)
class Arrival:
    """When a message comes; `reason` is why it does not come when promised, None if it does."""

    at: datetime
    reason: RestReason | None = None


@dataclass(frozen=True)
class Days:
    """A person's days on the clock of their zone. All instants are aware; results are in UTC."""

    shape: DayShape
    zone: tzinfo

    def arrival(self, promise: datetime) -> Arrival:
        """When a message promised for `promise` comes: never earlier, and never within a rest."""
        rest = self.next_rest(promise)
        if rest is None or rest.starts > promise:
            return Arrival(at=promise)
        return Arrival(at=rest.ends, reason=rest.reason)

    def next_rest(self, at: datetime) -> Rest | None:
        """The rest at an instant, or the next rest that begins within HORIZON."""
        week = at.astimezone(self.zone).toordinal() // WEEK
        rests = _rests_of_week(self.shape, self.zone, week)
        return next((rest for rest in rests if rest.ends > at and rest.starts <= at + HORIZON), None)

    @cached_property
    def _vacation(self) -> Rest | None:
        shape = self.shape
        if shape.away_from is None or shape.back is None:
            return None
        return self._part(datetime.combine(shape.away_from, time(0)), shape.back, "vacation")

    def parts(self, first: date, count: int) -> Iterator[Rest]:
        """The separate rests of `count` days; they may overlap."""
        shape = self.shape
        if self._vacation is not None:
            yield self._vacation
        for day in _days(first, count=count):
            end = shape.ends_quiet_on(day)
            if shape.quiet_from is not None and end is not None:
                begins = day if shape.quiet_from < end else day - DAY
                yield self._part(datetime.combine(begins, shape.quiet_from), datetime.combine(day, end), "quiet")
            if shape.rests_on_days_off and shape.is_off(day):
                following = day + DAY
                morning = time(0)
                if not shape.is_off(following):
                    is_overnight = shape.quiet_from is not None and shape.quiet_from > (shape.quiet_until or time.max)
                    morning = shape.quiet_until if is_overnight and shape.quiet_until else shape.work_from
                yield self._part(datetime.combine(day, time(0)), datetime.combine(following, morning), "day off")

    def _part(self, start: datetime, end: datetime, reason: RestReason) -> Rest:
        return Rest(starts=_begin(start, self.zone), ends=_end(end, self.zone), reason=reason)


@lru_cache(maxsize=4096)
def _rests_of_week(shape: DayShape, zone: tzinfo, week: int) -> tuple[Rest, ...]:
    first, count = date.fromordinal(week * WEEK) - MARGIN * DAY, WEEK + 2 * MARGIN
    days = Days(shape, zone)
    parts = list(days.parts(first, count))
    if shape.away_from is not None and shape.back_on is not None and shape.away_from < first + count * DAY:
        # The rest continues at the end of a vacation.
        parts += days.parts(shape.back_on - MARGIN * DAY, count)
    return tuple(_merged(parts))


def _merged(parts: Sequence[Rest]) -> Iterator[Rest]:
    current: Rest | None = None
    # A part that lies wholly in an hour skipped by clocks has no duration, and is no rest.
    lasting = [part for part in parts if part.starts < part.ends]
    for part in sorted(lasting, key=lambda part: (part.starts, part.ends)):
        if current is None or part.starts > current.ends:
            if current is not None:
                yield current
            current = part
        elif part.ends > current.ends or (part.ends == current.ends and part.reason == "vacation"):
            current = Rest(starts=current.starts, ends=part.ends, reason=part.reason)
    if current is not None:
        yield current


def _days(first: date, *, count: int) -> Iterator[date]:
    return (first + number * DAY for number in range(count))


def _begin(wall: datetime, zone: tzinfo) -> datetime:
    """The first instant whose clock shows this time, or a later one if the time is skipped."""
    return _skipped(wall, zone) or _instant(wall, zone)


def _end(wall: datetime, zone: tzinfo) -> datetime:
    """The last instant whose clock shows this time, or the first instant with a later time if it is skipped."""
    return _skipped(wall, zone) or _instant(wall.replace(fold=1), zone)


def _instant(wall: datetime, zone: tzinfo) -> datetime:
    return wall.replace(tzinfo=zone).astimezone(UTC)


def _skipped(wall: datetime, zone: tzinfo) -> datetime | None:
    """The instant at which clocks go forward past this time; None if a clock shows it."""
    before, after = _instant(wall.replace(fold=1), zone), _instant(wall, zone)
    if before >= after:
        return None
    offset = after.astimezone(zone).utcoffset()
    while after - before > timedelta(seconds=1):
        middle = before + (after - before) / 2
        if middle.astimezone(zone).utcoffset() == offset:
            after = middle
        else:
            before = middle
    return after.replace(microsecond=0)
