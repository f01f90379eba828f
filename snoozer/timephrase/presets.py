"""The buttons: phrases of the grammar, with what they mean at this moment."""

from dataclasses import dataclass
from datetime import datetime

from snoozer.timephrase.context import WorkingHours
from snoozer.timephrase.locales import Locale
from snoozer.timephrase.parse import parse
from snoozer.timephrase.result import ParsedTime, ParseError

MAX_PRESETS = 9
_DEFAULT_HOURS = WorkingHours()


@dataclass(frozen=True, kw_only=True)
class Preset:
    """One button: its label, the phrase it sends, and what that means now."""

    label: str
    phrase: str
    reading: ParsedTime


def presets(
    *,
    now: datetime,
    zone: str,
    locale: str = "en_US",
    hours: WorkingHours = _DEFAULT_HOURS,
    choices: tuple[tuple[str, str], ...] | None = None,
) -> tuple[Preset, ...]:
    """At most nine of `choices` (label, phrase), or of the language's own.

    Left out are phrases that do not parse now (past, too soon), those that fall on the instant of an earlier one, and
    those that a clock change would move off their hour.
    """
    if choices is None:
        choices = Locale.named(locale).language.data.presets
    offered: dict[object, Preset] = {}
    for label, phrase in choices:
        try:
            parsed = parse(phrase, now=now, zone=zone, locale=locale, hours=hours)
        except ParseError:
            continue
        if "dst_gap" not in parsed.flags:
            offered.setdefault((parsed.kind, parsed.at), Preset(label=label, phrase=phrase, reading=parsed))
    return tuple(offered.values())[:MAX_PRESETS]
