"""Converts schedules of other schedulers to recurrences: by days, weeks, months and years at one time of the day. Other
schedules are refused, not approximated."""

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any

from snoozer.operators.cutover.restricted_pickle import Plain
from snoozer.timephrase.recurrence import Recurrence, Unit
from snoozer.timephrase.zones import resolve_wall_time, wall_time, zone_of

# In a short month, cron skips a later day, while Snoozer uses the month's last day.
_LAST_COMMON_DAY = 28
_MAX_TEXT = 100
_MAX_DAYS = 3653
# The largest number in a field of a trigger is a year.
_MAX_NUMBER = 9999
_WEEKDAYS = {name: number for number, name in enumerate(("sun", "mon", "tue", "wed", "thu", "fri", "sat"))}
_RANGE = re.compile(r"(\w+)(?:-(\w+))?")


class NotARepetition(ValueError):
    """A schedule without an equivalent here; the text goes on after "because"."""


@dataclass(frozen=True, kw_only=True)
class Crontab:
    """The values that each field allows; None means all. Weekdays count from Monday = 0; -1 is a month's last day, and
    `nth` the place of the one weekday in its month."""

    minute: frozenset[int] | None = None
    hour: frozenset[int] | None = None
    weekday: frozenset[int] | None = None
    day: frozenset[int] | None = None
    month: frozenset[int] | None = None
    nth: int | None = None

    def recurrence(self, *, due: datetime, zone: str) -> Recurrence:
        """The same recurrence, from the promise on. Raises NotARepetition."""
        local = wall_time(due, zone)
        if self.minute is None or self.hour is None or len(self.minute) > 1 or len(self.hour) > 1:
            raise NotARepetition("it comes more than once a day")
        if (min(self.hour), min(self.minute)) != (local.hour, local.minute):
            raise NotARepetition("its next time is not one of its schedule's")
        days: dict[str, Any] = {}
        unit: Unit = "day"
        if self.nth is not None or self.day is not None:
            unit, days = "month", self._day_of_month()
            if self.month is not None:
                [month] = self.month if len(self.month) == 1 else [None]
                if month is None:
                    raise NotARepetition("it comes in some months only")
                unit, days = "year", days | {"month": month}
        elif self.month is not None:
            raise NotARepetition("it comes in some months only")
        elif self.weekday is not None:
            unit, days = "week", {"weekdays": tuple(sorted(self.weekday))}
        return _recurrence(unit, 1, due=local, **days)

    def next_after(self, now: datetime, *, zone: str) -> datetime:
        """The next time. Raises NotARepetition."""
        if self.minute is None or self.hour is None or len(self.minute) > 1 or len(self.hour) > 1:
            raise NotARepetition("it comes more than once a day")
        at = time(min(self.hour), min(self.minute))
        today = wall_time(now, zone).date()
        for day in (today + timedelta(days=ahead) for ahead in range(_MAX_DAYS)):
            instant, _ = resolve_wall_time(datetime.combine(day, at), zone_of(zone))
            if instant > now and self._has(day):
                return instant
        raise NotARepetition("it does not come within ten years")

    def _has(self, day: date) -> bool:
        fields = ((self.weekday, day.weekday()), (self.day, day.day), (self.month, day.month))
        return all(allowed is None or number in allowed for allowed, number in fields)

    def _day_of_month(self) -> dict[str, Any]:
        if self.nth is not None:
            return {"nth": self.nth, "weekdays": tuple(self.weekday or ())}
        [day] = self.day if self.day is not None and len(self.day) == 1 else [None]
        if day is None or self.weekday is not None:
            raise NotARepetition("its days are none that one repetition has")
        if day > _LAST_COMMON_DAY:
            raise NotARepetition(f"it leaves out months without a day {day}")
        return {"day": day}


def crontab_of(*, minute: str, hour: str, weekday: str, day: str, month: str) -> Crontab:
    """Parse the fields of a crontab as Celery beat stores them. Raises NotARepetition."""
    of_week = _numbers(weekday, 0, 7, names=_WEEKDAYS)
    return Crontab(
        minute=_numbers(minute, 0, 59),
        hour=_numbers(hour, 0, 23),
        # Cron counts from Sunday = 0, and 7 is Sunday, too.
        weekday=None if of_week is None else frozenset((number - 1) % 7 for number in of_week),
        day=_numbers(day, 1, 31),
        month=_numbers(month, 1, 12),
    )


def every(period: timedelta, *, due: datetime, zone: str) -> Recurrence:
    """Every `period` in whole days, at the due time of day. Raises NotARepetition."""
    if period < timedelta(days=1) or period % timedelta(days=1):
        raise NotARepetition("its interval is no number of whole days")
    return _recurrence("day", period.days, due=wall_time(due, zone))


def of_trigger(trigger: Any, *, due: datetime, zone: str) -> Recurrence | None:
    """The recurrence of a trigger of APScheduler; None if it fires once. Raises NotARepetition."""
    kind, state = (trigger.kind, trigger.state) if isinstance(trigger, Plain) else ("", None)
    if not isinstance(state, dict):
        raise NotARepetition("its trigger is unknown")
    if kind == "DateTrigger":
        return None
    if state.get("jitter"):
        raise NotARepetition("its trigger has a jitter")
    if state.get("end_date") is not None:
        raise NotARepetition("its trigger has an end")
    if kind == "CronTrigger" and isinstance(state.get("fields"), list):
        return _of_fields(state["fields"]).recurrence(due=due, zone=zone)
    if kind == "IntervalTrigger" and isinstance(state.get("interval"), timedelta):
        return every(state["interval"], due=due, zone=zone)
    raise NotARepetition(f"a {kind} has no equal here")


def _recurrence(unit: Unit, interval: int, *, due: datetime, **days: Any) -> Recurrence:
    plain = Recurrence(unit=unit, interval=interval, start=due.date(), at=due.time(), **days)
    try:
        return Recurrence.from_json(plain.as_json())
    except ValueError:
        raise NotARepetition("its days are none that one repetition has") from None


def _numbers(text: str, least: int, most: int, *, names: dict[str, int] | None = None) -> frozenset[int] | None:
    text = text.strip().lower()
    if text == "*":
        return None
    found: set[int] = set()
    for part in text.split(",") if len(text) <= _MAX_TEXT else [""]:
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise NotARepetition(f"a field of its crontab is {text[:_MAX_TEXT]!r}")
        ends = [_number(word, names or {}) for word in match.groups() if word is not None]
        if not least <= ends[0] <= ends[-1] <= most:
            raise NotARepetition(f"a field of its crontab is {text[:_MAX_TEXT]!r}")
        found |= set(range(ends[0], ends[-1] + 1))
    return frozenset(found)


def _number(word: str, names: dict[str, int]) -> int:
    return int(word) if word.isascii() and word.isdigit() else names.get(word[:3], -1)


def _of_fields(fields: list[Any]) -> Crontab:
    """The fields of a CronTrigger: each a name and its expressions."""
    found: dict[str, frozenset[int] | None] = {}
    nth = None
    for field in fields:
        state = _state(field)
        numbers: set[int] | None = set()
        for expression in state.get("expressions") or [None]:
            kind, part = getattr(expression, "kind", ""), _state(expression)
            if kind == "AllExpression" and part.get("step") in (None, 1):
                numbers = None
                break
            if kind == "LastDayOfMonthExpression":
                ends = (-1, -1)
            elif kind == "WeekdayPositionExpression" and state.get("name") == "day":
                nth = -1 if part.get("option_num") == 5 else _whole(part.get("option_num")) + 1
                found["day_of_week"] = frozenset({_whole(part.get("weekday"))})
                break
            elif kind in {"RangeExpression", "WeekdayRangeExpression", "MonthRangeExpression"} and not part.get("step"):
                ends = _range_ends(part)
            else:
                raise NotARepetition("a field of its trigger has no equal here")
            numbers = (numbers or set()) | set(range(ends[0], ends[1] + 1))
        found.setdefault(str(state.get("name")), None if numbers is None or not numbers else frozenset(numbers))
    if found.get("year") or found.get("week"):
        raise NotARepetition("it comes in some years or weeks only")
    if found.get("second") != frozenset({0}):
        raise NotARepetition("it does not come at a whole minute")
    return Crontab(
        minute=found.get("minute"),
        hour=found.get("hour"),
        weekday=found.get("day_of_week"),
        day=found.get("day"),
        month=found.get("month"),
        nth=nth,
    )


def _state(value: Any) -> dict[str, Any]:
    """The attributes of an object: of its dictionary, and of its slots."""
    state = value.state if isinstance(value, Plain) else None
    parts = state if isinstance(state, tuple) else (state,)
    return {str(name): item for part in parts if isinstance(part, dict) for name, item in part.items()}


def _range_ends(part: dict[str, Any]) -> tuple[int, int]:
    first, last = _whole(part.get("first")), _whole(part.get("last"))
    if not 0 <= first <= last <= _MAX_NUMBER:
        raise NotARepetition("a range of its trigger cannot be read")
    return first, last


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise NotARepetition("a field of its trigger cannot be read")
    return value
