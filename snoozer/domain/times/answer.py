"""`read`, the one entrance to the grammar: a reading, or a refusal with suggestions that can be read."""

from datetime import datetime

from snoozer.domain.times.language import Locale
from snoozer.domain.times.reading import Reading, Refused
from snoozer.domain.times.suggestions import candidates
from snoozer.domain.times.understand import understand, vantage_of
from snoozer.domain.times.vantage import Habits, Vantage

MOST_SUGGESTIONS = 3
_USUAL = Habits()


def read(phrase: str, *, now: datetime, zone: str, locale: str = "en_US", habits: Habits = _USUAL) -> Reading:
    """What the whole phrase means for a person in that zone.

    `now` is aware and may come in any zone. Raises Refused, and nothing else, for every other text.
    """
    custom = Locale.named(locale)
    vantage = vantage_of(now=now, zone=zone, locale=custom, habits=habits)
    try:
        return understand(phrase, vantage=vantage, locale=custom)
    except Refused as refused:
        raise Refused(refused.code, refused.message, _offered(phrase, refused, vantage, custom)) from None


def _offered(phrase: str, refused: Refused, vantage: Vantage, locale: Locale) -> tuple[str, ...]:
    """The first few candidates that the grammar takes."""
    offered: list[str] = []
    for candidate in (*refused.suggestions, *candidates(phrase, refused.code, locale.language)):
        tidy = " ".join(candidate.split())
        if tidy not in offered and _can_be_read(tidy, vantage, locale):
            offered.append(tidy)
        if len(offered) == MOST_SUGGESTIONS:
            break
    return tuple(offered)


def _can_be_read(phrase: str, vantage: Vantage, locale: Locale) -> bool:
    try:
        understand(phrase, vantage=vantage, locale=locale)
    except Refused:
        return False
    return True
