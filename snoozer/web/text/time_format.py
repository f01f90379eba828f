"""Times in words, in a person's zone and locale: "Friday 08:00", "in 22 hours", and the exact instant."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from snoozer.timephrase.describe import MINUTE, counted
from snoozer.timephrase.describe import distance as distance_ahead
from snoozer.timephrase.describe import span_in_words as exact_span
from snoozer.timephrase.locales import Locale
from snoozer.timephrase.zones import zone_or_utc


@dataclass(frozen=True, kw_only=True)
class TimeFormatter:
    """Formats instants in `zone` relative to `now`, which is the database's time."""

    now: datetime
    zone: str
    locale: str

    def local(self, moment: datetime) -> datetime:
        return moment.astimezone(zone_or_utc(self.zone))

    def time(self, moment: datetime) -> str:
        """08:00, or 8:00 am in locales with a twelve-hour clock."""
        return self.hour(self.local(moment))

    def hour(self, wall: datetime) -> str:
        """Formats the hour of a datetime as it is, without conversion to the zone."""
        if not Locale.named(self.locale).region.twelve_hour:
            return f"{wall:%H:%M}"
        return f"{wall.hour % 12 or 12}:{wall:%M} {'am' if wall.hour < 12 else 'pm'}"

    def date(self, moment: datetime) -> str:
        """Friday 27 November, with the year when it is another one."""
        return self._dated(self.local(moment), weekday="%A")

    def day(self, moment: datetime) -> str:
        """Today, Tomorrow, Yesterday, Friday (within the next six days), or the date."""
        away = self._days_away(moment)
        named = {-1: "Yesterday", 0: "Today", 1: "Tomorrow"}.get(away)
        return named or (f"{self.local(moment):%A}" if 1 < away < 7 else self.date(moment))

    def words(self, moment: datetime) -> str:
        """Friday 08:00 · Tomorrow 08:00 · Friday 27 November, 08:00."""
        day = self.day(moment)
        return f"{day}{',' if ' ' in day else ''} {self.time(moment)}"

    def inline(self, moment: datetime) -> str:
        """The same inside a sentence: promised for today 08:00."""
        words = self.words(moment)
        return words[0].lower() + words[1:] if words.startswith(("Today", "Tomorrow", "Yesterday")) else words

    def chip(self, moment: datetime) -> str:
        """The shortest: 08:00 today, Fri 08:00 this week, Fri 27 Nov 08:00 later."""
        return self.time(moment) if self._days_away(moment) == 0 else self.short(moment)

    def under(self, moment: datetime, heading: str) -> str:
        """The chip in a group of a list: the hour alone where the heading is its day."""
        return self.time(moment) if self.day(moment) == heading else self.chip(moment)

    def short(self, moment: datetime) -> str:
        """Fri 08:00 this week, Fri 27 Nov 08:00 later."""
        local = self.local(moment)
        if -7 < self._days_away(moment) < 7:
            return f"{local:%a} {self.time(moment)}"
        return f"{self._dated(local, weekday='%a', short=True)} {self.time(moment)}"

    def distance(self, moment: datetime) -> str:
        """In 22 hours, 5 minutes ago, now: rounded as in the sentence that reads a phrase."""
        span = moment - self.now
        if abs(span) < timedelta(seconds=30):
            return "now"
        ahead = distance_ahead(abs(span))
        return ahead if span > timedelta(0) else f"{ahead.removeprefix('in ')} ago"

    def exact(self, moment: datetime) -> str:
        """Friday 27 November 2026, 08:00:05 (UTC+01:00, Europe/Berlin)."""
        local = self.local(moment)
        offset = f"{local:%z}"
        utc = "UTC" if not int(offset[:5]) else f"UTC{offset[:3]}:{offset[3:5]}"
        place = utc if self.zone in {"UTC", utc} else f"{utc}, {self.zone}"
        return f"{local:%A} {local.day} {local:%B %Y}, {local:%H:%M:%S} ({place})"

    def _days_away(self, moment: datetime) -> int:
        return (self.local(moment).date() - self.local(self.now).date()).days

    def _dated(self, local: datetime, *, weekday: str, short: bool = False) -> str:
        month = local.strftime("%b" if short else "%B")
        day = f"{month} {local.day}" if Locale.named(self.locale).region.month_first else f"{local.day} {month}"
        year = "" if local.year == self.local(self.now).year else f" {local.year}"
        return f"{local.strftime(weekday)} {day}{year}"


def parse_instant(text: str | None) -> datetime | None:
    """Returns the aware datetime of an ISO 8601 text, or None."""
    try:
        instant = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return instant if instant.tzinfo is not None else None


def span_in_words(span: timedelta) -> str:
    """How long, rounded as a distance is; below a minute in seconds."""
    return exact_span(span) if span < MINUTE else distance_ahead(span).removeprefix("in ")


def count_in_words(number: int) -> str:
    """Once, twice, 3 times."""
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def size_in_words(size: int) -> str:
    """980 bytes, 12 kB, 3.4 MB."""
    if size < 1000:
        return counted(size, "byte")
    return f"{round(size / 1000)} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"
