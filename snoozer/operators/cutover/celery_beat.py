"""The tables of django-celery-beat as a source: clocked tasks, crontabs and intervals that are switched on.

Celery's other data is not in tables: the shelve file of plain beat is a pickle that repeats the code's schedule; ETA
tasks are messages in a broker. `celery inspect scheduled --json` prints the ETA tasks that workers hold.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import column, select, table

from snoozer.operators.cutover import databases
from snoozer.operators.cutover.record import Record, Source, flatten
from snoozer.operators.cutover.schedules import NotARepetition, crontab_of, every
from snoozer.timephrase.recurrence import Recurrence
from snoozer.timephrase.zones import canonical

_PREFIX = "django_celery_beat_"
_CRONTAB = ("minute", "hour", "day_of_week", "day_of_month", "month_of_year", "timezone")


def beat_tables(url: str) -> Source:
    """The periodic tasks; a task that is switched off or has no equivalent here has the reason why it is left out."""
    return lambda: _read(url)


def _read(url: str) -> Iterator[Record]:
    now = datetime.now(UTC)
    for row in databases.rows(url, _statement()):
        yield _record(row, now)


def _statement() -> Any:
    task = table(
        f"{_PREFIX}periodictask",
        *map(column, ("id", "name", "task", "args", "kwargs", "enabled", "priority", "last_run_at", "solar_id")),
        *map(column, ("crontab_id", "interval_id", "clocked_id", "start_time", "expires", "one_off")),
    )
    crontab = table(f"{_PREFIX}crontabschedule", column("id"), *map(column, _CRONTAB))
    interval = table(f"{_PREFIX}intervalschedule", *map(column, ("id", "every", "period")))
    clocked = table(f"{_PREFIX}clockedschedule", *map(column, ("id", "clocked_time")))
    joined = (
        task.outerjoin(crontab, crontab.c.id == task.c.crontab_id)
        .outerjoin(interval, interval.c.id == task.c.interval_id)
        .outerjoin(clocked, clocked.c.id == task.c.clocked_id)
    )
    schedule = [crontab.c[name] for name in _CRONTAB]
    return select(*task.c, *schedule, interval.c.every, interval.c.period, clocked.c.clocked_time).select_from(joined)


def _record(row: dict[str, Any], now: datetime) -> Record:
    place = f"task {row['id']}"
    if not row["enabled"]:
        return Record(place=place, reason="it is switched off there")
    try:
        due, recurrence, zone = _when(row, now)
        called = {name: json.loads(row[name] or empty) for name, empty in (("args", "[]"), ("kwargs", "{}"))}
    except NotARepetition as refused:
        return Record(place=place, reason=str(refused))
    except (ValueError, TypeError, RecursionError, OverflowError):
        return Record(place=place, reason="its schedule or what it is called with cannot be read")
    values = flatten({"name": row["name"], "task": row["task"], **called})
    return Record(
        place=place,
        values=values
        | {
            "id": row["name"],
            "due": due,
            "recurrence": None if recurrence is None else recurrence.as_json(),
            "zone": zone,
        },
    )


def _when(row: dict[str, Any], now: datetime) -> tuple[datetime, Recurrence | None, str | None]:
    """Its next due time, its recurrence, and its zone. Raises NotARepetition."""
    if row["expires"] is not None:
        raise NotARepetition("it has an end")
    if row["clocked_id"] is not None:
        return _instant(row["clocked_time"]), None, None
    if row["one_off"]:
        raise NotARepetition("it is to run once, by a schedule that repeats")
    if row["crontab_id"] is not None:
        zone = canonical(str(row["timezone"] or "UTC"))
        if zone is None:
            raise NotARepetition("its zone is unknown here")
        crontab = crontab_of(
            minute=row["minute"],
            hour=row["hour"],
            weekday=row["day_of_week"],
            day=row["day_of_month"],
            month=row["month_of_year"],
        )
        after = now if row["start_time"] is None else max(now, _instant(row["start_time"]))
        due = crontab.next_after(after, zone=zone)
        return due, crontab.recurrence(due=due, zone=zone), zone
    if row["interval_id"] is not None and row["period"] in {"days", "hours", "minutes", "seconds"}:
        period = timedelta(**{row["period"]: int(row["every"])})
        if row["last_run_at"] is None:
            raise NotARepetition("it never ran, so that it is unknown when it is due")
        due = _instant(row["last_run_at"]) + period
        return due, every(period, due=due, zone="UTC"), "UTC"
    raise NotARepetition("its schedule has no equal here")


def _instant(value: Any) -> datetime:
    """A time of that database; SQLite and MySQL store no offset, and Django writes UTC there."""
    at = datetime.fromisoformat(value) if isinstance(value, str) else value
    if not isinstance(at, datetime):
        raise TypeError(type(at))
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
