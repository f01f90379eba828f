"""A recurrence as a value, its dates, and the new instant of an occurrence whose zone changes.

Every occurrence is counted from the start, never from the last one, so errors do not add up over clamped months, clock
changes or years.
"""

from calendar import monthrange
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import MAXYEAR, UTC, date, datetime, time, timedelta
from itertools import count, islice
from typing import Any, Literal, get_args

from snoozer.timephrase.zones import canonical, local, resolve_wall_time, wall_time, zone_of

Unit = Literal["day", "week", "month", "year"]
WeekendRule = Literal["none", "before", "after"]
SeriesKind = Literal["series", "ladder", "someday"]
_DAY = timedelta(days=1)
_LAST_YEAR = 9998
# A fifth weekday of February comes within 40 years; a date that does not come within 50 never comes.
_MAX_BARREN_YEARS = 50
_MAX_COUNT = date.max.toordinal()
# New rules of a zone move a time by at most an hour; a change between two zones by up to 26.
_MAX_RULE_CHANGE = timedelta(hours=1)
_MAX_ZONE_DISTANCE = timedelta(hours=26)
_LOOK_BACK = timedelta(days=10)


@dataclass(frozen=True, kw_only=True)
class Recurrence:
    """Every `interval` units from `start` (the first date) on, at the wall time `at`.

    Weeks repeat on `weekdays` (Monday = 0). Months and years repeat on `day` (clamped to the month's end; -1 is the
    last day) or on the `nth` of `weekdays[0]` (-1 is the last; a month without a fifth is skipped); years in `month`.
    `until` is the last possible date, `times` the number of occurrences. An occurrence on a day of `rest` moves by
    `weekend_rule`.
    A `ladder` is the rest of a snooze that comes again unless it is done; `someday` are the reviews of a snooze without
    a date. Both end when it is done.
    """

    unit: Unit
    interval: int
    start: date
    at: time
    weekdays: tuple[int, ...] = ()
    day: int | None = None
    nth: int | None = None
    month: int | None = None
    until: date | None = None
    times: int | None = None
    weekend_rule: WeekendRule = "none"
    rest: tuple[int, ...] = (5, 6)
    week_start: int = 0
    kind: SeriesKind = "series"

    @property
    def ends_when_done(self) -> bool:
        """Whether nothing comes again once its person is done with it."""
        return self.kind != "series"

    def as_json(self) -> dict[str, Any]:
        """Plain values for JSON; `from_json` takes them back."""
        until = self.until.isoformat() if self.until else None
        texts = {"start": self.start.isoformat(), "at": self.at.isoformat(), "until": until}
        plain = asdict(self) | texts | {"weekdays": list(self.weekdays), "rest": list(self.rest)}
        # A worker of an earlier version refuses an unknown name, and most recurrences need none.
        return plain if self.ends_when_done else {name: value for name, value in plain.items() if name != "kind"}

    @classmethod
    def from_json(cls, plain: Any) -> "Recurrence":
        """The inverse of `as_json`. Raises ValueError for anything else: rows may come from any program."""
        try:
            start, at = date.fromisoformat(plain["start"]), time.fromisoformat(plain["at"])
            until = date.fromisoformat(plain["until"]) if plain["until"] else None
            days = {"weekdays": tuple(plain["weekdays"]), "rest": tuple(plain["rest"])}
            recurrence = cls(**plain | {"start": start, "at": at, "until": until} | days)
        except (KeyError, TypeError) as strange:
            raise ValueError("This is not how a recurrence is written.") from strange
        if not recurrence._is_well_formed():
            raise ValueError("This recurrence holds what cannot be counted with.")
        if not recurrence._has_occurrences():
            raise ValueError("This recurrence never comes round.")
        return recurrence

    def dates(self, *, near: date | None = None, on_step: Callable[[], None] | None = None) -> Iterator[date]:
        """The dates in order, from the start on, or from the last ones at or before `near` on. `on_step` is called for
        each that is counted, and may raise."""
        if self.times is not None or near is None:
            near = self.start
        steps = self._steps(max(near, self.start))
        unmoved = (day for day in _watched(steps, on_step) if day >= self.start)
        yield from islice(self._kept(unmoved), self.times)

    def after(self, day: date) -> "Recurrence | None":
        """The same recurrence without the occurrences up to `day`, or None if none is left. A recurrence that counts
        from its start continues from a date with the same place in the count."""
        passed, last = 0, None
        near = self.start if self.times is not None else max(self.start, day - _LOOK_BACK)
        for unmoved in (step for step in self._steps(near) if step >= self.start):
            moved = self._moved(unmoved)
            if (self.until is not None and max(unmoved, moved) > self.until) or passed == self.times:
                return None
            if moved > day and moved != last:
                left = None if self.times is None else self.times - passed
                return replace(self, start=unmoved, times=left)
            passed += moved != last
            last = moved
        return None

    def _kept(self, unmoved: Iterator[date]) -> Iterator[date]:
        """Each date where the weekend rule puts it, up to the end; dates moved to the same day count once."""
        last = None
        for day in unmoved:
            moved = self._moved(day)
            if self.until is not None and max(day, moved) > self.until:
                return
            if moved != last:
                yield moved
            last = moved

    def _is_well_formed(self) -> bool:
        """Whether dates can be computed from the values; JSON may hold anything."""
        return (
            self.unit in get_args(Unit)
            and self.weekend_rule in get_args(WeekendRule)
            and self.kind in get_args(SeriesKind)
            and (self.kind != "someday" or (self.until is None and self.times is None))
            and _is_whole(self.interval, 1, _MAX_COUNT)
            and self.at.tzinfo is None
            and all(_is_whole(weekday, 0, 6) for weekday in (*self.weekdays, *self.rest, self.week_start))
            and (self.nth is None or _is_whole(self.nth, 1, 5) or _is_whole(self.nth, -1, -1))
            and (self.day is None or _is_whole(self.day, 1, 31) or _is_whole(self.day, -1, -1))
            and (self.month is None or _is_whole(self.month, 1, 12))
            and (self.times is None or _is_whole(self.times, 1, _MAX_COUNT))
        )

    def _has_occurrences(self) -> bool:
        """Whether there is a day on which it falls."""
        if not self.weekdays and (self.unit == "week" or self.nth is not None):
            return False
        if self.day is None and self.nth is None and self.unit in ("month", "year"):
            return False
        return self.weekend_rule == "none" or len(set(self.rest)) < 7

    def _steps(self, near: date) -> Iterator[date]:
        if self.unit == "day":
            first = (near - self.start).days // self.interval
            yield from (self.start + timedelta(days=n * self.interval) for n in count(first))
        elif self.unit == "week":
            week = self.start - timedelta(days=(self.start.weekday() - self.week_start) % 7)
            first = (near - week).days // 7 // self.interval
            ordered = sorted((day - self.week_start) % 7 for day in self.weekdays)
            for n in count(first):
                yield from (week + timedelta(days=n * 7 * self.interval + day) for day in ordered)
        else:
            months = self.interval * (12 if self.unit == "year" else 1)
            origin = _month_index(self.start) if self.month is None else self.start.year * 12 + self.month - 1
            first = max(0, (_month_index(near) - origin) // months)
            fertile = (origin + first * months) // 12
            for n in count(first):
                year, month = divmod(origin + n * months, 12)
                if year > min(_LAST_YEAR, fertile + max(_MAX_BARREN_YEARS, self.interval)):
                    return
                day = self._in_month(year, month + 1)
                if day is not None:
                    fertile = year
                    yield day

    def _in_month(self, year: int, month: int) -> date | None:
        length = monthrange(year, month)[1]
        if self.nth is not None:
            return nth_weekday(year, month, nth=self.nth, weekday=self.weekdays[0])
        assert self.day is not None  # noqa: S101 - a month repeats on a day or on an nth weekday
        return date(year, month, length if self.day < 0 else min(self.day, length))

    def _moved(self, day: date) -> date:
        step = {"none": 0, "before": -1, "after": 1}[self.weekend_rule]
        while step and day.weekday() in self.rest:
            day += step * _DAY
        return day


def nth_weekday(year: int, month: int, *, nth: int, weekday: int) -> date | None:
    """The nth such weekday of a month (-1 is the last), or None if the month has no fifth. Raises OverflowError after
    the end of the calendar."""
    if year > MAXYEAR:
        raise OverflowError(year)
    first, length = date(year, month, 1), monthrange(year, month)[1]
    days = range(1 + (weekday - first.weekday()) % 7, length + 1, 7)
    if nth > len(days):
        return None
    return first.replace(day=days[nth - 1] if nth > 0 else days[-1])


def next_occurrence(
    recurrence: Recurrence, *, after: datetime, zone: str, on_step: Callable[[], None] | None = None
) -> datetime | None:
    """The first occurrence later than `after` (aware), with the zone's offset, or None when none is left. `on_step` is
    that of `dates`.

    A clock time in a gap fires once, moved forward; a clock time that comes twice that day fires once, at the first.
    """
    place = zone_of(zone)
    near = max(after.astimezone(place).date(), date(1, 2, 1)) - 9 * _DAY
    try:
        for day in recurrence.dates(near=near, on_step=on_step):
            if day < near:
                # With a number of times, occurrences are counted from the first one.
                continue
            instant, _ = resolve_wall_time(datetime.combine(day, recurrence.at), place)
            if instant > after.astimezone(UTC):
                return local(instant, zone)
    except OverflowError:
        return None
    return None


def next_reminder_after(plain: Any, *, promised: datetime, now: datetime, zone: str | None) -> datetime | None:
    """The occurrence after the `promised` one, or None if none is left; `plain` is the recurrence of a row.

    Occurrences missed until `now` are skipped. Raises KeyError or ValueError for a malformed recurrence or unknown
    zone.
    """
    return next_occurrence(Recurrence.from_json(plain), after=max(promised, now), zone=zone or "UTC")


def _watched(days: Iterator[date], on_step: Callable[[], None] | None) -> Iterator[date]:
    for day in days:
        if on_step is not None:
            on_step()
        yield day


def _is_whole(value: object, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most


def _month_index(day: date) -> int:
    return day.year * 12 + day.month - 1


def shift_zone(
    promise: datetime, *, wall: datetime | None, zone: str, to: str, recurrence: Recurrence | None = None
) -> datetime | None:
    """The instant at which the promised wall time of `zone` falls in `to`, by the grammar's own rules: a time in a gap
    moves forward, and in an overlap the first counts.

    If `to` equals `zone`, only newer rules of that zone can move it. Of a recurrence the promised occurrence moves, and
    `wall` is ignored. Returns None for a zone that this machine does not know, or a promise that is not an occurrence.
    An occurrence that was moved by itself has its own `wall`.
    """
    if canonical(zone) != zone or canonical(to) != to:
        return None
    if recurrence is not None and not _was_moved(recurrence, promise, wall, zone):
        wall = _occurrence(recurrence, promise, zone)
        if wall is None:
            return None
    here = wall_time(promise, zone)
    if zone == to and wall in (None, here):
        return promise
    return local(resolve_wall_time(wall or here, zone_of(to))[0], to)


def _was_moved(recurrence: Recurrence, promise: datetime, wall: datetime | None, zone: str) -> bool:
    """Whether `wall` is the promised time, moved off its occurrence. Otherwise it is that of the first occurrence."""
    if wall is None or abs(resolve_wall_time(wall, zone_of(zone))[0] - promise.astimezone(UTC)) > _MAX_RULE_CHANGE:
        return False
    if wall.time() != recurrence.at:
        return True
    near = recurrence.dates(near=wall.date() - _LOOK_BACK)
    return next((day for day in near if day >= wall.date()), None) != wall.date()


def _occurrence(recurrence: Recurrence, promise: datetime, zone: str) -> datetime | None:
    """The wall time of the occurrence that the promise stands for: the occurrence that newer rules put within an hour,
    or else the last before it, whose hour had passed in this zone when the person moved, so that the instant was
    kept."""
    place, sought = zone_of(zone), promise.astimezone(UTC)
    last: tuple[timedelta, datetime] | None = None
    for day in recurrence.dates(near=sought.date() - _LOOK_BACK):
        wall = datetime.combine(day, recurrence.at)
        since = sought - resolve_wall_time(wall, place)[0]
        if since < -_MAX_RULE_CHANGE:
            break
        if last is None or abs(since) < last[0]:
            last = abs(since), wall
    return None if last is None or last[0] > _MAX_ZONE_DISTANCE else last[1]
