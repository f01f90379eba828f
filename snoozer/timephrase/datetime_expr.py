"""A day, a time of the day and a zone, in any usual order: tomorrow 8am, 3pm on friday, 9am Europe/London."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta

from snoozer.timephrase.calendar_expr import WeekdayStep, periods, weekday_steps, weekdays
from snoozer.timephrase.context import ParseContext
from snoozer.timephrase.date_expr import DayExpr, DayResolver, ResolvedDay, dates
from snoozer.timephrase.duration_expr import Duration, durations
from snoozer.timephrase.lexer import Tokens
from snoozer.timephrase.result import ParseError
from snoozer.timephrase.time_of_day_expr import ClockTime, clock_times, marked_hours, named_time
from snoozer.timephrase.zones import ABBREVIATIONS, named_in_a_phrase
from snoozer.translations import gettext

_ONE_DAY = timedelta(days=1)
_RECENT_DAYS = timedelta(days=7)
_MAX_ATTEMPTS = 4
# An evening that has begun still means its later hour, so long before that.
_EVENING_LEFT = timedelta(minutes=30)
_MAX_OFFSET_MINUTES = 14 * 60
# After these words a length of time is a contradiction: at 5 minutes, on 3 days.
LENGTHLESS = frozenset({"clock", "end", "day"})
_DAWN = 6


def days(tokens: Tokens, at: int) -> Iterator[tuple[DayExpr, int]]:
    """Yield every day that starts at this position."""
    yield from _counted(tokens, at)
    yield from _next_to(tokens, at)
    for day, end in _plain(tokens, at):
        yield from _hence(tokens, day, end)
        yield day, end
    for duration, end in durations(tokens, at) if tokens.says(at) not in LENGTHLESS else ():
        if duration.whole_days:
            yield DayExpr(resolve=_from_today(duration), allows_bare_hour=False, needs_time=True), end


def _next_to(tokens: Tokens, at: int) -> Iterator[tuple[DayExpr, int]]:
    """friday before the 15th, the second monday after easter, the day before christmas."""
    for step, sign, start in weekday_steps(tokens, at):
        # A period stands for its first day, so "friday after next week" would lie within that week.
        bases = _plain(tokens, start) if sign < 0 else _single_days(tokens, start)
        for day, end in bases:
            yield replace(_shifted(day, step, sign), default_hour="morning"), end
    for start in tokens.optional(at, "the"):
        for unit, middle in tokens.match(start, "unit"):
            for sign, after in tokens.numbers(middle, "from") if unit == "day" else ():
                for day, end in dates(tokens, after):
                    yield _shifted(day, Duration(days=1), sign), end


def _plain(tokens: Tokens, at: int) -> Iterator[tuple[DayExpr, int]]:
    yield from _single_days(tokens, at)
    yield from periods(tokens, at)


def _single_days(tokens: Tokens, at: int) -> Iterator[tuple[DayExpr, int]]:
    for number, end in tokens.numbers(at, "day"):
        yield DayExpr(resolve=_from_today(Duration(days=number))), end
    for _, end in tokens.match(at, "back"):
        yield DayExpr(resolve=_day_back, relative=False), end
    yield from dates(tokens, at)
    yield from weekdays(tokens, at)


def _from_today(duration: Duration) -> DayResolver:
    return lambda context, at, has_time: duration.add_to(context.today, context.hours.workdays)


def _day_back(context: ParseContext, at: time, has_time: bool) -> ResolvedDay:
    """The day on which the person's vacation ends. Raises ParseError if no vacation is set, or if it has ended."""
    back = context.own().back
    if back is None or not context.ahead(back.date(), back.time()):
        raise ParseError(
            "no_vacation",
            gettext(
                "No vacation is set, so the day you are back is not known; "
                "set it in the settings under Your day, or name a day."
            ),
        )
    return ResolvedDay(day=back.date(), earliest=back.time())


def _counted(tokens: Tokens, at: int) -> Iterator[tuple[DayExpr, int]]:
    """a week from friday, 2 days after tomorrow, 3 days before mar 20."""
    for duration, middle in durations(tokens, at):
        # "9 day after tomorrow" is 9 o'clock on the day after tomorrow.
        of_a_day = duration.days != 1 and any(end > middle for _, end in tokens.numbers(at + 1, "day"))
        if duration.whole_days and not of_a_day:
            for sign, start in tokens.numbers(middle, "from"):
                for day, end in _plain(tokens, start):
                    yield _shifted(day, duration, sign), end


def _hence(tokens: Tokens, day: DayExpr, end: int) -> Iterator[tuple[DayExpr, int]]:
    """German counts from the day forwards: Montag in zwei Wochen."""
    for _, start in tokens.match(end, "hence"):
        for duration, after in durations(tokens, start):
            if duration.units == {"week"}:
                yield _shifted(day, duration, 1), after


def _shifted(day: DayExpr, step: Duration | WeekdayStep, sign: int) -> DayExpr:
    def resolve(context: ParseContext, at: time, has_time: bool) -> ResolvedDay:
        cyclic = day.cycle != "never"
        base = _counted_from(day, step, sign, context, at) if cyclic else day.resolve(context, at, False)
        if isinstance(step, WeekdayStep) and day.cycle == "each month" and base.day < context.today:
            # "friday after the 1st" on the 5th: after the 1st of this month, or of the next.
            base = replace(base, other=day.resolve(context, at, False).day)
        moved = step.add_to(base.day, context.hours.workdays, sign=sign)
        other = step.add_to(base.other, context.hours.workdays, sign=sign).day if base.other else None
        return ResolvedDay(day=moved.day, flags=base.flags | moved.flags, other=other)

    return DayExpr(resolve=resolve, default_hour=day.default_hour, allows_bare_hour=False, relative=day.relative)


def _counted_from(
    day: DayExpr, step: Duration | WeekdayStep, sign: int, context: ParseContext, at: time
) -> ResolvedDay:
    """The nearest such day from which the counted day lies ahead. The day itself may have passed, earlier in this month
    or year or within the last days."""
    workdays = context.hours.workdays
    began = context.today.replace(day=1) if day.cycle == "each month" else context.today.replace(month=1, day=1)
    seen = min(began, context.today - _RECENT_DAYS)
    for _ in range(_MAX_ATTEMPTS):
        start_of_day = replace(context, today=seen, now=context.instant(seen, time())[0])
        chosen = day.resolve(start_of_day, at, False)
        if context.ahead(step.add_to(chosen.day, workdays, sign=sign).day, at):
            break
        seen = chosen.day + _ONE_DAY
    again = chosen.day.year > context.today.year
    return replace(chosen, flags=chosen.flags if again else chosen.flags - {"next_year"})


def today() -> DayExpr:
    """Today in the person's zone."""
    return DayExpr(resolve=lambda context, at, has_time: ResolvedDay(day=context.today))


@dataclass(frozen=True, kw_only=True)
class ZoneExpr:
    """The zone a phrase names: a place or a fixed offset such as +02:00, or an abbreviation, which is an error."""

    name: str = ""
    abbreviation: str = ""


@dataclass(frozen=True, kw_only=True)
class ResolvedTime:
    """An instant (UTC) with its flags, the zone that it was resolved in and the wall time wanted there."""

    at: datetime
    flags: frozenset[str]
    zone: str
    wall: datetime
    alternative: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class DateTimeExpr:
    day: DayExpr | None
    clock: ClockTime | None
    zone: ZoneExpr | None = None

    def resolve(self, person: ParseContext) -> ResolvedTime:
        """The instant meant, and as its alternative another day or else another half of the day. Raises ParseError if
        the day or the time does not exist."""
        resolved = self._without_other_half(person)
        other_half = self.clock and self.clock.other_half
        if other_half and not resolved.alternative:
            with suppress(ParseError):
                other = replace(self, clock=other_half)._without_other_half(person)
                return replace(resolved, alternative=other.at)
        return resolved

    def _without_other_half(self, person: ParseContext) -> ResolvedTime:
        zone = self.zone or ZoneExpr(name=person.zone)
        if zone.abbreviation:
            raise abbreviation_error(zone.abbreviation)
        if zone.name == person.zone:
            return self._in_zone(person)
        there = replace(person, zone=zone.name)
        theirs = replace(there, today=there.wall.date())
        if self.day is None or not self.day.relative or theirs.today == person.today:
            return self._in_zone(theirs)
        return self._by_both_calendars(there, theirs)

    def _by_both_calendars(self, there: ParseContext, theirs: ParseContext) -> ResolvedTime:
        """ "tomorrow" by the person's calendar, although the named zone is already (or still) on another date. If one
        calendar does not have the day, the other decides."""
        try:
            resolved = self._in_zone(there)
        except ParseError:
            return self._in_zone(theirs)
        try:
            other = self._in_zone(theirs)
        except ParseError:
            return resolved
        if resolved.at <= there.now:
            return other
        return resolved if resolved.alternative else replace(resolved, alternative=other.at)

    def _in_zone(self, context: ParseContext) -> ResolvedTime:
        day, clock = self.day, self.clock
        if clock is not None and clock.midnight:
            day, clock = self._midnight(context)
        at, flags = self._time(context, day, clock)
        if clock is not None and clock.year and (day is None or day.cycle != "never"):
            _check_year(clock, context)
        if day is None:
            coming = context.today if context.ahead(context.today, at) else context.today + _ONE_DAY
            return _resolved(context, coming, at, flags)
        chosen = day.resolve(context, at, clock is not None)
        if clock is None and chosen.earliest is not None:
            at = max(at, chosen.earliest)
        if clock is not None and clock.within_night and at.hour < _DAWN:
            return _after_midnight(context, chosen, at, flags)
        if clock is not None and clock.is_named and clock.named_hour == "evening":
            at = _rest_of_evening(context, chosen.day, at)
        resolved = _resolved(context, chosen.day, at, flags | chosen.flags)
        if chosen.other is None:
            return resolved
        return replace(resolved, alternative=context.instant(chosen.other, at)[0])

    def _time(self, context: ParseContext, day: DayExpr | None, clock: ClockTime | None) -> tuple[time, frozenset[str]]:
        if clock is None:
            return context.hours.named(day.default_hour if day else "morning"), frozenset()
        if day is not None and day.is_iso:
            as_written = clock if clock.named_hour else replace(clock, am_or_pm=False)
            return as_written.resolve(context.hours, twelve_hour=False)
        return clock.resolve(context.hours, twelve_hour=context.twelve_hour)

    def _midnight(self, context: ParseContext) -> tuple[DayExpr | None, ClockTime]:
        """The coming midnight. With a named day other than today it is unclear which end of the day is meant."""
        if self.day is not None:
            named = self.day.resolve(context, time(23, 59), True).day
            if named != context.today:
                raise ParseError(
                    "unrecognised",
                    gettext("A day begins and ends with a midnight: choose one of these."),
                    tuple(context.phrase(day, time()) for day in (named, named + _ONE_DAY)),
                )
        return None, ClockTime()


def _check_year(clock: ClockTime, context: ParseContext) -> None:
    """Raise ParseError for four digits that may be a year of the coming ones: 2027."""
    year = clock.year or 0
    if context.today.year <= year <= context.today.year + 10:
        first_day = date(year + (year == context.today.year), 1, 1)
        raise ParseError(
            "unrecognised",
            gettext("This could be a year or a time of the day; write it with a colon or as a date."),
            (context.phrase(first_day), context.dates.hour(time(clock.hour, clock.minute))),
        )


def _after_midnight(context: ParseContext, chosen: ResolvedDay, at: time, flags: frozenset[str]) -> ResolvedTime:
    """The hour after midnight of the night that begins on that day. Before dawn, today's night is the present one. For
    any other day the hour could also be on the day itself, which becomes the alternative."""
    present = chosen.day == context.today and context.wall.hour < _DAWN and context.ahead(chosen.day, at)
    night = _resolved(context, chosen.day if present else chosen.day + _ONE_DAY, at, flags | chosen.flags)
    if chosen.day == context.today:
        return night
    return replace(night, alternative=context.instant(chosen.day, at)[0])


def abbreviation_error(abbreviation: str) -> ParseError:
    place, offset = ABBREVIATIONS[abbreviation]
    return ParseError(
        "tz_abbreviation",
        gettext(
            "%(abbreviation)s is not one clear zone; name a place such as %(place)s, or an offset such as %(offset)s.",
            abbreviation=abbreviation.upper(),
            place=place,
            offset=offset,
        ),
    )


def datetimes(tokens: Tokens, at: int) -> Iterator[tuple[DateTimeExpr, int]]:
    """Yield every date and time that starts at this position."""
    for found, end in _without_zone(tokens, at):
        clock, is_iso = found.clock, found.day is not None and found.day.is_iso
        for zone, after in zone_exprs(tokens, end):
            # To most people 9:00-10:00 is a range of time; only after an ISO date is it an offset.
            glued = tokens.text(end) == "-" and tokens.touching(end - 1) and not is_iso
            if tokens.shape(end) != "sign" or (clock is not None and not clock.bare and not glued):
                yield replace(found, zone=zone), after
        yield found, end


def _without_zone(tokens: Tokens, at: int) -> Iterator[tuple[DateTimeExpr, int]]:
    for day, end in days(tokens, at):
        for clock, after in _clock_after(tokens, day, end):
            yield DateTimeExpr(day=day, clock=clock), after
        if not day.needs_time:
            yield DateTimeExpr(day=day, clock=None), end
    yield from _part_of_today(tokens, at)
    yield from _named_hour_first(tokens, at)
    for clock, end in clock_times(tokens, at):
        for prep in tokens.optional(end, "prep"):
            for day, after in days(tokens, prep):
                if prep > end or day.allows_bare_hour or not clock.bare:
                    yield DateTimeExpr(day=day, clock=clock), after
            for today_at, after in () if clock.is_named else _part_of_today(tokens, prep):
                part = today_at.clock.named_hour if today_at.clock and today_at.clock.is_named else None
                if part and not _is_open_tonight(clock, part):
                    within = clock if clock.midnight else clock.within(part)
                    yield DateTimeExpr(day=today(), clock=within), after
        yield DateTimeExpr(day=None, clock=clock), end


def _clock_after(tokens: Tokens, day: DayExpr, end: int) -> Iterator[tuple[ClockTime, int]]:
    for prep in tokens.optional(end, "prep"):
        for clock, after in clock_times(tokens, prep, after_day=True):
            if prep > end or not clock.bare or (day.allows_bare_hour and clock.hour <= 12):
                yield replace(clock, could_be=()), after
        for clock, after in marked_hours(tokens, prep):
            # "3 working days 18h" and "today 2h" could count hours; "at 2h", "18h" or a date before it leaves no doubt.
            if prep > end or not (day.needs_time or (day.relative and clock.am_or_pm)):
                yield clock, after


def _named_hour_first(tokens: Tokens, at: int) -> Iterator[tuple[DateTimeExpr, int]]:
    """first thing monday, first thing tomorrow morning."""
    for name, middle in tokens.match(at, "named_hour_of_day"):
        for prep in tokens.optional(middle, "prep"):
            for day, end in days(tokens, prep):
                named = DateTimeExpr(day=day, clock=named_time(name))
                yield from ((named, after) for part, after in tokens.match(end, "part") if part == name)
                yield named, end


def _part_of_today(tokens: Tokens, at: int) -> Iterator[tuple[DateTimeExpr, int]]:
    """this evening, tonight, tonight at 9."""
    parts = [("night", end) for _, end in tokens.match(at, "tonight")]
    for _, middle in tokens.match(at, "this"):
        parts.extend((*tokens.match(middle, "part"), *tokens.match(middle, "part_of_day")))
    for part, end in parts:
        for prep in tokens.optional(end, "prep"):
            for clock, after in clock_times(tokens, prep):
                if clock.midnight:
                    yield DateTimeExpr(day=today(), clock=clock), after
                elif clock.named_hour is None and not _is_open_tonight(clock, part):
                    yield DateTimeExpr(day=today(), clock=clock.within(part)), after
        yield DateTimeExpr(day=today(), clock=named_time(part)), end


def _is_open_tonight(clock: ClockTime, part: str) -> bool:
    """5 tonight is in the afternoon to some and before dawn to others."""
    return part == "night" and clock.am_or_pm and clock.hour == _DAWN - 1


def zone_exprs(tokens: Tokens, at: int) -> Iterator[tuple[ZoneExpr, int]]:
    """A zone's name, UTC with or without an offset, an offset by itself, or an abbreviation."""
    text = tokens.text(at)
    if tokens.shape(at) == "sign":
        yield from _offset(tokens, at, bare=True)
        return
    if tokens.shape(at) not in ("word", "zone"):
        return
    if text in ("utc", "gmt"):
        yield from _offset(tokens, at + 1, bare=False)
    name = named_in_a_phrase(text)
    if name:
        yield ZoneExpr(name=name), at + 1
    if text in ABBREVIATIONS:
        yield ZoneExpr(abbreviation=text), at + 1


def _offset(tokens: Tokens, at: int, *, bare: bool) -> Iterator[tuple[ZoneExpr, int]]:
    """+05:30, -0500, and after UTC also +2."""
    if tokens.shape(at) != "sign" or not tokens.touching(at):
        return
    shape, text = tokens.shape(at + 1), tokens.text(at + 1)
    digits = text.replace(":", "")
    if shape not in ("clock", "integer") or len(digits) not in ((2, 4) if bare else (1, 2, 3, 4)):
        return
    hours, minutes = (int(digits[:-2]), int(digits[-2:])) if len(digits) > 2 else (int(digits), 0)
    if minutes % 15 == 0 and minutes < 60 and hours * 60 + minutes <= _MAX_OFFSET_MINUTES:
        yield ZoneExpr(name=f"{tokens.text(at)}{hours:02}:{minutes:02}"), at + 2


def _rest_of_evening(context: ParseContext, day: date, at: time) -> time:
    """The hour of an evening that has begun: the night's, unless that is too near."""
    night = context.hours.night
    begun = not context.ahead(day, at) and context.instant(day, night)[0] - context.now >= _EVENING_LEFT
    return night if begun else at


def _resolved(context: ParseContext, day: date, at: time, flags: frozenset[str]) -> ResolvedTime:
    instant, changed = context.instant(day, at)
    return ResolvedTime(at=instant, flags=flags | changed, zone=context.zone, wall=datetime.combine(day, at))
