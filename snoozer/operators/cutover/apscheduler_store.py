"""APScheduler's SQLAlchemy job store as a source: the next run of each job is read from the table, its arguments from
from its pickled state, which restricted_pickle reads in a limited process: a short state can ask for endless work."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Float, LargeBinary, Unicode, column, func, select, table
from sqlalchemy.sql.expression import case

from snoozer.operators.cutover import databases, restricted_pickle
from snoozer.operators.cutover.record import MAX_VALUES, Record, Source, flatten
from snoozer.operators.cutover.restricted_pickle import MAX_BYTES, UnsafePickle
from snoozer.operators.cutover.schedules import NotARepetition, of_trigger
from snoozer.runtime.limited_process import LimitedProcess, LimitExceeded
from snoozer.timephrase.zones import canonical

# For one job: the largest takes milliseconds.
CPU_SECONDS, MEMORY_BYTES = 2, 1024 * 1024 * 1024


def job_store(url: str, *, name: str = "apscheduler_jobs") -> Source:
    """The jobs of its table; a paused job has the reason why it is left out."""
    return lambda: _read(url, name)


def _read(url: str, name: str) -> Iterator[Record]:
    schema, _, bare = name.rpartition(".")
    jobs = table(
        bare,
        column("id", Unicode()),
        column("next_run_time", Float()),
        column("job_state", LargeBinary()),
        schema=schema or None,
    )
    # A state that is too long is not even fetched.
    state = case((func.length(jobs.c.job_state) <= MAX_BYTES, jobs.c.job_state))
    with LimitedProcess(cpu_seconds=CPU_SECONDS, max_bytes=MEMORY_BYTES) as process:
        for row in databases.rows(url, select(jobs.c.id, jobs.c.next_run_time, state.label("job_state"))):
            try:
                yield process.call(read_job, row)
            except LimitExceeded:
                yield Record(place=_place(row), reason="its state takes too long to read, or too much memory")


def _place(row: dict[str, Any]) -> str:
    return f"job {row['id']}"


def read_job(row: dict[str, Any]) -> Record:
    """The record of a row of the table."""
    place = _place(row)
    if row["next_run_time"] is None:
        return Record(place=place, reason="it is paused there, or will not run again")
    try:
        if row["job_state"] is None:
            raise UnsafePickle(f"its state is longer than {MAX_BYTES // 1024} kB")
        state = restricted_pickle.load(row["job_state"])
        if not isinstance(state, dict):
            raise UnsafePickle("its state is no job")
        due = datetime.fromtimestamp(row["next_run_time"], UTC)
        zone = _zone(state)
        recurrence = of_trigger(state.get("trigger"), due=due, zone=zone)
        values = flatten({name: state.get(name) for name in ("name", "func", "args", "kwargs")})
    except (UnsafePickle, NotARepetition) as refused:
        return Record(place=place, reason=str(refused))
    except (OverflowError, OSError, ValueError, TypeError):
        return Record(place=place, reason="its next time cannot be read")
    return Record(
        place=place,
        values={name: value for name, value in values.items() if _is_plain(value)}
        | {
            "id": row["id"],
            "next_run_time": due,
            "recurrence": None if recurrence is None else recurrence.as_json(),
            "zone": None if recurrence is None else zone,
        },
    )


def _is_plain(value: Any, *, depth: int = 2) -> bool:
    """Whether it is a value of the kinds that a snooze is made of, such as a repetition."""
    if isinstance(value, dict | list | tuple):
        items = value.values() if isinstance(value, dict) else value
        return depth > 0 and len(value) <= MAX_VALUES and all(_is_plain(each, depth=depth - 1) for each in items)
    if type(value) is int:
        return value.bit_length() < 64
    return value is None or type(value) in (str, bool, float, datetime, date)


def _zone(state: dict[str, Any]) -> str:
    """The zone of its trigger."""
    trigger = getattr(state.get("trigger"), "state", None)
    zone = trigger.get("timezone") if isinstance(trigger, dict) else None
    key = zone.key if isinstance(zone, ZoneInfo) else "UTC"
    return canonical(key) or "UTC"
