"""A day, a time of the day and a zone, in any usual order: tomorrow 8am, 3pm on friday, 9am Europe/London."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta

from snoozer.timephrase.context import ParseContext
from snoozer.timephrase.day import Day
from snoozer.timephrase.day_expr import days, today
from snoozer.timephrase.lexer import Tokens
from snoozer.timephrase.result import ParseError
from snoozer.timephrase.time_of_day import Clock, clocks
from snoozer.timephrase.zones import ABBREVIATIONS, named_in_a_phrase

_ONE_DAY = timedelta(days=1)
_FURTHEST_OFFSET = 14 * 60


@dataclass(frozen=True, kw_only=True)
class Zone:
    """The zone a phrase names: a place or a fixed offset such as +02:00, or an abbreviation that will be refused."""

    name: str = ""
    abbreviation: str = ""


@dataclass(frozen=True, kw_only=True)
class Settled:
    """An instant (UTC) with what is to be said about it, the zone it was read in and the clock time asked for there."""

    at: datetime
    flags: frozenset[str]
    zone: str
    wall: datetime
    alternative: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Moment:
    day: Day | None
    clock: Clock | None
    zone: Zone | None = None

    def settle(self, person: ParseContext) -> Settled:
        """The instant meant. Refused when the day or the time cannot be."""
        zone = self.zone or Zone(name=person.zone)
        if zone.abbreviation:
            raise abbreviation_refused(zone.abbreviation)
        if zone.name == person.zone:
            return self._in_zone(person)
        there = replace(person, zone=zone.name)
        theirs = replace(there, today=there.wall.date())
        if self.day is None or not self.day.relative or theirs.today == person.today:
            return self._in_zone(theirs)
        return self._by_both_calendars(there, theirs)

    def _by_both_calendars(self, there: ParseContext, theirs: ParseContext) -> Settled:
        """ "tomorrow" by the person's calendar, although the named zone is already (or still) on another date. A day
        that one of the calendars does not have leaves the other."""
        try:
            settled = self._in_zone(there)
        except ParseError:
            return self._in_zone(theirs)
        try:
            other = self._in_zone(theirs)
        except ParseError:
            return settled
        if settled.at <= there.now:
            return other
        return settled if settled.alternative else replace(settled, alternative=other.at)

    def _in_zone(self, vantage: ParseContext) -> Settled:
        day, clock = self.day, self.clock
        if clock is not None and clock.midnight:
            day, clock = self._midnight(vantage)
        at, flags = self._time(vantage, day, clock)
        if day is None:
            coming = vantage.today if vantage.ahead(vantage.today, at) else vantage.today + _ONE_DAY
            return _settled(vantage, coming, at, flags)
        chosen = day.choose(vantage, at, clock is not None)
        settled = _settled(vantage, chosen.day, at, flags | chosen.flags)
        if chosen.other is None:
            return settled
        return replace(settled, alternative=vantage.instant(chosen.other, at)[0])

    def _time(self, vantage: ParseContext, day: Day | None, clock: Clock | None) -> tuple[time, frozenset[str]]:
        if clock is None:
            return vantage.habits.hour_of(day.usual if day else "morning"), frozenset()
        twelve_hour = vantage.twelve_hour and not (day is not None and day.exact)
        return clock.settle(vantage.habits, twelve_hour=twelve_hour)

    def _midnight(self, vantage: ParseContext) -> tuple[Day | None, Clock]:
        """The coming midnight. With a named day other than today it is unclear which end of the day is meant."""
        if self.day is not None:
            named = self.day.choose(vantage, time(23, 59), True).day
            if named != vantage.today:
                before, after = named.isoformat(), (named + _ONE_DAY).isoformat()
                raise ParseError(
                    "unrecognised",
                    "A day has a midnight at either end; give the date and 00:00.",
                    (f"{before} 00:00", f"{after} 00:00"),
                )
        return None, Clock()


def abbreviation_refused(abbreviation: str) -> ParseError:
    place, offset = ABBREVIATIONS[abbreviation]
    return ParseError(
        "tz_abbreviation",
        f"{abbreviation.upper()} is not one clear zone; name a place such as {place}, or an offset such as {offset}.",
    )


def moments(tokens: Tokens, at: int) -> Iterator[tuple[Moment, int]]:
    """Every moment that starts here."""
    for moment, end in _without_zone(tokens, at):
        clock, exact = moment.clock, moment.day is not None and moment.day.exact
        for zone, after in zones(tokens, end):
            # 9:00-10:00 is a span of time to most people; only after an ISO date is it an offset.
            glued = tokens.text(end) == "-" and tokens.touching(end - 1) and not exact
            if tokens.shape(end) != "sign" or (clock is not None and not clock.lone and not glued):
                yield replace(moment, zone=zone), after
        yield moment, end


def _without_zone(tokens: Tokens, at: int) -> Iterator[tuple[Moment, int]]:
    for day, end in days(tokens, at):
        for clock, after in _clock_after(tokens, day, end):
            yield Moment(day=day, clock=clock), after
        if not day.needs_clock:
            yield Moment(day=day, clock=None), end
    yield from _part_of_today(tokens, at)
    for clock, end in clocks(tokens, at):
        for prep in tokens.maybe(end, "prep"):
            for day, after in days(tokens, prep):
                if prep > end or day.takes_bare or not clock.lone:
                    yield Moment(day=day, clock=clock), after
            for moment, after in _part_of_today(tokens, prep):
                if moment.clock is not None and moment.clock.hour == -1 and moment.clock.habit:
                    within = clock if clock.midnight else clock.within(moment.clock.habit)
                    yield Moment(day=today(), clock=within), after
        yield Moment(day=None, clock=clock), end


def _clock_after(tokens: Tokens, day: Day, end: int) -> Iterator[tuple[Clock, int]]:
    for prep in tokens.maybe(end, "prep"):
        for clock, after in clocks(tokens, prep, after_day=True):
            if prep > end or not clock.lone or (day.takes_bare and clock.hour <= 12):
                yield replace(clock, doubt=()), after


def _part_of_today(tokens: Tokens, at: int) -> Iterator[tuple[Moment, int]]:
    """this evening, tonight, tonight at 9."""
    parts = [("night", end) for _, end in tokens.read(at, "tonight")]
    for _, middle in tokens.read(at, "this"):
        parts.extend((*tokens.names(middle, "part"), *tokens.names(middle, "part_of_day")))
    for part, end in parts:
        for prep in tokens.maybe(end, "prep"):
            for clock, after in clocks(tokens, prep):
                if clock.midnight:
                    yield Moment(day=today(), clock=clock), after
                elif clock.habit is None:
                    yield Moment(day=today(), clock=clock.within(part)), after
        yield Moment(day=today(), clock=Clock(hour=-1, habit=part)), end


def zones(tokens: Tokens, at: int) -> Iterator[tuple[Zone, int]]:
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
        yield Zone(name=name), at + 1
    if text in ABBREVIATIONS:
        yield Zone(abbreviation=text), at + 1


def _offset(tokens: Tokens, at: int, *, bare: bool) -> Iterator[tuple[Zone, int]]:
    """+05:30, -0500, and behind UTC also +2."""
    if tokens.shape(at) != "sign" or not tokens.touching(at):
        return
    shape, text = tokens.shape(at + 1), tokens.text(at + 1)
    digits = text.replace(":", "")
    if shape not in ("clock", "integer") or len(digits) not in ((2, 4) if bare else (1, 2, 3, 4)):
        return
    hours, minutes = (int(digits[:-2]), int(digits[-2:])) if len(digits) > 2 else (int(digits), 0)
    if minutes % 15 == 0 and minutes < 60 and hours * 60 + minutes <= _FURTHEST_OFFSET:
        yield Zone(name=f"{tokens.text(at)}{hours:02}:{minutes:02}"), at + 2


def _settled(vantage: ParseContext, day: date, at: time, flags: frozenset[str]) -> Settled:
    instant, changed = vantage.instant(day, at)
    return Settled(at=instant, flags=flags | changed, zone=vantage.zone, wall=datetime.combine(day, at))
