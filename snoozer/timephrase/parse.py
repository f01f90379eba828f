"""`parse`: from a phrase to a ParsedTime. The same arguments give the same result on every machine."""

import re
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

from snoozer.timephrase.context import OwnDays, ParseContext, WorkingHours, usual_days
from snoozer.timephrase.date_expr import plus_months
from snoozer.timephrase.date_format import DateFormat
from snoozer.timephrase.datetime_expr import DateTimeExpr, ResolvedTime, abbreviation_error
from snoozer.timephrase.describe import describe
from snoozer.timephrase.duration_expr import Duration, RoughDuration
from snoozer.timephrase.grammar import (
    Interpretation,
    LadderExpr,
    Rejected,
    SingleTime,
    Someday,
    interpretations,
    is_blank,
)
from snoozer.timephrase.lexer import tokenize
from snoozer.timephrase.locales import Locale, normalize
from snoozer.timephrase.recurrence import Recurrence, next_occurrence
from snoozer.timephrase.recurrence_expr import MIN_LEAD, RecurrenceExpr, build_recurrence, end_of, ends, is_clamped
from snoozer.timephrase.result import Kind, ParsedTime, ParseError, TimeKind
from snoozer.timephrase.suggestions import candidates
from snoozer.timephrase.time_of_day_expr import ClockTime
from snoozer.timephrase.zones import canonical, is_offset, wall_time, zone_of
from snoozer.translations import N_, gettext, speaking

MAX_PHRASE_LENGTH = 200
MAX_YEARS = 10
MAX_SUGGESTIONS = 3
_LETTERS = re.compile(r"[a-z']+")
_T_OF_ISO = re.compile(r"(?:(?<=-[0-9]{2})|(?<=[0-9]{8}))t(?=[0-9])")
_QUARTER = 15
_LAST_HOUR = re.compile(r"(^| )[0-9]{1,2}(?::[0-9]{2})?$")
_DEFAULT_HOURS = WorkingHours()
_ENDS = ("until 24 December", "10 times", "for 3 weeks")
_REJECTIONS = {
    "past": ("past", N_("That lies in the past; choose a time that is still to come.")),
    "too_soon": ("too_soon", N_("That is now; choose a time at least one minute away.")),
    "negative": ("negative", N_("A length of time cannot be negative; leave out the minus sign.")),
    "no_unit": ("unrecognised", N_("That is a length of time without its unit; add minutes, hours or days.")),
}


def parse(
    phrase: str,
    *,
    now: datetime,
    zone: str,
    locale: str = "en_US",
    hours: WorkingHours = _DEFAULT_HOURS,
    own: OwnDays = usual_days,
) -> ParsedTime:
    """The meaning of the whole phrase for a person in that zone, in the language of the locale.

    `now` is aware and may be in any zone; `own` gives the shape of the person's days. Raises ParseError, and no other
    error, for every other text.
    """
    customs = Locale.named(locale)
    with speaking(customs.language.data.name):
        context = _context(now=now, zone=zone, locale=customs, hours=hours, own=own)
        try:
            return _evaluate(phrase, context, customs)
        except ParseError as error:
            raise ParseError(error.code, error.message, _suggestions(phrase, error, context, customs)) from None


def parse_end(
    phrase: str, *, first: date, now: datetime, zone: str, locale: str, own: OwnDays = usual_days
) -> tuple[date | None, int | None]:
    """The last day, or the number of times, of a series whose next date is `first`: until 24 december, 10 times, for 3
    weeks. Raises ParseError for every other text."""
    customs = Locale.named(locale)
    context = _context(now=now, zone=zone, locale=customs, hours=_DEFAULT_HOURS, own=own)
    if not phrase.strip():
        raise ParseError("empty", "No end was given.", _ENDS)
    for language in customs.languages if len(phrase) <= MAX_PHRASE_LENGTH else ():
        tokens = tokenize(normalize(phrase), language)
        found = None if tokens is None else next(ends(tokens), None)
        if found is not None:
            try:
                return end_of(found, context, first=first)
            except OverflowError:
                raise _too_far() from None
    raise ParseError("unrecognised", "That cannot be read as an end; give a last day or a number of times.", _ENDS)


def _context(*, now: datetime, zone: str, locale: Locale, hours: WorkingHours, own: OwnDays) -> ParseContext:
    """Raises ParseError when the zone is unknown or `now` has no offset."""
    name = canonical(zone)
    if name is None:
        raise ParseError(
            "unknown_zone", gettext("That time zone is not known; use a name such as Europe/Berlin or UTC.")
        )
    if now.utcoffset() is None:
        raise ParseError("invalid_time", gettext("The present moment has no zone; give it with an offset."))
    try:
        instant = now.astimezone(UTC)
        today = instant.astimezone(zone_of(name)).date()
    except OverflowError:
        raise ParseError(
            "too_far", gettext("The present moment is at the end of the calendar; give one within it.")
        ) from None
    return ParseContext(now=instant, zone=name, today=today, hours=hours, dates=DateFormat(locale.region), own=own)


def _suggestions(phrase: str, error: ParseError, context: ParseContext, locale: Locale) -> tuple[str, ...]:
    """The first few candidates that parse. None repeats another, and no default has the meaning of another."""
    found: list[str] = []
    meanings: list[object] = []
    defaults = {*locale.language.data.default_suggestions, *locale.language.data.hints["past"]}
    for candidate in (*error.suggestions, *candidates(phrase, error.code, locale.language)):
        tidy = " ".join(candidate.split())
        with suppress(ParseError):
            parsed = _evaluate(tidy, context, locale)
            tidy = _with_clear_hour(tidy, parsed, context, locale)
            repeats = normalize(tidy) in map(normalize, found) or (tidy in defaults and _meaning(parsed) in meanings)
            if not repeats:
                found.append(tidy)
                meanings.append(_meaning(parsed))
        if len(found) == MAX_SUGGESTIONS:
            break
    return tuple(found)


def _meaning(parsed: ParsedTime) -> object:
    return parsed.at, parsed.recurrence, parsed.condition


def _with_clear_hour(phrase: str, parsed: ParsedTime, context: ParseContext, locale: Locale) -> str:
    """The phrase with the hour at its end as the person's clock shows it, so that the half of the day is clear."""
    if parsed.wall is None or not _LAST_HOUR.search(phrase):
        return phrase
    hour = context.dates.hour(parsed.wall).removeprefix("0")
    clear = _LAST_HOUR.sub(rf"\g<1>{hour}", phrase)
    with suppress(ParseError):
        if _meaning(_evaluate(clear, context, locale)) == _meaning(parsed):
            return clear
    return phrase


def _evaluate(phrase: str, context: ParseContext, locale: Locale) -> ParsedTime:
    """The result. Raises ParseError without the suggestions of `candidates`."""
    meaning = _interpret(phrase, locale)
    try:
        if isinstance(meaning, SingleTime):
            return _single(phrase, meaning, context)
        if isinstance(meaning, RecurrenceExpr):
            return _recurring(phrase, meaning, context)
        if isinstance(meaning, Someday):
            return _someday(phrase, context)
        if isinstance(meaning, LadderExpr):
            return _ladder(phrase, meaning, context)
    except OverflowError:
        raise _too_far() from None
    if isinstance(meaning, Rejected):
        code, message = _REJECTIONS[meaning.reason]
        raise ParseError(code, gettext(message))
    sentence = gettext("When someone replies, with no time set.")
    return ParsedTime(phrase=phrase, kind="condition", zone=context.zone, condition="until_reply", sentence=sentence)


def _interpret(phrase: str, locale: Locale) -> Interpretation:
    """The most likely interpretation of the whole phrase, in the person's language or else in English; a phrase that
    mixes both does not match."""
    if len(phrase) > MAX_PHRASE_LENGTH:
        raise ParseError(
            "unrecognised",
            gettext("A time has at most %(max)s characters; write a shorter one.", max=MAX_PHRASE_LENGTH),
        )
    normalized = normalize(phrase)
    words = set(_LETTERS.findall(_T_OF_ISO.sub(" ", normalized))) & locale.language.words
    for language in locale.languages:
        tokens = tokenize(normalized, language) if words <= language.words else None
        if tokens is None:
            continue
        if is_blank(tokens):
            raise ParseError("empty", gettext("No time was given; write when it should come back."))
        found = next(interpretations(tokens), None)
        if found is not None:
            return found
    raise ParseError(
        "unrecognised", gettext("That cannot be read as a time; the whole of it must be one, such as tomorrow 9am.")
    )


def _single(phrase: str, single: SingleTime, context: ParseContext) -> ParsedTime:
    resolved, elapsed = _resolve(single, context)
    _check_lead(resolved, context)
    alternative = resolved.alternative
    if alternative is not None and (alternative == resolved.at or not _in_range(alternative, context)):
        alternative = None
    flags = resolved.flags | ({"ambiguous"} if alternative else frozenset())
    resolved = replace(resolved, flags=flags, alternative=alternative)
    time_kind: TimeKind = "elapsed" if elapsed else "wall"
    kind: Kind = "condition" if single.condition else "instant"
    return _result(phrase, resolved, context, kind=kind, time_kind=time_kind, condition=single.condition)


def _resolve(single: SingleTime, context: ParseContext) -> tuple[ResolvedTime, bool]:
    """The instant, and whether it is meant as elapsed time rather than as wall time."""
    when = single.when
    if isinstance(when, DateTimeExpr):
        resolved = when.resolve(context)
        return resolved, is_offset(resolved.zone)
    other: datetime | None = None
    if isinstance(when, RoughDuration):
        (at, flags), (other, _) = (length.after_now(context) for length in (when.likely, when.other))
        elapsed = True
    elif isinstance(when, Duration):
        at, flags = when.after_now(context)
        elapsed = not (when.months or when.days or when.workdays)
    else:
        at, flags, elapsed = _later_today(context), frozenset(), False
    wall = wall_time(at, context.zone)
    return ResolvedTime(at=at, flags=flags, zone=context.zone, wall=wall, alternative=other), elapsed


def _later_today(context: ParseContext) -> datetime:
    """Three hours from now, rounded up to the quarter of an hour, and still today."""
    exact = context.now + timedelta(hours=3)
    wall = wall_time(exact, context.zone)
    over = timedelta(minutes=wall.minute % _QUARTER, seconds=wall.second, microseconds=wall.microsecond)
    at = exact + (timedelta(minutes=_QUARTER) - over if over else timedelta())
    if wall_time(at, context.zone).date() != context.today:
        raise ParseError("no_later_today", gettext("Three hours from now is tomorrow already; choose a time tomorrow."))
    return at


def _recurring(phrase: str, expr: RecurrenceExpr, context: ParseContext) -> ParsedTime:
    zone, clock = expr.zone, expr.clock
    if zone is not None and zone.abbreviation:
        raise abbreviation_error(zone.abbreviation)
    if zone is not None and is_offset(zone.name):
        raise _needs_place()
    there = context if zone is None else replace(context, zone=zone.name)
    there = replace(there, today=there.wall.date())
    at, flags = context.hours.morning, frozenset[str]()
    if clock is not None:
        at, flags = (ClockTime() if clock.midnight else clock).resolve(context.hours, twelve_hour=context.twelve_hour)
    recurrence, start_flags = build_recurrence(expr, there, at)
    instant, changed = there.instant(next(recurrence.dates()), at)
    if not _in_range(instant, context):
        raise _too_far()
    flags |= changed | start_flags | (frozenset({"clamped"}) if is_clamped(recurrence) else frozenset())
    resolved = ResolvedTime(at=instant, flags=flags, zone=there.zone, wall=wall_time(instant, there.zone))
    return _result(phrase, resolved, context, kind="recurring", recurrence=recurrence)


def _someday(phrase: str, context: ParseContext) -> ParsedTime:
    """No date of its own: its person reviews it every week, on the day chosen."""
    shape = context.own()
    weekly = RecurrenceExpr(unit="week", weekdays=(shape.review_on - 1,))
    recurrence = replace(build_recurrence(weekly, context, shape.work_from)[0], kind="someday")
    instant, flags = context.instant(next(recurrence.dates()), shape.work_from)
    resolved = ResolvedTime(at=instant, flags=flags, zone=context.zone, wall=wall_time(instant, context.zone))
    return _result(phrase, resolved, context, kind="recurring", recurrence=recurrence)


def _ladder(phrase: str, expr: LadderExpr, context: ParseContext) -> ParsedTime:
    resolved, _elapsed = _resolve(expr.first, context)
    _check_lead(resolved, context)
    if is_offset(resolved.zone):
        raise _needs_place()
    wall = resolved.wall.replace(second=0, microsecond=0)
    recurrence = expr.ladder.recurrence(wall, replace(context, zone=resolved.zone))
    if not _in_range(context.instant(recurrence.start, recurrence.at)[0], context):
        raise _too_far()
    unsure = resolved.alternative is not None and resolved.alternative != resolved.at
    resolved = replace(
        resolved, alternative=None, flags=resolved.flags | (frozenset({"ambiguous"}) if unsure else frozenset())
    )
    condition = expr.first.condition
    return _result(phrase, resolved, context, kind="recurring", condition=condition, recurrence=recurrence)


def _result(
    phrase: str,
    resolved: ResolvedTime,
    context: ParseContext,
    *,
    kind: Kind,
    time_kind: TimeKind = "wall",
    condition: str | None = None,
    recurrence: Recurrence | None = None,
) -> ParsedTime:
    at = context.local(resolved.at)
    alternative = context.local(resolved.alternative) if resolved.alternative else None
    named_place = not is_offset(resolved.zone)
    following = next_occurrence(recurrence, after=at, zone=resolved.zone) if recurrence else None
    flags = tuple(sorted(resolved.flags))
    return ParsedTime(
        phrase=phrase,
        kind=kind,
        at=at,
        zone=resolved.zone if named_place else context.zone,
        wall=resolved.wall if named_place else at.replace(tzinfo=None),
        time_kind=time_kind,
        flags=flags,
        alternative=alternative,
        recurrence=recurrence,
        condition=condition,
        sentence=describe(
            at,
            now=context.local(context.now),
            zone=context.zone,
            wall=wall_time(resolved.at, resolved.zone),
            wall_zone=resolved.zone,
            flags=flags,
            alternative=alternative,
            dates=context.dates,
            condition=condition,
            recurrence=recurrence,
            following=context.local(following) if following else None,
        ),
    )


def _check_lead(resolved: ResolvedTime, context: ParseContext) -> None:
    at = resolved.at
    if at <= context.now:
        instead: tuple[str, ...] = ()
        if resolved.alternative:
            other = context.local(resolved.alternative)
            instead = (context.phrase(other, None if other.time() == context.hours.morning else other.time()),)
        raise ParseError("past", gettext("That time has passed; choose one that is still to come."), instead)
    if at - context.now < MIN_LEAD:
        raise ParseError(
            "too_soon", gettext("That is less than a minute away; choose a time at least one minute from now.")
        )
    if at > _latest(context):
        raise _too_far()


def _in_range(at: datetime, context: ParseContext) -> bool:
    return at - context.now >= MIN_LEAD and at <= _latest(context)


def _latest(context: ParseContext) -> datetime:
    wall = context.wall
    return context.instant(plus_months(wall.date(), 12 * MAX_YEARS)[0], wall.time())[0]


def _needs_place() -> ParseError:
    return ParseError(
        "unrecognised", gettext("A repetition needs a place for its clock, such as Europe/Berlin, not an offset.")
    )


def _too_far() -> ParseError:
    return ParseError(
        "too_far",
        gettext("That is more than %(years)s years away; choose a time within %(years)s years.", years=MAX_YEARS),
    )
