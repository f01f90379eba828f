"""From a phrase to a Reading. The same arguments give the same answer on every machine."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from snoozer.domain.times.clock import Clock
from snoozer.domain.times.day import plus_months
from snoozer.domain.times.durations import Span
from snoozer.domain.times.language import Locale, fold
from snoozer.domain.times.moments import Moment, Settled, abbreviation_refused
from snoozer.domain.times.phrases import Instant, Phrase, Void, phrases, says_nothing
from snoozer.domain.times.reading import Kind, Reading, Refused, TimeKind
from snoozer.domain.times.recurrence import Recurrence, next_occurrence
from snoozer.domain.times.repeats import Repeat
from snoozer.domain.times.rounds import LEAST_LEAD, is_clamped, recurrence_of
from snoozer.domain.times.sentence import sentence
from snoozer.domain.times.tokens import tokenise
from snoozer.domain.times.vantage import Habits, Vantage
from snoozer.domain.times.zones import canonical, is_offset, zone_of

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


def vantage_of(*, now: datetime, zone: str, locale: Locale, habits: Habits) -> Vantage:
    """Where the person stands. Refused when the zone is unknown or `now` is no instant."""
    name = canonical(zone)
    if name is None:
        raise Refused("unknown_zone", "That time zone is not known; use a name such as Europe/Berlin or UTC.")
    if now.utcoffset() is None:
        raise Refused("invalid_time", "The present moment has no zone; give it with an offset.")
    try:
        instant = now.astimezone(UTC)
        today = instant.astimezone(zone_of(name)).date()
    except OverflowError:
        raise Refused("too_far", "The present moment is at the end of the calendar; give one within it.") from None
    return Vantage(
        now=instant,
        zone=name,
        today=today,
        habits=habits,
        month_first=locale.region.month_first,
        twelve_hour=locale.region.twelve_hour,
    )


def understand(phrase: str, *, vantage: Vantage, locale: Locale) -> Reading:
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
        raise Refused(what.code, _VOID_SENTENCES[what.code])
    return Reading(
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
        raise Refused("unrecognised", f"A time has at most {LONGEST_PHRASE} characters; write a shorter one.")
    folded = fold(phrase)
    words = set(_LETTERS.findall(_T_OF_ISO.sub(" ", folded))) & locale.language.words
    for language in locale.languages:
        tokens = tokenise(folded, language) if words <= language.words else None
        if tokens is None:
            continue
        if says_nothing(tokens):
            raise Refused("empty", "No time was given; write when it should come back.")
        found = next(phrases(tokens), None)
        if found is not None:
            return found
    raise Refused("unrecognised", "That cannot be read as a time; the whole of it must be one, such as tomorrow 9am.")


def _instant(phrase: str, what: Instant, vantage: Vantage) -> Reading:
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


def _settle(what: Instant, vantage: Vantage) -> tuple[Settled, bool]:
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


def _later_today(vantage: Vantage) -> datetime:
    """Three hours on, rounded up to the quarter of an hour, and still today."""
    exact = vantage.now + timedelta(hours=3)
    clock = _clock_at(exact, vantage.zone)
    over = timedelta(minutes=clock.minute % _QUARTER, seconds=clock.second, microseconds=clock.microsecond)
    at = exact + (timedelta(minutes=_QUARTER) - over if over else timedelta())
    if _clock_at(at, vantage.zone).date() != vantage.today:
        raise Refused("no_later_today", "Three hours from now is tomorrow already; choose a time tomorrow.")
    return at


def _recurring(phrase: str, what: Repeat, vantage: Vantage) -> Reading:
    zone = what.zone
    if zone is not None and zone.abbreviation:
        raise abbreviation_refused(zone.abbreviation)
    if zone is not None and is_offset(zone.name):
        raise Refused("unrecognised", "A repetition needs a place for its clock, such as Europe/Berlin, not an offset.")
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
    vantage: Vantage,
    *,
    kind: Kind,
    time_kind: TimeKind = "wall",
    condition: str | None = None,
    recurrence: Recurrence | None = None,
) -> Reading:
    at = vantage.local(settled.at)
    alternative = vantage.local(settled.alternative) if settled.alternative else None
    in_place = not is_offset(settled.zone)
    then = next_occurrence(recurrence, after=at, zone=settled.zone) if recurrence else None
    flags = tuple(sorted(settled.flags))
    return Reading(
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


def _check_lead(settled: Settled, vantage: Vantage) -> None:
    at = settled.at
    if at <= vantage.now:
        instead = (_written(settled.alternative, vantage),) if settled.alternative else ()
        raise Refused("past", "That time has passed; choose one that is still to come.", instead)
    if at - vantage.now < LEAST_LEAD:
        raise Refused("too_soon", "That is less than a minute away; choose a time at least one minute from now.")
    if at > _latest(vantage):
        raise _too_far()


def _written(at: datetime, vantage: Vantage) -> str:
    """2026-04-03, and the time of the day unless it is the usual one."""
    wall = vantage.local(at)
    return f"{wall:%Y-%m-%d}" if wall.time() == vantage.habits.morning else f"{wall:%Y-%m-%d %H:%M}"


def _can_be(at: datetime, vantage: Vantage) -> bool:
    return at - vantage.now >= LEAST_LEAD and at <= _latest(vantage)


def _latest(vantage: Vantage) -> datetime:
    wall = vantage.wall
    return vantage.instant(plus_months(wall.date(), 12 * MOST_YEARS)[0], wall.time())[0]


def _too_far() -> Refused:
    return Refused("too_far", f"That is more than {MOST_YEARS} years away; choose a time within {MOST_YEARS} years.")
