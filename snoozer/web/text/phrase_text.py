"""What a snooze was asked for in: the words, what there is to know about them, and the rhythm of what repeats."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from snoozer.db.queue import ReminderTime
from snoozer.timephrase import Recurrence, next_occurrence
from snoozer.timephrase.describe import describe_recurrence, explain_flag
from snoozer.timephrase.zones import zone_or_utc
from snoozer.web.text.time_format import Clock

NEXT_ONES = 3
UNREADABLE = "Repeats in a way that this page cannot read"


@dataclass(frozen=True, kw_only=True)
class Spoken:
    """`phrase` is what was typed, None where nothing was; `doubts` are the sentences that explain its flags;
    `alternative` is the other instant it could mean, while that lies ahead. `kept` says which of instant and clock is
    kept."""

    phrase: str | None
    doubts: tuple[str, ...]
    alternative: datetime | None
    kept: str


def spoken(row: Any, events: Sequence[Any], *, clock: Clock) -> Spoken:
    """The words behind the promise of one row of `pages.snoozes`, found in its paper trail."""
    promise = row.scheduled_for or row.remind_at
    detail = _words_for(row, events, promise)
    alternative = _instant(detail.get("alternative"))
    recurrence = recurrence_of(row.recurrence)
    here = clock.local(promise).replace(tzinfo=None)
    return Spoken(
        phrase=detail.get("phrase"),
        doubts=tuple(
            explain_flag(
                flag,
                wall=row.wall_time or here,
                now=clock.local(clock.now),
                alternative=None if alternative is None else clock.local(alternative),
                recurrence=recurrence,
            )
            for flag in detail.get("flags", ())
        ),
        alternative=alternative if alternative is not None and alternative > clock.now else None,
        kept=_kept(row, promise, clock),
    )


def rhythm_words(recurrence: dict[str, Any], clock: Clock) -> str:
    """Every Monday at 09:00; a plain word for what another program wrote and this one cannot read."""
    known = recurrence_of(recurrence)
    if known is None:
        return UNREADABLE
    return describe_recurrence(known, at=clock.hour(datetime.combine(known.start, known.at)))


def following(row: Any) -> list[datetime]:
    """The next occurrences after the promised one; none where the repetition or its zone cannot be read."""
    known = recurrence_of(row.recurrence)
    try:
        return [] if known is None else list(islice(_after(known, row), NEXT_ONES))
    except (KeyError, ValueError):
        return []


def asleep_until(appointment: ReminderTime, clock: Clock, *, ended: dict[str, Any] | None = None) -> str:
    """The sentences that say what was saved, and which repetition that put an end to."""
    until = f"Asleep until {clock.inline(appointment.remind_at)}"
    if appointment.recurrence is not None:
        until = f"{until}, then {lowered(rhythm_words(appointment.recurrence, clock))}"
    return f"{until}.{'' if ended is None else f' {end_of(ended, clock)}'}"


def end_of(recurrence: dict[str, Any], clock: Clock) -> str:
    """The sentence that says which repetition is over."""
    return f"That ended its repetition: {lowered(rhythm_words(recurrence, clock))}."


def lowered(words: str) -> str:
    """The words inside a sentence: every Monday at 09:00."""
    return words[:1].lower() + words[1:]


def recurrence_of(plain: dict[str, Any] | None) -> Recurrence | None:
    """The repetition that a row holds; None for none, and for one that cannot be read."""
    try:
        return None if plain is None else Recurrence.from_json(plain)
    except ValueError:
        return None


def _after(recurrence: Recurrence, row: Any) -> Any:
    at: datetime | None = row.scheduled_for or row.remind_at
    while at is not None and (at := next_occurrence(recurrence, after=at, zone=row.zone or "UTC")) is not None:
        yield at


def _words_for(row: Any, events: Sequence[Any], promise: datetime) -> dict[str, Any]:
    """The newest words that named this promise; a repetition keeps its words from one occurrence to the next."""
    for event in events:
        if event.kind in {"asked", "edited"} and event.detail.get("phrase"):
            same = row.recurrence is not None or _instant(event.detail.get("at")) == promise
            return dict(event.detail) if same else {}
    return {}


def _kept(row: Any, promise: datetime, clock: Clock) -> str:
    if row.time_kind == "elapsed":
        return "As so much time from when you asked: the instant stays, whatever clocks do."
    if row.time_kind != "wall" or row.zone is None:
        return "As an exact instant."
    there = clock.hour(promise.astimezone(zone_or_utc(row.zone)))
    return f"By the clock: {there} in {row.zone.replace('_', ' ')}, also when clocks change there."


def _instant(text: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
