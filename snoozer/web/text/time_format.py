"""Times in words, in a person's zone and locale: "Friday 08:00", "in 22 hours", and the exact instant."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from snoozer.mail.calendar_events import Moment
from snoozer.timephrase.context import usual_days
from snoozer.timephrase.date_format import WEEKDAY_NAMES, DateFormat, short_weekday
from snoozer.timephrase.day_shape import Arrival, Days, DayShape
from snoozer.timephrase.describe import counted, distance, distance_back
from snoozer.timephrase.zones import zone_in_words, zone_or_utc
from snoozer.translations import N_, ngettext
from snoozer.translations import gettext as _

_NEAR_DAYS = {-1: N_("Yesterday"), 0: N_("Today"), 1: N_("Tomorrow")}


@dataclass(frozen=True, kw_only=True)
class TimeFormatter:
    """Writes instants by the `DateFormat` of the locale, in `zone` and relative to `now`, which is the database's time.
    `days` are the person's, if they chose a shape."""

    now: datetime
    zone: str
    locale: str
    days: Days | None = None

    @cached_property
    def dates(self) -> DateFormat:
        return DateFormat.of(self.locale)

    def arrival(self, promise: datetime) -> Arrival:
        """The arrival of something promised for this time, according to the shape of the person's day."""
        if self.days is None or promise <= self.now:
            return Arrival(at=promise)
        return self.days.arrival(promise)

    def own(self) -> DayShape:
        """The shape of the person's days, which phrases may name."""
        return usual_days() if self.days is None else self.days.shape

    def local(self, moment: datetime) -> datetime:
        return moment.astimezone(zone_or_utc(self.zone))

    def time(self, moment: datetime, *, seconds: bool = False) -> str:
        """08:00, or 8:00 am in locales with a twelve-hour clock."""
        return self.dates.hour(self.local(moment), seconds=seconds)

    def date(self, moment: datetime) -> str:
        """Friday 27 November, with the year if it is not the current one."""
        return self._dated(self.local(moment))

    def day(self, moment: datetime) -> str:
        """Today, Tomorrow, Yesterday, Friday (within the next six days), or the date."""
        away = self._days_away(moment)
        if away in _NEAR_DAYS:
            return _(_NEAR_DAYS[away])
        return _(WEEKDAY_NAMES[self.local(moment).weekday()]) if 1 < away < 7 else self.date(moment)

    def words(self, moment: datetime) -> str:
        """Friday 08:00 · Tomorrow 08:00 · Friday 27 November, 08:00."""
        day = self.day(moment)
        return f"{day}{',' if ' ' in day else ''} {self.time(moment)}"

    def span(self, start: Moment, end: Moment | None) -> str:
        """From one moment of an event to the other: instants in the person's zone, and times without a zone, or whole
        days, as they are."""
        first, last = self._of_event(start), self._of_event(end or start)
        if isinstance(start, datetime) and isinstance(end, datetime):
            days = [(self.local(each) if each.tzinfo else each).date() for each in (start, end)]
            last = self.time(end) if end.tzinfo else self.dates.hour(end)
            last = last if days[0] == days[1] else self._of_event(end)
        return first if first == last or end in (None, start) else f"{first} – {last}"

    def _of_event(self, moment: Moment) -> str:
        if not isinstance(moment, datetime):
            return self._dated(moment)
        if moment.tzinfo:
            return self.words(moment)
        return f"{self._dated(moment)}, {self.dates.hour(moment)}"

    def inline(self, moment: datetime) -> str:
        """The same inside a sentence: promised for today 08:00."""
        words = self.words(moment)
        return words[0].lower() + words[1:] if self._days_away(moment) in _NEAR_DAYS else words

    def chip(self, moment: datetime) -> str:
        """The shortest: 08:00 today, Fri 08:00 this week, Fri 27 Nov 08:00 later."""
        return self.time(moment) if self._days_away(moment) == 0 else self.short(moment)

    def under(self, moment: datetime, heading: str) -> str:
        """The chip in a group of a list: only the hour if the heading is its day."""
        return self.time(moment) if self.day(moment) == heading else self.chip(moment)

    def short(self, moment: datetime) -> str:
        """Today 08:00, Fri 08:00 this week, Fri 27 Nov 08:00 later."""
        local, away = self.local(moment), self._days_away(moment)
        near = _("Today") if away == 0 else short_weekday(local)
        day = near if -7 < away < 7 else self._dated(local, short=True)
        return f"{day} {self.time(moment)}"

    def distance(self, moment: datetime) -> str:
        """In 22 hours, 5 minutes ago, now: rounded as in the sentence about a phrase's meaning."""
        span = moment - self.now
        if abs(span) < timedelta(seconds=30):
            return _("now")
        return distance(span) if span > timedelta(0) else distance_back(-span)

    def exact(self, moment: datetime) -> str:
        """Friday 27 November 2026, 08:00:05 (UTC+01:00, Europe/Berlin)."""
        local = self.local(moment)
        offset = f"{local:%z}"
        utc = "UTC" if not int(offset[:5]) else f"UTC{offset[:3]}:{offset[3:5]}"
        place = utc if self.zone in {"UTC", utc} else f"{utc}, {zone_in_words(self.zone)}"
        return f"{self.dates.instant(local, seconds=True)} ({place})"

    def _days_away(self, moment: datetime) -> int:
        return (self.local(moment).date() - self.local(self.now).date()).days

    def _dated(self, day: Moment, *, short: bool = False) -> str:
        return self.dates.day_from(day, today=self.local(self.now), short=short)


def parse_instant(text: str | None) -> datetime | None:
    """Returns the aware datetime of an ISO 8601 text, or None."""
    try:
        instant = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return instant if instant.tzinfo is not None else None


def count_in_words(number: int) -> str:
    """Once, twice, 3 times."""
    return _("twice") if number == 2 else ngettext("once", "%(num)s times", number)


def size_in_words(size: int) -> str:
    """980 bytes, 12 kB, 3.4 MB."""
    if size < 1000:
        return counted(size, "byte")
    return f"{round(size / 1000)} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"
