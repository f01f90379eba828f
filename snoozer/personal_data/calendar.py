"""What has not returned yet as a calendar (RFC 5545): an event for each snooze, with its repetition where a rule of
the calendar means the same."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from icalendar import Calendar, Event, Timezone
from sqlalchemy import Engine

from snoozer.db.models import Account
from snoozer.db.queries import Found
from snoozer.db.queries import personal_data as queries
from snoozer.personal_data.pages import snooze_pages
from snoozer.timephrase.recurrence import Recurrence, next_occurrence
from snoozer.timephrase.zones import canonical, resolve_wall_time, zone_of
from snoozer.translations import gettext as _

_DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_FREQUENCY = {"day": "DAILY", "week": "WEEKLY", "month": "MONTHLY", "year": "YEARLY"}
_MOMENT = timedelta(microseconds=1)
# The rules of zones are written out up to then.
_YEARS_OF_RULES = 20


def as_ics(engine: Engine, *, account: Account, at: datetime) -> Iterator[bytes]:
    """The calendar in pieces; `at` is when it is made."""
    calendar = Calendar()
    calendar.add("prodid", "-//Snoozer//Snoozer//EN")
    calendar.add("version", "2.0")
    calendar.add("x-wr-calname", "Snoozer")
    head, end = calendar.to_ical().split(b"END:VCALENDAR")
    yield head
    with engine.connect() as connection:
        names = queries.zones(connection, user_email=account.email)
    for name in names:
        if _is_zone(name):
            span = date(at.year - 1, 1, 1), date(at.year + _YEARS_OF_RULES, 1, 1)
            yield Timezone.from_tzid(name, first_date=span[0], last_date=span[1]).to_ical()
    for page in snooze_pages(engine, user_email=account.email, waiting=True, alone=True):
        for row in page.snoozes:
            if row.outcome is None:
                yield _event(row).to_ical()
    yield b"END:VCALENDAR" + end


def rule_of(recurrence: Recurrence, *, promise: datetime, zone: str) -> dict[str, Any] | None:
    """The rule (RRULE) of what repeats from `promise` on; None where a calendar would count other days: where weekends
    move it, or the promise is no occurrence of it."""
    here = promise.astimezone(zone_of(zone))
    left = recurrence.after(here.date() - timedelta(days=1))
    following = next_occurrence(recurrence, after=promise - _MOMENT, zone=zone)
    if recurrence.weekend_rule != "none" or left is None or following != promise:
        return None
    rule: dict[str, Any] = {"freq": _FREQUENCY[left.unit], "interval": left.interval}
    if left.unit == "week":
        rule |= {"byday": [_DAYS[day] for day in left.weekdays], "wkst": _DAYS[left.week_start]}
    elif left.unit in {"month", "year"}:
        rule |= _month_rule(left, here)
    if left.times is not None:
        rule["count"] = left.times
    elif left.until is not None:
        last, _ = resolve_wall_time(datetime.combine(left.until, left.at), zone_of(zone))
        rule["until"] = last.astimezone(UTC)
    return rule


def _month_rule(recurrence: Recurrence, here: datetime) -> dict[str, Any]:
    months = {"bymonth": here.month} if recurrence.unit == "year" else {}
    if recurrence.nth is not None:
        return months | {"byday": [f"{recurrence.nth}{_DAYS[recurrence.weekdays[0]]}"]}
    day = recurrence.day or 1
    if day in {-1, 31}:
        return months | {"bymonthday": -1}
    # A month without that day has its last one: the last of these that it has.
    return months | ({"bymonthday": list(range(28, day + 1)), "bysetpos": -1} if day > 28 else {"bymonthday": day})


def _event(row: Found) -> Event:
    event = Event()
    # The same for this snooze in every export, here and where it is imported.
    event.add("uid", str(uuid5(NAMESPACE_URL, f"snoozer:{row.message_id} {row.created_at.astimezone(UTC)}")))
    event.add("dtstamp", row.updated_at.astimezone(UTC))
    event.add("created", row.created_at.astimezone(UTC))
    rule = _stored_rule(row)
    by_the_clock = row.zone is not None and (row.time_kind == "wall" or rule is not None) and _is_zone(row.zone)
    event.add("dtstart", row.promise.astimezone(zone_of(row.zone) if by_the_clock else UTC))
    event.add("summary", _line(row.subject) or _("No subject"))
    lines = [row.note, _("From %(sender)s", sender=_line(row.sender_email)) if row.sender_email else None]
    event.add("description", "\n".join(_plain(line) for line in lines if line) or _("Snoozed"))
    event.add("transp", "TRANSPARENT")
    event.add("categories", ["Snoozer"])
    if rule is not None:
        event.add("rrule", rule)
    return event


def _stored_rule(row: Found) -> dict[str, Any] | None:
    """The rule of a row, whose recurrence any program may have written."""
    if row.recurrence is None or row.zone is None or not _is_zone(row.zone):
        return None
    try:
        return rule_of(Recurrence.from_json(row.recurrence), promise=row.promise, zone=row.zone)
    except (ValueError, OverflowError):
        return None


def _is_zone(name: str) -> bool:
    return name != "UTC" and canonical(name) == name


def _plain(text: str) -> str:
    return "".join(char for char in text if char in "\n\t" or char.isprintable())


def _line(text: str | None) -> str:
    return " ".join(_plain(text or "").split())
