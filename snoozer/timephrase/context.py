"""The context in which a phrase is resolved: the moment, the zone, the person's hours and their country's customs."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from snoozer.timephrase.date_format import DateFormat
from snoozer.timephrase.day_shape import DayShape
from snoozer.timephrase.zones import local, resolve_wall_time, wall_time, zone_of

# Returns the shape of the person's days: when the vacation ends, and when someday is reviewed. Only a phrase that needs
# it calls it, so it may ask the database.
OwnDays = Callable[[], DayShape]


def usual_days() -> DayShape:
    """The `OwnDays` of a person who has chosen none."""
    return DayShape()


@dataclass(frozen=True, kw_only=True)
class WorkingHours:
    """A person's hours of the day and of work. Weekdays count from Monday = 0. There is at least one working day."""

    morning: time = time(8)
    afternoon: time = time(13)
    evening: time = time(18)
    night: time = time(20)
    work_start: time = time(9)
    work_end: time = time(17)
    workdays: tuple[int, ...] = (0, 1, 2, 3, 4)
    week_start: int = 0

    def __post_init__(self) -> None:
        if not set(self.workdays) & set(range(7)):
            raise ValueError("a person has at least one working day")

    def named(self, name: str) -> time:
        """The hour with this name: morning, afternoon, evening, night, work_start or work_end."""
        value = getattr(self, name)
        assert isinstance(value, time)  # noqa: S101 - names come from the word lists, never from what was typed
        return value

    @property
    def weekend(self) -> int:
        """The weekday on which the weekend begins: the first free day after a working day."""
        return next((day for day in range(6, -1, -1) if day not in self.workdays and (day - 1) % 7 in self.workdays), 5)


@dataclass(frozen=True, kw_only=True)
class ParseContext:
    """`now` is an instant (UTC); `today` is the date that relative days count from, usually today's in `zone`."""

    now: datetime
    zone: str
    today: date
    hours: WorkingHours
    dates: DateFormat
    own: OwnDays = usual_days

    @property
    def month_first(self) -> bool:
        return self.dates.region.month_first

    @property
    def twelve_hour(self) -> bool:
        return self.dates.region.twelve_hour

    @property
    def wall(self) -> datetime:
        """The naive present time in the zone."""
        return wall_time(self.now, self.zone)

    def instant(self, day: date, at: time) -> tuple[datetime, frozenset[str]]:
        """The instant (UTC) of that wall time in the zone, and the flags of a clock change."""
        return resolve_wall_time(datetime.combine(day, at), zone_of(self.zone))

    def ahead(self, day: date, at: time) -> bool:
        return self.instant(day, at)[0] > self.now

    def local(self, instant: datetime) -> datetime:
        return local(instant, self.zone)

    def phrase(self, day: date, at: time | None = None) -> str:
        """A phrase for that day, in the format of the person's country."""
        written = self.dates.day_from(day, today=self.today, weekday=False)
        return written if at is None else f"{written} {self.dates.hour(at)}"

    def week_of(self, day: date) -> date:
        """The first day of the calendar week around `day`."""
        return day - timedelta(days=(day.weekday() - self.hours.week_start) % 7)

    def coming(self, weekday: int, *, after: date) -> date:
        """The first such weekday after a date."""
        return after + timedelta(days=(weekday - after.weekday() - 1) % 7 + 1)
