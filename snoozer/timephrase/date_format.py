"""How dates and hours are written for people. Every page, mail, answer and message writes them with a `DateFormat`."""

from dataclasses import dataclass
from datetime import date, datetime, time
from functools import lru_cache
from gettext import NullTranslations

from snoozer import translations
from snoozer.timephrase.locales import Locale, Region
from snoozer.translations import N_
from snoozer.translations import gettext as _

MONTH_NAMES = (
    N_("January"), N_("February"), N_("March"), N_("April"), N_("May"), N_("June"),
    N_("July"), N_("August"), N_("September"), N_("October"), N_("November"), N_("December"),
)  # fmt: skip
WEEKDAY_NAMES = (
    N_("Monday"), N_("Tuesday"), N_("Wednesday"), N_("Thursday"), N_("Friday"), N_("Saturday"), N_("Sunday"),
)  # fmt: skip
_SHORT_MONTHS = (
    N_("Jan"), N_("Feb"), N_("Mar"), N_("Apr"), N_("May"), N_("Jun"),
    N_("Jul"), N_("Aug"), N_("Sep"), N_("Oct"), N_("Nov"), N_("Dec"),
)  # fmt: skip
_SHORT_WEEKDAYS = (N_("Mon"), N_("Tue"), N_("Wed"), N_("Thu"), N_("Fri"), N_("Sat"), N_("Sun"))


@dataclass(frozen=True)
class DateFormat:
    """Region and spoken language: the region decides the order and the clock, the language the words. Datetimes
    are written as they are, without conversion to a zone."""

    region: Region

    @classmethod
    def of(cls, locale: str) -> "DateFormat":
        return cls(Locale.named(locale).region)

    def hour(self, when: datetime | time, *, seconds: bool = False) -> str:
        """08:00, 08:00:24, or in regions with a twelve-hour clock 8:00 am, 8:00:24 am."""
        minutes = f":{when.minute:02}:{when.second:02}" if seconds else f":{when.minute:02}"
        if self.region.twelve_hour:
            return f"{when.hour % 12 or 12}{minutes} {'am' if when.hour < 12 else 'pm'}"
        return f"{when.hour:02}{minutes}"

    def clear_hour(self, when: datetime | time) -> str:
        """The hour, with its seconds if there are any."""
        return self.hour(when, seconds=bool(when.second))

    def day(self, day: date, *, weekday: bool = True, year: bool = True, short: bool = False) -> str:
        """Friday 27 November 2026, or Friday, November 27, 2026; `short` is Fri 27 Nov 2026."""
        words = translations.catalogue(translations.current_language())
        return _day(words, self.region, date(day.year, day.month, day.day), weekday, year, short)

    def day_from(self, day: date, *, today: date, weekday: bool = True, short: bool = False) -> str:
        """The date, with its year if that is not the year of `today`."""
        return self.day(day, weekday=weekday, year=day.year != today.year, short=short)

    def instant(self, when: datetime, *, seconds: bool = False) -> str:
        """Friday 27 November 2026, 08:00."""
        return f"{self.day(when)}, {self.hour(when, seconds=seconds)}"


# Many reminders, and many rows of a page, are of the same days.
@lru_cache(maxsize=1024)
def _day(words: NullTranslations, region: Region, day: date, weekday: bool, year: bool, short: bool) -> str:
    weekdays, months = (_SHORT_WEEKDAYS, _SHORT_MONTHS) if short else (WEEKDAY_NAMES, MONTH_NAMES)
    name, month = words.gettext(weekdays[day.weekday()]), words.gettext(months[day.month - 1])
    if region.month_first:
        written = f"{month} {day.day}, {day.year}" if year else f"{month} {day.day}"
        return f"{name}, {written}" if weekday else written
    written = words.gettext(N_("%(day)s %(month)s")) % {"day": day.day, "month": month}
    written = f"{written} {day.year}" if year else written
    if not weekday:
        return written
    joined = "%(weekday)s %(date)s" if short else words.gettext(N_("%(weekday)s %(date)s"))
    return joined % {"weekday": name, "date": written}


def month_name(month: int, year: int | None = None) -> str:
    """November, or November 2026."""
    return _(MONTH_NAMES[month - 1]) + (f" {year}" if year else "")


def short_weekday(day: date) -> str:
    return _(_SHORT_WEEKDAYS[day.weekday()])


def weekday_names() -> list[tuple[str, str]]:
    """The days from Monday on, each in short and in full."""
    return [(_(short), _(name)) for short, name in zip(_SHORT_WEEKDAYS, WEEKDAY_NAMES, strict=True)]
