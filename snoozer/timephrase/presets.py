"""The preset buttons: phrases of the grammar, with their present meaning."""

from dataclasses import dataclass
from datetime import datetime

from snoozer.timephrase.context import OwnDays, WorkingHours, usual_days
from snoozer.timephrase.locales import Locale
from snoozer.timephrase.parse import parse
from snoozer.timephrase.result import ParsedTime, ParseError

MAX_KEYS = 9
_DEFAULT_HOURS = WorkingHours()


@dataclass(frozen=True, kw_only=True)
class Preset:
    """One button: its label, the phrase it sends, and its present meaning. `reading` is None while it is not offered.
    `key` is the digit that chooses it, None after the ninth; it does not depend on which others are offered."""

    label: str
    phrase: str
    reading: ParsedTime | None
    key: int | None = None


def presets(
    *,
    now: datetime,
    zone: str,
    locale: str = "en_US",
    hours: WorkingHours = _DEFAULT_HOURS,
    choices: tuple[tuple[str, str], ...] | None = None,
    own: OwnDays = usual_days,
) -> tuple[Preset, ...]:
    """Returns all of `choices` (label, phrase), or of the language's own, in their order.

    Phrases are not offered if they do not parse now (past, too soon, no vacation), have no time, fall on the instant of
    an earlier preset, or would be moved off their hour by a clock change.
    """
    if choices is None:
        choices = Locale.named(locale).language.data.presets
    offered: set[tuple[str, datetime | None]] = set()
    found = []
    for number, (label, phrase) in enumerate(choices, start=1):
        reading: ParsedTime | None
        try:
            reading = parse(phrase, now=now, zone=zone, locale=locale, hours=hours, own=own)
        except ParseError:
            reading = None
        if reading is not None and (
            reading.at is None or "dst_gap" in reading.flags or (reading.kind, reading.at) in offered
        ):
            reading = None
        if reading is not None:
            offered.add((reading.kind, reading.at))
        found.append(Preset(label=label, phrase=phrase, reading=reading, key=number if number <= MAX_KEYS else None))
    return tuple(found)
