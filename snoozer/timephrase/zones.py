"""Time zones: the names we accept, the abbreviations we refuse, and wall times that do not exist or come twice."""

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

# Lower case → as the tz database spells it. "localtime" is whatever the machine is set to: the same phrase would
# differ from server to server. "Factory" stands for a machine that was set to nothing.
NAMES = {name.lower(): name for name in available_timezones() - {"localtime", "Factory"}}

# What an abbreviation may have meant: a place and an offset to suggest instead. The offset is the one meant most often.
ABBREVIATIONS = {
    "est": ("America/New_York", "-05:00"),
    "edt": ("America/New_York", "-04:00"),
    "et": ("America/New_York", "-05:00"),
    "cst": ("America/Chicago", "-06:00"),
    "cdt": ("America/Chicago", "-05:00"),
    "ct": ("America/Chicago", "-06:00"),
    "mst": ("America/Denver", "-07:00"),
    "mdt": ("America/Denver", "-06:00"),
    "mt": ("America/Denver", "-07:00"),
    "pst": ("America/Los_Angeles", "-08:00"),
    "pdt": ("America/Los_Angeles", "-07:00"),
    "pt": ("America/Los_Angeles", "-08:00"),
    "akst": ("America/Anchorage", "-09:00"),
    "akdt": ("America/Anchorage", "-08:00"),
    "hst": ("Pacific/Honolulu", "-10:00"),
    "ast": ("America/Halifax", "-04:00"),
    "adt": ("America/Halifax", "-03:00"),
    "nst": ("America/St_Johns", "-03:30"),
    "ndt": ("America/St_Johns", "-02:30"),
    "brt": ("America/Sao_Paulo", "-03:00"),
    "art": ("America/Argentina/Buenos_Aires", "-03:00"),
    "bst": ("Europe/London", "+01:00"),
    "ist": ("Asia/Kolkata", "+05:30"),
    "wet": ("Europe/Lisbon", "+00:00"),
    "west": ("Europe/Lisbon", "+01:00"),
    "cet": ("Europe/Berlin", "+01:00"),
    "cest": ("Europe/Berlin", "+02:00"),
    "met": ("Europe/Berlin", "+01:00"),
    "mez": ("Europe/Berlin", "+01:00"),
    "mesz": ("Europe/Berlin", "+02:00"),
    "eet": ("Europe/Helsinki", "+02:00"),
    "eest": ("Europe/Helsinki", "+03:00"),
    "msk": ("Europe/Moscow", "+03:00"),
    "trt": ("Europe/Istanbul", "+03:00"),
    "sast": ("Africa/Johannesburg", "+02:00"),
    "wat": ("Africa/Lagos", "+01:00"),
    "cat": ("Africa/Maputo", "+02:00"),
    "eat": ("Africa/Nairobi", "+03:00"),
    "gst": ("Asia/Dubai", "+04:00"),
    "pkt": ("Asia/Karachi", "+05:00"),
    "npt": ("Asia/Kathmandu", "+05:45"),
    "ict": ("Asia/Bangkok", "+07:00"),
    "wib": ("Asia/Jakarta", "+07:00"),
    "hkt": ("Asia/Hong_Kong", "+08:00"),
    "sgt": ("Asia/Singapore", "+08:00"),
    "pht": ("Asia/Manila", "+08:00"),
    "awst": ("Australia/Perth", "+08:00"),
    "jst": ("Asia/Tokyo", "+09:00"),
    "kst": ("Asia/Seoul", "+09:00"),
    "acst": ("Australia/Adelaide", "+09:30"),
    "acdt": ("Australia/Adelaide", "+10:30"),
    "aest": ("Australia/Sydney", "+10:00"),
    "aedt": ("Australia/Sydney", "+11:00"),
    "nzst": ("Pacific/Auckland", "+12:00"),
    "nzdt": ("Pacific/Auckland", "+13:00"),
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
    """The rules of a named zone, or of a fixed offset such as +02:00. KeyError or ValueError for any other name."""
    if is_offset(name):
        hours, minutes = name[1:].split(":")
        return timezone((-1 if name[0] == "-" else 1) * timedelta(hours=int(hours), minutes=int(minutes)))
    try:
        return ZoneInfo(name)
    except OSError:
        # "Europe" is a folder of the tz database.
        raise ZoneInfoNotFoundError(f"No time zone found with key {name}") from None


@lru_cache(maxsize=700)
def zone_or_utc(name: str | None) -> tzinfo:
    """The rules of a named zone, and UTC where this machine knows none of that name: rows may come from anywhere, and
    are shown and sent all the same."""
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
