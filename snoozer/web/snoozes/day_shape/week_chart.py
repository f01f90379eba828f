"""The next days of a person as a picture: when they work, and when nothing comes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from snoozer.snoozes import day_shapes
from snoozer.timephrase.day_shape import Days, DayShape
from snoozer.timephrase.zones import zone_or_utc
from snoozer.translations import gettext as _
from snoozer.web.text.time_format import TimeFormatter

DAYS_SHOWN = 7
MINUTES = 24 * 60


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A part of a day, in minutes from its midnight."""

    start: int
    length: int


@dataclass(frozen=True, kw_only=True)
class DayPicture:
    """One day: its name, its bars, and the same in words."""

    name: str
    work: Bar | None
    rests: Sequence[Bar]
    words: str


def next_days(shape: DayShape, times: TimeFormatter) -> list[DayPicture]:
    """Returns today and the days after it."""
    days, today = day_shapes.days_of(shape, times.zone), times.local(times.now).date()
    return [_picture(days, today + number * timedelta(days=1), times) for number in range(DAYS_SHOWN)]


def _picture(days: Days, day: date, times: TimeFormatter) -> DayPicture:
    shape = days.shape
    rests = list(_rests(days, day, times))
    work = None
    words = _("day off")
    if not shape.is_off(day):
        work = _bar(shape.work_from, shape.work_until)
        start, end = times.dates.hour(shape.work_from), times.dates.hour(shape.work_until)
        words = _("work %(start)s to %(end)s", start=start, end=end)
    if rests:
        words = _("%(day)s, nothing comes %(spans)s", day=words, spans=_spans(rests, times))
    noon = datetime.combine(day, time(12), tzinfo=zone_or_utc(times.zone))
    return DayPicture(name=times.day(noon), work=work, rests=rests, words=words)


def _spans(rests: Sequence[Bar], times: TimeFormatter) -> str:
    *others, last = (
        _("%(start)s to %(end)s", start=_minute(bar.start, times), end=_minute(bar.start + bar.length, times))
        for bar in rests
    )
    return _("%(names)s and %(last)s", names=", ".join(others), last=last) if others else last


def _rests(days: Days, day: date, times: TimeFormatter) -> Iterator[Bar]:
    """By the clock on the wall, so that a day is 24 hours long also where clocks change."""
    zone = zone_or_utc(times.zone)
    at = datetime.combine(day, time(0), tzinfo=zone)
    midnight = datetime.combine(day + timedelta(days=1), time(0), tzinfo=zone)
    while (rest := days.next_rest(at)) is not None and rest.starts < midnight:
        start = 0 if rest.starts <= at else _minutes(times.local(rest.starts))
        end = MINUTES if rest.ends >= midnight else _minutes(times.local(rest.ends))
        if end > start:
            yield Bar(start=start, length=end - start)
        at = rest.ends
        if at >= midnight:
            return


def _bar(start: time, end: time) -> Bar:
    return Bar(start=_minutes(start), length=_minutes(end) - _minutes(start))


def _minutes(at: datetime | time) -> int:
    return at.hour * 60 + at.minute


def _minute(minutes: int, times: TimeFormatter) -> str:
    return _("midnight") if minutes in {0, MINUTES} else times.dates.hour(time(minutes // 60, minutes % 60))
