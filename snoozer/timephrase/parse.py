"""From a phrase to a Reading. The same arguments give the same answer on every machine."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from snoozer.timephrase.context import ParseContext, WorkingHours
from snoozer.timephrase.datetime_expr import Moment, Settled, abbreviation_refused
from snoozer.timephrase.day import plus_months
from snoozer.timephrase.describe import sentence
from snoozer.timephrase.duration_expr import Span
from snoozer.timephrase.grammar import Instant, Phrase, Void, phrases, says_nothing
from snoozer.timephrase.lexer import tokenise
from snoozer.timephrase.locales import Locale, fold
from snoozer.timephrase.recurrence import Recurrence, next_occurrence
from snoozer.timephrase.recurrence_expr import LEAST_LEAD, Repeat, is_clamped, recurrence_of
from snoozer.timephrase.result import Kind, ParsedTime, ParseError, TimeKind
from snoozer.timephrase.suggestions import candidates
from snoozer.timephrase.time_of_day import Clock
from snoozer.timephrase.zones import canonical, is_offset, zone_of

LONGEST_PHRASE = 200
MOST_YEARS = 10
_LETTERS = re.compile(r"[a-z']+")
_T_OF_ISO = re.compile(r"(?:(?<=-[0-9]{2})|(?<=[0-9]{8}))t(?=[0-9])")
_QUARTER = 15
_VOID_SENTENCES = {
    "past": "That lies in the past; choose a time that is still to come.",
    "too_soon": "That is now; choose a time at least one minute away.",
    "negative": "A length of time cannot be negative; leave out the minus sign.",
}


def vantage_of(*, now: datetime, zone: str, locale: Locale, habits: WorkingHours) -> ParseContext:
    """Where the person stands. Refused when the zone is unknown or `now` is no instant."""
    name = canonical(zone)
    if name is None:
        raise ParseError("unknown_zone", "That time zone is not known; use a name such as Europe/Berlin or UTC.")
    if now.utcoffset() is None:
        raise ParseError("invalid_time", "The present moment has no zone; give it with an offset.")
    try:
        instant = now.astimezone(UTC)
        today = instant.astimezone(zone_of(name)).date()
    except OverflowError:
        raise ParseError("too_far", "The present moment is at the end of the calendar; give one within it.") from None
    return ParseContext(
        now=instant,
        zone=name,
        today=today,
        habits=habits,
        month_first=locale.region.month_first,
        twelve_hour=locale.region.twelve_hour,
    )


def understand(phrase: str, *, vantage: ParseContext, locale: Locale) -> ParsedTime:
    """The reading, or Refused without suggestions."""
    what = parse(phrase, locale=locale)
    try:
        if isinstance(what, Instant):
            return _instant(phrase, what, vantage)
        if isinstance(what, Repeat):
            return _recurring(phrase, what, vantage)
    except OverflowError:
        raise _too_far() from None
    if isinstance(what, Void):
        raise ParseError(what.code, _VOID_SENTENCES[what.code])
    return ParsedTime(
        phrase=phrase,
        kind="condition",
        at=None,
        zone=vantage.zone,
        wall=None,
        time_kind="wall",
        flags=(),
        alternative=None,
        recurrence=None,
        condition="until_reply",
        sentence="When somebody replies, with no time set.",
    )


def parse(phrase: str, *, locale: Locale) -> Phrase:
    """What the whole phrase says, in the person's language or else in English; the two are not mixed."""
    if len(phrase) > LONGEST_PHRASE:
        raise ParseError("unrecognised", f"A time has at most {LONGEST_PHRASE} characters; write a shorter one.")
    folded = fold(phrase)
    words = set(_LETTERS.findall(_T_OF_ISO.sub(" ", folded))) & locale.language.words
    for language in locale.languages:
        tokens = tokenise(folded, language) if words <= language.words else None
        if tokens is None:
            continue
        if says_nothing(tokens):
            raise ParseError("empty", "No time was given; write when it should come back.")
        found = next(phrases(tokens), None)
        if found is not None:
            return found
    raise ParseError(
        "unrecognised", "That cannot be read as a time; the whole of it must be one, such as tomorrow 9am."
    )


def _instant(phrase: str, what: Instant, vantage: ParseContext) -> ParsedTime:
    settled, elapsed = _settle(what, vantage)
    _check_lead(settled, vantage)
    alternative = settled.alternative
    if alternative is not None and (alternative == settled.at or not _can_be(alternative, vantage)):
        alternative = None
    flags = settled.flags | ({"ambiguous"} if alternative else frozenset())
    condition = "no_reply" if what.if_no_reply else None
    return _reading(
        phrase,
        replace(settled, flags=flags, alternative=alternative),
        vantage,
        kind="condition" if condition else "instant",
        time_kind="elapsed" if elapsed else "wall",
        condition=condition,
    )


def _settle(what: Instant, vantage: ParseContext) -> tuple[Settled, bool]:
    """The instant, and whether it is meant as elapsed time rather than as a time on the clock."""
    if isinstance(what.what, Moment):
        settled = what.what.settle(vantage)
        return settled, is_offset(settled.zone)
    if isinstance(what.what, Span):
        at, flags = what.what.from_now(vantage)
        elapsed = not (what.what.months or what.what.days or what.what.workdays)
    else:
        at, flags, elapsed = _later_today(vantage), frozenset(), False
    return Settled(at=at, flags=flags, zone=vantage.zone, wall=_clock_at(at, vantage.zone)), elapsed


def _later_today(vantage: ParseContext) -> datetime:
    """Three hours on, rounded up to the quarter of an hour, and still today."""
    exact = vantage.now + timedelta(hours=3)
    clock = _clock_at(exact, vantage.zone)
    over = timedelta(minutes=clock.minute % _QUARTER, seconds=clock.second, microseconds=clock.microsecond)
    at = exact + (timedelta(minutes=_QUARTER) - over if over else timedelta())
    if _clock_at(at, vantage.zone).date() != vantage.today:
        raise ParseError("no_later_today", "Three hours from now is tomorrow already; choose a time tomorrow.")
    return at


def _recurring(phrase: str, what: Repeat, vantage: ParseContext) -> ParsedTime:
    zone = what.zone
    if zone is not None and zone.abbreviation:
        raise abbreviation_refused(zone.abbreviation)
    if zone is not None and is_offset(zone.name):
        raise ParseError(
            "unrecognised", "A repetition needs a place for its clock, such as Europe/Berlin, not an offset."
        )
    if what.clock is not None and what.clock.midnight:
        what = replace(what, clock=Clock())
    there = vantage if zone is None else replace(vantage, zone=zone.name)
    there = replace(there, today=there.wall.date())
    flags: frozenset[str] = frozenset()
    at = vantage.habits.morning
    if what.clock is not None:
        at, flags = what.clock.settle(vantage.habits, twelve_hour=vantage.twelve_hour)
    recurrence, start_flags = recurrence_of(what, there, at)
    instant, changed = there.instant(next(recurrence.dates()), at)
    if not _can_be(instant, vantage):
        raise _too_far()
    flags |= changed | start_flags | (frozenset({"clamped"}) if is_clamped(recurrence) else frozenset())
    settled = Settled(at=instant, flags=flags, zone=there.zone, wall=_clock_at(instant, there.zone))
    return _reading(phrase, settled, vantage, kind="recurring", recurrence=recurrence)


def _reading(
    phrase: str,
    settled: Settled,
    vantage: ParseContext,
    *,
    kind: Kind,
    time_kind: TimeKind = "wall",
    condition: str | None = None,
    recurrence: Recurrence | None = None,
) -> ParsedTime:
    at = vantage.local(settled.at)
    alternative = vantage.local(settled.alternative) if settled.alternative else None
    in_place = not is_offset(settled.zone)
    then = next_occurrence(recurrence, after=at, zone=settled.zone) if recurrence else None
    flags = tuple(sorted(settled.flags))
    return ParsedTime(
        phrase=phrase,
        kind=kind,
        at=at,
        zone=settled.zone if in_place else vantage.zone,
        wall=settled.wall if in_place else at.replace(tzinfo=None),
        time_kind=time_kind,
        flags=flags,
        alternative=alternative,
        recurrence=recurrence,
        condition=condition,
        sentence=sentence(
            at,
            now=vantage.local(vantage.now),
            zone=vantage.zone,
            wall=_clock_at(settled.at, settled.zone),
            wall_zone=settled.zone,
            flags=flags,
            alternative=alternative,
            condition=condition,
            recurrence=recurrence,
            then=vantage.local(then) if then else None,
        ),
    )


def _clock_at(instant: datetime, zone: str) -> datetime:
    return instant.astimezone(zone_of(zone)).replace(tzinfo=None, fold=0)


def _check_lead(settled: Settled, vantage: ParseContext) -> None:
    at = settled.at
    if at <= vantage.now:
        instead = (_written(settled.alternative, vantage),) if settled.alternative else ()
        raise ParseError("past", "That time has passed; choose one that is still to come.", instead)
    if at - vantage.now < LEAST_LEAD:
        raise ParseError("too_soon", "That is less than a minute away; choose a time at least one minute from now.")
    if at > _latest(vantage):
        raise _too_far()


def _written(at: datetime, vantage: ParseContext) -> str:
    """2026-04-03, and the time of the day unless it is the usual one."""
    wall = vantage.local(at)
    return f"{wall:%Y-%m-%d}" if wall.time() == vantage.habits.morning else f"{wall:%Y-%m-%d %H:%M}"


def _can_be(at: datetime, vantage: ParseContext) -> bool:
    return at - vantage.now >= LEAST_LEAD and at <= _latest(vantage)


def _latest(vantage: ParseContext) -> datetime:
    wall = vantage.wall
    return vantage.instant(plus_months(wall.date(), 12 * MOST_YEARS)[0], wall.time())[0]


def _too_far() -> ParseError:
    return ParseError("too_far", f"That is more than {MOST_YEARS} years away; choose a time within {MOST_YEARS} years.")


MOST_SUGGESTIONS = 3
_USUAL = WorkingHours()


def read(phrase: str, *, now: datetime, zone: str, locale: str = "en_US", habits: WorkingHours = _USUAL) -> ParsedTime:
    """What the whole phrase means for a person in that zone.

    `now` is aware and may come in any zone. Raises Refused, and nothing else, for every other text.
    """
    custom = Locale.named(locale)
    vantage = vantage_of(now=now, zone=zone, locale=custom, habits=habits)
    try:
        return understand(phrase, vantage=vantage, locale=custom)
    except ParseError as refused:
        raise ParseError(refused.code, refused.message, _offered(phrase, refused, vantage, custom)) from None


def _offered(phrase: str, refused: ParseError, vantage: ParseContext, locale: Locale) -> tuple[str, ...]:
    """The first few candidates that the grammar takes."""
    offered: list[str] = []
    for candidate in (*refused.suggestions, *candidates(phrase, refused.code, locale.language)):
        tidy = " ".join(candidate.split())
        if tidy not in offered and _can_be_read(tidy, vantage, locale):
            offered.append(tidy)
        if len(offered) == MOST_SUGGESTIONS:
            break
    return tuple(offered)


def _can_be_read(phrase: str, vantage: ParseContext, locale: Locale) -> bool:
    try:
        understand(phrase, vantage=vantage, locale=locale)
    except ParseError:
        return False
    return True
