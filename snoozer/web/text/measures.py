"""Numbers with their units for operators: short, in English, and aligned by their digits."""

from datetime import datetime, timedelta
from math import ceil

from snoozer.web.text.time_format import TimeFormatter

_UNITS = ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min"), (60, "min", 1, "s"))
_SIZES = ("B", "kB", "MB", "GB", "TB", "PB")


def age(span: timedelta) -> str:
    """34 s, 3 min 10 s, 2 h 5 min, 3 d 4 h; a time in the future, as after a clock change, is 0 s."""
    seconds = max(int(span.total_seconds()), 0)
    for size, unit, smaller, smaller_unit in _UNITS:
        if seconds >= size:
            rest = seconds % size // smaller
            return f"{seconds // size} {unit}{f' {rest} {smaller_unit}' if rest else ''}"
    return f"{seconds} s"


def seconds(number: float) -> str:
    """0.25 s, 14 s, 3 min 10 s. A negative number is 0 s."""
    if number < 10:
        return f"{max(number, 0):.2f} s"
    return f"{ceil(number)} s" if number < 120 else age(timedelta(seconds=number))


def size(octets: int) -> str:
    """980 B, 12 kB, 3.4 MB."""
    number, unit = float(octets), _SIZES[0]
    for unit in _SIZES:  # noqa: B007 - the last one is used below
        if number < 1000:
            break
        number /= 1000
    return f"{octets} B" if unit == "B" else f"{number:.{0 if number >= 100 or unit == 'kB' else 1}f} {unit}"


def nearly_all(rows: int, p99: float) -> str:
    """99 % within 14 s; of fewer than a hundred, all are within it."""
    return f"{'all ' if 1 < rows < 100 else '' if rows == 1 else '99 % '}within {seconds(p99)}"


def rate(number: float) -> str:
    """0.3 a minute, 12 a minute, or less than 0.1 a minute."""
    if 0 < number < 0.05:
        return "less than 0.1 a minute"
    return f"{number:,.0f} a minute" if number >= 10 else f"{number:,.1f} a minute"


def at_most(number: float) -> str:
    """Up to 0.3 a minute, or less than 0.1 a minute."""
    return rate(number) if 0 < number < 0.05 else f"up to {rate(number)}"


def share(part: float) -> str:
    """0 %, 0.3 %, 12 %."""
    percent = part * 100
    return f"{percent:.1f} %" if 0 < percent < 10 else f"{percent:.0f} %"


def hour_of(times: TimeFormatter, moment: datetime) -> str:
    """08:12 today, 24 Nov 08:12 on another day."""
    local, today = times.local(moment), times.local(times.now)
    hour = times.time(moment)
    if local.date() == today.date():
        return hour
    return f"{times.dates.day_from(local, today=today, weekday=False, short=True)} {hour}"
