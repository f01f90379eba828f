"""Time zones: the names we accept, the abbreviations we refuse, and wall times that do not exist or come twice."""

import json
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

_WORDS = Path(__file__).parent / "words"

# Lower case → spelling in the tz database. "localtime" is the zone of the machine: the same phrase would differ from
# server to server. "Factory" stands for a machine without a configured zone.
NAMES = {name.lower(): name for name in available_timezones() - {"localtime", "Factory"}}

# Abbreviation → the place and the offset to suggest instead.
ABBREVIATIONS: dict[str, tuple[str, str]] = {
    name: (instead["place"], instead["offset"])
    for name, instead in json.loads((_WORDS / "zone_abbreviations.json").read_text(encoding="utf-8")).items()
}

# Names of the tz database that are short, or hold a digit, and yet no abbreviation of something else.
_CLEAR = frozenset({"gb", "nz", "uct", "est5edt", "cst6cdt", "mst7mdt", "pst8pdt"})


def canonical(name: str) -> str | None:
    """The zone of that name as the tz database spells it, or None."""
    return NAMES.get(name.lower())


def named_in_a_phrase(word: str) -> str | None:
    """The zone that a word of a phrase names: UTC, GMT, Z, a place. Short names such as CET are abbreviations."""
    if word in ("utc", "gmt", "z"):
        return "GMT" if word == "gmt" else "UTC"
    name = NAMES.get(word)
    if word in _CLEAR:
        return name
    if name is None or ("/" not in name and (len(name) < 4 or not name[1:].islower())):
        return None
    return name


@lru_cache(maxsize=700)
def zone_of(name: str) -> tzinfo:
    """The rules of a named zone, or of a fixed offset such as +02:00. KeyError or ValueError for any other."""
    if is_offset(name):
        hours, minutes = name[1:].split(":")
        return timezone((-1 if name[0] == "-" else 1) * timedelta(hours=int(hours), minutes=int(minutes)))
    try:
        return ZoneInfo(name)
    except OSError:
        # "Europe" is a folder of the tz database.
        raise ZoneInfoNotFoundError(f"No time zone found with key {name}") from None


@lru_cache(maxsize=700)
def zone_in_words(name: str) -> str:
    """America/New York."""
    return name.replace("_", " ")


@lru_cache(maxsize=700)
def zone_or_utc(name: str | None) -> tzinfo:
    """The rules of a named zone, or UTC if this machine does not know the name: rows may come from anywhere, and are
    shown and sent all the same."""
    try:
        return ZoneInfo(name or "UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


def is_offset(name: str) -> bool:
    return name[:1] in ("+", "-")


def resolve_wall_time(wall: datetime, zone: tzinfo) -> tuple[datetime, frozenset[str]]:
    """The instant (UTC) of a naive wall time. In a gap it moves forward by the gap; in an overlap the first counts."""
    first = wall.replace(tzinfo=zone, fold=0)
    instant = first.astimezone(UTC)
    if instant.astimezone(zone).replace(tzinfo=None, fold=0) != wall.replace(fold=0):
        return instant, frozenset({"dst_gap"})
    if first.utcoffset() != wall.replace(tzinfo=zone, fold=1).utcoffset():
        return instant, frozenset({"dst_overlap"})
    return instant, frozenset()


def local(instant: datetime, zone: str) -> datetime:
    """The instant with the offset that the zone has then. The offset is a fixed one, because Python compares two
    times of the same ZoneInfo by their wall clocks, and an overlap would put them in the wrong order."""
    there = instant.astimezone(zone_of(zone))
    return there.replace(tzinfo=timezone(there.utcoffset() or timedelta()), fold=0)


def wall_time(instant: datetime, zone: str) -> datetime:
    """The naive time on the clock of that zone."""
    return instant.astimezone(zone_of(zone)).replace(tzinfo=None, fold=0)
