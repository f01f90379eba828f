"""The snooze sheet: what was typed or pressed becomes an appointment, or the sheet again with its answer.

A reading is shown before it is saved: typed words are saved only when the person has seen what they mean, and a button
only while it still means what it said.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from werkzeug.datastructures import MultiDict

from snoozer import snoozing
from snoozer.domain import times
from snoozer.postgres.queue import Appointment
from snoozer.snoozing import CannotSnooze
from snoozer.web.moments import Clock

# "in 3 hours" moves on while a person thinks; a day's difference is another meaning.
SAME_MEANING = timedelta(minutes=30)


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """What the sheet shows. `moved` says that the words now mean another time than the one that was shown."""

    offers: tuple[times.Preset, ...]
    phrase: str = ""
    note: str = ""
    reading: times.Reading | None = None
    refusal: CannotSnooze | None = None
    moved: bool = False

    @property
    def status(self) -> int:
        """422 for what cannot be taken, 200 for a question."""
        return 422 if self.refusal else 200


def sheet(clock: Clock, *, phrase: str = "", note: str | None = None) -> Sheet:
    """The sheet as it is opened; with a phrase, already read."""
    asked = Sheet(offers=_offers(clock), phrase=phrase, note=note or "")
    return _read(asked, clock) if phrase else asked


def answer(form: MultiDict[str, str], *, clock: Clock) -> Appointment | Sheet:
    """What a posted sheet comes to."""
    asked = Sheet(
        offers=_offers(clock),
        phrase=form.get("suggestion") or form.get("phrase", ""),
        note=form.get("note", ""),
    )
    if form.get("preset"):
        phrase, _, seen = form["preset"].rpartition("|")
        return _save(replace(asked, phrase=phrase), clock, seen=seen)
    if form.get("at"):
        return _save_instant(asked, clock, at=form["at"])
    if form.get("suggestion") or form.get("act") != "snooze" or form.get("seen_phrase") != asked.phrase:
        return _read(asked, clock)
    return _save(asked, clock, seen=form.get("seen_at", ""))


def _save(asked: Sheet, clock: Clock, *, seen: str) -> Appointment | Sheet:
    read = _read(asked, clock)
    if read.reading is None or read.reading.at is None:
        return read
    shown = instant(seen)
    if shown is None or abs(read.reading.at - shown) > SAME_MEANING:
        return replace(read, moved=shown is not None)
    try:
        return snoozing.appoint(read.reading, now=clock.now, note=asked.note)
    except CannotSnooze as refusal:
        return replace(asked, refusal=refusal)


def _save_instant(asked: Sheet, clock: Clock, *, at: str) -> Appointment | Sheet:
    moment = instant(at)
    if moment is None:
        return _read(asked, clock)
    try:
        return snoozing.appoint_instant(moment, now=clock.now, zone=clock.zone, note=asked.note)
    except CannotSnooze as refusal:
        return replace(asked, refusal=refusal)


def _read(asked: Sheet, clock: Clock) -> Sheet:
    try:
        reading = snoozing.read(asked.phrase, now=clock.now, zone=clock.zone, locale=clock.locale)
    except CannotSnooze as refusal:
        return replace(asked, refusal=refusal)
    return replace(asked, reading=reading)


def _offers(clock: Clock) -> tuple[times.Preset, ...]:
    offered = times.presets(now=clock.now, zone=clock.zone, locale=clock.locale)
    return tuple(preset for preset in offered if preset.reading.kind == "instant" and preset.reading.at is not None)


def instant(text: str) -> datetime | None:
    """An aware instant in ISO 8601, or None."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None
