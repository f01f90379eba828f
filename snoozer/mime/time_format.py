"""Times as a mail shows them, in the zone of the person who reads it."""

from datetime import datetime, timedelta, tzinfo

from snoozer.timephrase.describe import EXACT, MONTH_NAMES, WEEKDAY_NAMES, span_in_words

LATE_AFTER = timedelta(seconds=60)


def format_instant(instant: datetime, zone: tzinfo, *, seen_from: datetime, near: bool = False) -> str:
    """`Friday 6 March, 08:00`; with the year when `seen_from` lies in another, `near` without the day on the same."""
    local, other = instant.astimezone(zone), seen_from.astimezone(zone)
    clock = f"{local.hour:02}:{local.minute:02}"
    if near and local.date() == other.date():
        return clock
    year = "" if local.year == other.year else f" {local.year}"
    return f"{WEEKDAY_NAMES[local.weekday()]} {local.day} {MONTH_NAMES[local.month - 1]}{year}, {clock}"


def zone_label(instant: datetime, zone: tzinfo) -> str:
    """`Berlin time`; an offset such as `UTC+05:30` where the zone is no place."""
    key = getattr(zone, "key", "UTC")
    if "/" in key and not key.startswith("Etc/"):
        return f"{key.rpartition('/')[2].replace('_', ' ')} time"
    minutes = int((instant.astimezone(zone).utcoffset() or timedelta()) / timedelta(minutes=1))
    return f"UTC{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}" if minutes else "UTC"


def format_lateness(promised: datetime, ready: datetime) -> str | None:
    """`2 hours 5 minutes` when `ready` is more than a minute after the promise, else None."""
    late = ready - promised
    if late <= LATE_AFTER:
        return None
    # Begun minutes do not count: the mail must not claim more than passed.
    return span_in_words(late - late % timedelta(minutes=1), EXACT)
