"""The snooze sheet: what was typed or pressed becomes an appointment, or the sheet again with its answer.

A reading is shown before it is saved: typed words are saved only when the person has seen what they mean, and a button
only while it still means what it said.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from werkzeug.datastructures import MultiDict

from snoozer import snoozing, timephrase
from snoozer.db.accounts import SavedTimes
from snoozer.db.queue import ReminderTime
from snoozer.snoozing import SnoozeError
from snoozer.web.text.time_format import Clock

# "in 3 hours" moves on while a person thinks; a day's difference is another meaning.
SAME_MEANING = timedelta(minutes=30)
MOST_LATELY = 3
NOBODYS = SavedTimes()


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """What a posted sheet comes to: the appointment, the reading it was made from, and the words to offer next time
    (`typed`; None for a preset)."""

    appointment: ReminderTime
    reading: timephrase.ParsedTime | None = None
    typed: str | None = None


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """What the sheet shows. `offers` are the presets, `lately` the phrases typed last; `moved` says that the words
    now mean another time than the one that was shown."""

    offers: tuple[timephrase.Preset, ...]
    lately: tuple[timephrase.Preset, ...] = ()
    phrase: str = ""
    note: str = ""
    reading: timephrase.ParsedTime | None = None
    refusal: SnoozeError | None = None
    moved: bool = False

    @property
    def wrong_time(self) -> SnoozeError | None:
        """Why the time cannot be taken."""
        return None if self.wrong_note else self.refusal

    @property
    def wrong_note(self) -> SnoozeError | None:
        """Why the note cannot be kept; what the time means stands all the same."""
        return self.refusal if self.refusal and self.refusal.code == "note_too_long" else None

    @property
    def status(self) -> int:
        """422 for what cannot be taken, 200 for a question."""
        return 422 if self.refusal else 200


def sheet(clock: Clock, *, usual: SavedTimes = NOBODYS, phrase: str = "", note: str | None = None) -> Sheet:
    """The sheet as it is opened; with a phrase, already read."""
    asked = _opened(clock, usual, phrase=phrase, note=note or "")
    return _read(asked, clock) if phrase else asked


def answer(form: MultiDict[str, str], *, clock: Clock, usual: SavedTimes = NOBODYS) -> Chosen | Sheet:
    """What a posted sheet comes to."""
    asked = _opened(clock, usual, phrase=form.get("suggestion") or form.get("phrase", ""), note=form.get("note", ""))
    if form.get("preset"):
        phrase, _, seen = form["preset"].rpartition("|")
        return _save(replace(asked, phrase=phrase), clock, seen=seen, typed=phrase in usual.phrases)
    if form.get("at"):
        return _save_instant(asked, clock, at=form["at"])
    if form.get("suggestion") or form.get("act") != "snooze" or form.get("seen_phrase") != asked.phrase:
        return _read(asked, clock)
    return _save(asked, clock, seen=form.get("seen_at", ""))


def _save(asked: Sheet, clock: Clock, *, seen: str, typed: bool = True) -> Chosen | Sheet:
    read = _read(asked, clock)
    if read.reading is None or read.reading.at is None:
        return read
    shown = instant(seen)
    if shown is None or abs(read.reading.at - shown) > SAME_MEANING:
        return replace(read, moved=shown is not None)
    try:
        appointment = snoozing.reminder_time_of(read.reading, now=clock.now, note=asked.note)
    except SnoozeError as refusal:
        return replace(read, refusal=refusal)
    return Chosen(
        appointment=appointment, reading=read.reading, typed=snoozing.clean_phrase(asked.phrase) if typed else None
    )


def _save_instant(asked: Sheet, clock: Clock, *, at: str) -> Chosen | Sheet:
    """The other meaning of the phrase, kept by the clock as the first one would have been; else a bare instant."""
    moment = instant(at)
    read = _read(asked, clock)
    if moment is None:
        return read
    reading = read.reading if read.reading is not None and read.reading.alternative == moment else None
    try:
        if reading is not None:
            appointment = snoozing.reminder_time_of(reading, now=clock.now, note=asked.note, alternative=True)
        else:
            appointment = snoozing.reminder_time_at(moment, now=clock.now, zone=clock.zone, note=asked.note)
    except SnoozeError as refusal:
        return replace(read, refusal=refusal)
    return Chosen(appointment=appointment, reading=reading)


def _read(asked: Sheet, clock: Clock) -> Sheet:
    try:
        reading = snoozing.parse_phrase(asked.phrase, now=clock.now, zone=clock.zone, locale=clock.locale)
    except SnoozeError as refusal:
        return replace(asked, refusal=refusal)
    return replace(asked, reading=reading)


def _opened(clock: Clock, usual: SavedTimes, *, phrase: str, note: str) -> Sheet:
    offers = _offered(clock, usual.presets)
    taken = {(offer.reading.kind, offer.reading.at) for offer in offers}
    lately = (
        offer
        for offer in _offered(clock, tuple((phrase, phrase) for phrase in usual.phrases))
        if (offer.reading.kind, offer.reading.at) not in taken
    )
    return Sheet(offers=offers, lately=tuple(lately)[:MOST_LATELY], phrase=phrase, note=note)


def _offered(clock: Clock, choices: tuple[tuple[str, str], ...] | None) -> tuple[timephrase.Preset, ...]:
    offered = timephrase.presets(now=clock.now, zone=clock.zone, locale=clock.locale, choices=choices)
    return tuple(offer for offer in offered if offer.reading.kind != "condition" and offer.reading.at is not None)


def instant(text: str) -> datetime | None:
    """An aware instant in ISO 8601, or None."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None
