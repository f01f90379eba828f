"""APScheduler's SQLAlchemy job store as a source: the next run of each job is read from the table, its arguments from
its pickled state by restricted_pickle."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Float, LargeBinary, Unicode, column, func, select, table
from sqlalchemy.sql.expression import case

from snoozer.operators.cutover import databases, restricted_pickle
from snoozer.operators.cutover.record import Record, Source, flatten
from snoozer.operators.cutover.restricted_pickle import MAX_BYTES, UnsafePickle
from snoozer.operators.cutover.schedules import NotARepetition, of_trigger
from snoozer.timephrase.zones import canonical


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
    for row in databases.rows(url, select(jobs.c.id, jobs.c.next_run_time, state.label("job_state"))):
        yield _record(row)


def _record(row: dict[str, Any]) -> Record:
    place = f"job {row['id']}"
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
    except (UnsafePickle, NotARepetition) as refused:
        return Record(place=place, reason=str(refused))
    except (OverflowError, OSError, ValueError, TypeError):
        return Record(place=place, reason="its next time cannot be read")
    values = flatten({name: state.get(name) for name in ("name", "func", "args", "kwargs")})
    return Record(
        place=place,
        values=values
        | {
            "id": row["id"],
            "next_run_time": due,
            "recurrence": None if recurrence is None else recurrence.as_json(),
            "zone": None if recurrence is None else zone,
        },
    )


def _zone(state: dict[str, Any]) -> str:
    """The zone of its trigger."""
    trigger = getattr(state.get("trigger"), "state", None)
    zone = trigger.get("timezone") if isinstance(trigger, dict) else None
    key = zone.key if isinstance(zone, ZoneInfo) else "UTC"
    return canonical(key) or "UTC"
