"""The typed phrase behind a snooze, what its flags mean, and recurrences in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from snoozer.queue.promise import ReminderTime
from snoozer.snoozes.recurrence import is_someday
from snoozer.timephrase.describe import describe_recurrence, explain_flag
from snoozer.timephrase.recurrence import Recurrence, next_occurrence
from snoozer.timephrase.zones import zone_in_words, zone_or_utc
from snoozer.translations import N_
from snoozer.translations import gettext as _
from snoozer.web.text.arrival_text import REST_ENDS
from snoozer.web.text.time_format import TimeFormatter, parse_instant

MAX_UPCOMING = 5
_UNLESS_REPLIED = {"cancel_on_reply": N_("unless a reply comes"), "until_reply": N_("or until a reply comes")}
UNREADABLE = N_("Repeats in a way that this page cannot read")


@dataclass(frozen=True, kw_only=True)
class PhraseText:
    """`phrase` is the typed text, None for a time without words; `flag_notes` are sentences that explain its flags;
    `alternative` is its other meaning while that is in the future; `kept_as` explains the time kind."""

    phrase: str | None
    flag_notes: tuple[str, ...]
    alternative: datetime | None
    kept_as: str


def phrase_text(row: Any, events: Sequence[Any], *, times: TimeFormatter) -> PhraseText:
    """Returns the words behind the current promise of a row of `queries.snoozes`, taken from its events."""
    detail = _phrase_detail(row, events, row.promise)
    alternative = parse_instant(detail.get("alternative"))
    recurrence = parse_recurrence(row.recurrence)
    notes = tuple(
        explain_flag(
            flag,
            wall=row.wall_time or times.local(row.promise).replace(tzinfo=None),
            now=times.local(times.now),
            alternative=None if alternative is None else times.local(alternative),
            recurrence=recurrence,
            dates=times.dates,
        )
        for flag in detail.get("flags", ())
    )
    return PhraseText(
        phrase=detail.get("phrase"),
        flag_notes=notes,
        alternative=alternative if alternative is not None and alternative > times.now else None,
        kept_as=_kept_as(row, row.promise, times),
    )


def recurrence_text(recurrence: dict[str, Any], times: TimeFormatter) -> str:
    """Returns "Every Monday at 09:00", or UNREADABLE for a recurrence that a newer version wrote."""
    parsed = parse_recurrence(recurrence)
    if parsed is None:
        return _(UNREADABLE)
    return describe_recurrence(parsed, dates=times.dates)


def upcoming_times(row: Any, times: TimeFormatter) -> list[datetime]:
    """Returns up to five times of a series, from the promised one on; of a paused one the times after now. Without a
    recurrence, or with an unreadable one, at most the promised time."""
    recurrence = parse_recurrence(row.recurrence)
    at: datetime | None = row.promise
    found = [row.promise] if row.promise > times.now or row.state != "paused" else []
    try:
        while recurrence and at and len(found) < MAX_UPCOMING:
            at = next_occurrence(recurrence, after=at if found else max(at, times.now), zone=row.zone or "UTC")
            found += [at] if at else []
    except (KeyError, ValueError):
        return found
    return found


def asleep_until_text(reminder_time: ReminderTime, times: TimeFormatter, *, ended: dict[str, Any] | None = None) -> str:
    """Returns the confirmation of a saved time; `ended` is the recurrence that it replaced."""
    arrival = times.arrival(reminder_time.remind_at)
    if arrival.reason is None or reminder_time.at_any_hour:
        when = times.inline(reminder_time.remind_at)
    else:
        when = f"{times.inline(arrival.at)}, {_(REST_ENDS[arrival.reason])}"
    is_ladder = (reminder_time.recurrence or {}).get("kind") == "ladder"
    if is_someday(reminder_time):
        until = recurrence_text(reminder_time.recurrence or {}, times)
    elif reminder_time.recurrence is not None:
        repeats = lower_first(recurrence_text(reminder_time.recurrence, times))
        until = _("Asleep until %(when)s, then %(repeats)s", when=when, repeats=repeats)
    else:
        until = _("Asleep until %(when)s", when=when)
    if is_ladder and reminder_time.reply_policy == "cancel_on_reply":
        until = _("%(when)s. A reply ends it", when=until)
    elif unless := _UNLESS_REPLIED.get(reminder_time.reply_policy or ""):
        until = f"{until}, {_(unless)}"
    return f"{until}.{'' if ended is None else f' {recurrence_ended_text(ended, times)}'}"


def recurrence_ended_text(recurrence: dict[str, Any], times: TimeFormatter) -> str:
    return _("That ended its repetition: %(repeats)s.", repeats=lower_first(recurrence_text(recurrence, times)))


def lower_first(text: str) -> str:
    """Returns the text for use inside a sentence."""
    return text[:1].lower() + text[1:]


def parse_recurrence(json: dict[str, Any] | None) -> Recurrence | None:
    """Returns the recurrence of a row; None if there is none or it does not parse."""
    try:
        return None if json is None else Recurrence.from_json(json)
    except ValueError:
        return None


def _phrase_detail(row: Any, events: Sequence[Any], promise: datetime) -> dict[str, Any]:
    """Returns the newest event's detail that names this promise. A recurrence keeps its phrase for all occurrences; the
    phrase of a single moved occurrence applies only to that one."""
    for event in events:
        if event.kind in {"asked", "edited"} and event.detail.get("phrase"):
            scope = event.detail.get("scope")
            same = parse_instant(event.detail.get("at")) == promise
            if same or scope != "once":
                return dict(event.detail) if same or (row.recurrence is not None and scope is None) else {}
    return {}


def _kept_as(row: Any, promise: datetime, times: TimeFormatter) -> str:
    if row.time_kind == "elapsed":
        return _("As so much time from when you asked: the instant stays, whatever clocks do.")
    if row.time_kind != "wall" or row.zone is None:
        return _("As an exact instant.")
    hour = times.dates.hour(promise.astimezone(zone_or_utc(row.zone)))
    place = zone_in_words(row.zone)
    return _("At %(time)s in %(zone)s, also when clocks change there.", time=hour, zone=place)
