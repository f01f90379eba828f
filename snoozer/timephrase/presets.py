"""The buttons: phrases of the grammar, with what they mean at this moment."""

from dataclasses import dataclass
from datetime import datetime

from snoozer.timephrase.context import WorkingHours
from snoozer.timephrase.locales import Locale
from snoozer.timephrase.parse import read
from snoozer.timephrase.result import ParsedTime, ParseError

MOST_PRESETS = 9
_USUAL = WorkingHours()


@dataclass(frozen=True, kw_only=True)
class Preset:
    """One button: what stands on it, the phrase it sends, and what that means now."""

    label: str
    phrase: str
    reading: ParsedTime


def presets(
    *,
    now: datetime,
    zone: str,
    locale: str = "en_US",
    habits: WorkingHours = _USUAL,
    choices: tuple[tuple[str, str], ...] | None = None,
) -> tuple[Preset, ...]:
    """At most nine of `choices` (label, phrase), or of the language's own.

    Left out is what the grammar refuses now (past, too soon), what falls on the instant of an earlier one, and what a
    clock change would move off its hour.
    """
    if choices is None:
        choices = Locale.named(locale).language.data.presets
    offered: dict[object, Preset] = {}
    for label, phrase in choices:
        try:
            reading = read(phrase, now=now, zone=zone, locale=locale, habits=habits)
        except ParseError:
            continue
        if "dst_gap" not in reading.flags:
            offered.setdefault((reading.kind, reading.at), Preset(label=label, phrase=phrase, reading=reading))
    return tuple(offered.values())[:MOST_PRESETS]
