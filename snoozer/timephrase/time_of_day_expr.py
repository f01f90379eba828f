"""Times of the day as people write them: 9am, 17:30, 1730, 9.30, 9 Uhr 30, half past 3, noon, "in the evening"."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import time

from snoozer.timephrase.context import WorkingHours
from snoozer.timephrase.lexer import Tokens
from snoozer.timephrase.result import ParseError
from snoozer.translations import N_, gettext

# The hours between which a bare hour can belong to a part of the day. A night goes on until 6 of the next day.
_PART_HOURS = {"morning": (0, 12), "afternoon": (12, 18), "evening": (16, 24), "night": (18, 30)}
_PART_NAMES = {
    "morning": N_("morning"),
    "afternoon": N_("afternoon"),
    "evening": N_("evening"),
    "night": N_("night"),
}
_NO_HOUR = -1
# Bare hours up to this one mean the afternoon, in every country.
_LAST_AFTERNOON_HOUR = 6
_COLON = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class ClockTime:
    """A time of the day as written, before it is resolved.

    `am_or_pm`: it may be in the morning or in the afternoon (3, 3:30). `named_hour` is one of the person's hours:
    either the time itself, or the part of the day that contains it. A `bare` number is only digits or a number word.
    `shift` is added in minutes. `could_be` are clearer spellings of text that may be a time or a date; `year` is the
    year that it may be.
    """

    hour: int = 0
    minute: int = 0
    second: int = 0
    microsecond: int = 0
    meridiem: str | None = None
    am_or_pm: bool = False
    bare: bool = False
    named_hour: str | None = None
    midnight: bool = False
    shift: int = 0
    could_be: tuple[str, ...] = ()
    year: int | None = None

    def resolve(self, hours: WorkingHours, *, twelve_hour: bool) -> tuple[time, frozenset[str]]:
        """The time meant, and a flag if a half of the day was assumed. Raises ParseError if no clock shows it."""
        if self.could_be:
            raise ParseError(
                "unrecognised",
                gettext("This could be a date or a time of the day; write it with a colon or a month."),
                self.could_be,
            )
        if self.named_hour and self.is_named:
            return hours.named(self.named_hour), frozenset()
        if self.meridiem and not 1 <= self.hour <= 12:
            raise ParseError(
                "invalid_time",
                gettext(
                    "%(hour)s with am or pm is no time; use 1 to 12 with it, or 24 hours without it.", hour=self.hour
                ),
            )
        if self.hour > 23 or self.minute > 59 or self.second > 59:
            raise ParseError(
                "invalid_time",
                gettext(
                    "No clock shows %(time)s; hours go to 23 and minutes to 59.", time=f"{self.hour}:{self.minute:02}"
                ),
            )
        hour, flags = self._hour(twelve_hour=twelve_hour)
        hour, minute = divmod((hour * 60 + self.minute + self.shift) % (24 * 60), 60)
        return time(hour, minute, self.second, self.microsecond), flags

    @property
    def other_half(self) -> "ClockTime | None":
        """The same in the other half of the day. Only for a time relative to an hour, which every country reads on a
        12-hour clock, and only if it names no half."""
        unclear = self.shift and self.am_or_pm and not self.named_hour
        return replace(self, shift=self.shift + 12 * 60) if unclear else None

    @property
    def is_named(self) -> bool:
        """Whether it is one of the person's hours itself, such as morning, rather than a time within it."""
        return self.hour == _NO_HOUR

    @property
    def within_night(self) -> bool:
        """Whether it is an hour of a night, which goes on after midnight."""
        return self.named_hour == "night" and not self.is_named

    def within(self, part: str) -> "ClockTime":
        """The same time, which must lie in that part of the day."""
        if part == "night" and not (self.minute or self.second or self.shift) and self._is_twelve_at_night:
            return ClockTime(midnight=True, named_hour=part)
        return replace(self, named_hour=part, bare=False)

    @property
    def _is_twelve_at_night(self) -> bool:
        return self.hour == 0 or (self.hour == 12 and self.meridiem != "pm" and (self.am_or_pm or bool(self.meridiem)))

    def _hour(self, *, twelve_hour: bool) -> tuple[int, frozenset[str]]:
        hour = self.hour
        if self.meridiem:
            hour = hour % 12 + (12 if self.meridiem == "pm" else 0)
        if self.named_hour:
            return self._hour_in_part(hour, self.named_hour), frozenset()
        hour_alone = self.bare or self.shift
        if self.meridiem or not self.am_or_pm or not (twelve_hour or hour_alone):
            if self.bare and hour == 0 and twelve_hour:
                raise ParseError(
                    "invalid_time", gettext("0 is no hour on a 12-hour clock; write midnight, 12am or 0:00.")
                )
            return hour, frozenset()
        is_afternoon = hour <= _LAST_AFTERNOON_HOUR
        flags = frozenset({"assumed_meridiem"} if twelve_hour or is_afternoon else ())
        return hour + (12 if is_afternoon else 0), flags

    def _hour_in_part(self, hour: int, part: str) -> int:
        start, end = _PART_HOURS[part]
        if part == "night" and hour in (0, 12) and (self.am_or_pm or hour == 0):
            return 0
        for candidate in (hour, hour + 12, hour + 24) if self.am_or_pm else (hour, hour + 24):
            if start <= candidate < end:
                return candidate % 24
        raise ParseError(
            "invalid_time",
            gettext(
                "%(time)s is not in the %(part)s; name one or the other.",
                time=f"{hour}:{self.minute:02}",
                part=gettext(_PART_NAMES[part]),
            ),
        )


def named_time(name: str) -> ClockTime:
    """A person's hour: morning, work_end."""
    return ClockTime(hour=_NO_HOUR, named_hour=name)


def clock_times(tokens: Tokens, at: int, *, after_day: bool = False) -> Iterator[tuple[ClockTime, int]]:
    """Every time of the day that starts here, with or without the part of the day it lies in."""
    for start in tokens.optional(at, "the"):
        for role in ("part", "part_of_day") if after_day else ("part",):
            for part, end in tokens.match(start, role):
                yield from _part_first(tokens, part, end)
    for clock, end in _whole_times(tokens, at) if _is_clock(tokens, at) else ():
        if not clock.midnight:
            yield from _in_part(tokens, clock, end)
        yield clock, end
    if tokens.says(at) in ("clock", "end"):
        yield from marked_hours(tokens, at)
    for period, end in tokens.match(at, "end_of"):
        if period == "day":
            yield named_time("work_end"), end
    for role in ("named_hour", "named_hour_of_day") if after_day else ("named_hour",):
        for name, end in tokens.match(at, role):
            yield named_time(name), end


def _part_first(tokens: Tokens, part: str, end: int) -> Iterator[tuple[ClockTime, int]]:
    for prep in tokens.optional(end, "prep"):
        for clock, after in _whole_times(tokens, prep) if _is_clock(tokens, prep) else ():
            if not clock.midnight:
                yield clock.within(part), after
    yield named_time(part), end


def _in_part(tokens: Tokens, clock: ClockTime, end: int) -> Iterator[tuple[ClockTime, int]]:
    for prep in tokens.optional(end, "prep"):
        for the in tokens.optional(prep, "the"):
            for part, after in tokens.match(the, "part"):
                yield clock.within(part), after


def _is_clock(tokens: Tokens, at: int) -> bool:
    """Whether the word before a number allows a time of the day: at 5, but not in 5, on 5 or in 5pm."""
    is_number = tokens.shape(at) in ("integer", "decimal", "dotted", "clock") or any(tokens.numbers(at, "number"))
    return not is_number or tokens.says(at) in ("", "clock", "end")


def _whole_times(tokens: Tokens, at: int) -> Iterator[tuple[ClockTime, int]]:
    for _, end in tokens.match(at, "noon"):
        yield ClockTime(hour=12), end
    for _, end in tokens.match(at, "midnight"):
        yield ClockTime(midnight=True), end
    for clock, end in _figures(tokens, at):
        yield from _with_half_of_day(tokens, clock, end)
    yield from _relative_to_hour(tokens, at)


def _with_half_of_day(tokens: Tokens, clock: ClockTime, end: int) -> Iterator[tuple[ClockTime, int]]:
    for oclock in tokens.optional(end, "oclock"):
        marked = replace(clock, bare=False, could_be=(), year=None) if oclock > end else clock
        for meridiem, after in tokens.match(oclock, "meridiem"):
            at_hour = replace(marked, meridiem=meridiem, am_or_pm=False, bare=False, could_be=(), year=None)
            yield at_hour, after
        if oclock > end and clock.bare:
            yield from _with_minutes(tokens, marked, oclock)
        if is_military(tokens, end - 1):
            for _, after in tokens.match(end, "military_hours"):
                yield replace(clock, year=None), after
        yield marked, oclock


def marked_hours(tokens: Tokens, at: int) -> Iterator[tuple[ClockTime, int]]:
    """18h, 9 h 30, 8.30 h. Only after a day or a word such as "at": alone it is a duration."""
    if tokens.says(at) in ("length", "day", "name") or tokens.shape(at) not in ("integer", "dotted", "clock"):
        return
    for clock, end in _figures(tokens, at):
        for _, after in tokens.match(end, "hour_mark") if clock.bare or tokens.shape(at) != "integer" else ():
            marked = replace(clock, bare=False, could_be=())
            if clock.bare:
                yield from _with_minutes(tokens, marked, after)
            yield marked, after


def is_military(tokens: Tokens, at: int) -> bool:
    """Whether the number is a time of the day if "hours" follows: at 1800 hours. After "in" it is a length."""
    return tokens.shape(at) == "integer" and len(tokens.text(at)) == 4 and tokens.says(at) in ("", "clock", "end")


def _with_minutes(tokens: Tokens, clock: ClockTime, at: int) -> Iterator[tuple[ClockTime, int]]:
    if tokens.shape(at) == "integer" and len(tokens.text(at)) == 2:
        yield replace(clock, minute=int(tokens.text(at))), at + 1


def _figures(tokens: Tokens, at: int) -> Iterator[tuple[ClockTime, int]]:
    shape, text = tokens.shape(at), tokens.text(at)
    if shape == "clock" and (match := _COLON.fullmatch(text)):
        hour, minute, second, fraction = match.groups()
        clock = ClockTime(hour=int(hour), minute=int(minute), second=int(second or 0), am_or_pm=_am_or_pm(hour))
        yield replace(clock, microsecond=int((fraction or "0").ljust(6, "0")[:6])), at + 1
    elif shape == "dotted":
        hour, minute = text.split(".")
        is_date = 1 <= int(hour) <= 31 and 1 <= int(minute) <= 12
        could_be = (f"{hour}:{minute}", f"{int(hour)}.{int(minute)}.") if is_date else ()
        clock = ClockTime(hour=int(hour), minute=int(minute), am_or_pm=_am_or_pm(hour), could_be=could_be)
        yield clock, at + 1
    elif shape == "integer" and len(text) in (3, 4):
        am_or_pm = len(text) == 3 and _am_or_pm(text[0])
        year = int(text) if len(text) == 4 and tokens.says(at) != "clock" else None
        yield ClockTime(hour=int(text[:-2]), minute=int(text[-2:]), am_or_pm=am_or_pm, year=year), at + 1
    elif shape == "integer" and (int(text) <= 24 or _stands_for_an_hour(tokens, at)):
        yield ClockTime(hour=int(text), am_or_pm=_am_or_pm(text), bare=True), at + 1
    for number, end in tokens.numbers(at, "number"):
        if number <= 12:
            yield ClockTime(hour=number, am_or_pm=True, bare=True), end


def _stands_for_an_hour(tokens: Tokens, at: int) -> bool:
    """Two digits in the place of an hour; alone they could be anything."""
    return len(tokens.text(at)) == 2 and (at > 0 or any(True for _ in tokens.match(at + 1, "oclock")))


def _relative_to_hour(tokens: Tokens, at: int) -> Iterator[tuple[ClockTime, int]]:
    """half past 3, ten to 9, halb 9, Viertel nach 8."""
    for shift, middle in _minutes_from_hour(tokens, at):
        for clock, end in _figures(tokens, middle):
            if clock.bare and 1 <= clock.hour <= 12:
                moved = replace(clock, shift=shift, bare=False)
                for meridiem, after in tokens.match(end, "meridiem"):
                    yield replace(moved, meridiem=meridiem, am_or_pm=False), after
                for oclock in tokens.optional(end, "oclock"):
                    yield moved, oclock


def _minutes_from_hour(tokens: Tokens, at: int) -> Iterator[tuple[int, int]]:
    yield from tokens.numbers(at, "minutes_off")
    for clock, end in _figures(tokens, at):
        if clock.bare and 1 <= clock.hour <= 29:
            for sign, after in tokens.numbers(end, "off"):
                if not _is_range(tokens, at, clock.hour, end):
                    yield sign * clock.hour, after


def _is_range(tokens: Tokens, at: int, number: int, end: int) -> bool:
    """Whether "to" may join two hours, as in 9 to 5. After "at", and in words, 10 to 4 is ten minutes before 4."""
    if not any(True for _ in tokens.match(end, "to")):
        return False
    return number % 5 != 0 or (number <= 12 and tokens.shape(at) == "integer" and tokens.says(at) != "clock")


def _am_or_pm(hour: str) -> bool:
    """Whether it may be am or pm; a leading zero, zero or more than twelve is on the 24-hour clock."""
    return not hour.startswith("0") and 1 <= int(hour) <= 12
