"""Jobs of another scheduler, imported or shadowed: one function per statement in `sql/operators/cutover`, of the same
name. They are entered in the queue by `queue_many.import_jobs`."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from sqlalchemy import Connection

from snoozer.db.schema import SUPPORTED_SCHEMA
from snoozer.db.statements import execute, rows_as, statement

Verdict = Literal["new", "same", "moved", "over", "taken", "readdressed", "repeated"]
Kind = Literal["missed", "early", "late", "twice", "same", "withdrawn", "pending"]


@dataclass(frozen=True, kw_only=True)
class Judged:
    """The verdict of an import on a job; `snooze_id` if the job was imported before."""

    job_id: str
    snooze_id: int | None
    verdict: Verdict


@dataclass(frozen=True, kw_only=True)
class MissingJob:
    """An imported job that its source no longer has."""

    job_id: str
    snooze_id: int
    user_email: str


@dataclass(frozen=True, kw_only=True)
class JobOutcome:
    """The outcome of an imported job, in a word; `due_at` is its present promise."""

    job_id: str
    outcome: str
    due_at: datetime


@dataclass(frozen=True, kw_only=True)
class ForeignSend:
    """A send of the old scheduler."""

    job_id: str
    sent_at: datetime


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One time at which a job was due. `shadow_delay` is how long after it a worker would have claimed it."""

    job_id: str
    due_at: datetime
    shadow_delay: timedelta | None
    sent_at: list[datetime]
    kind: Kind


def judge(connection: Connection, *, source: str, jobs: Sequence[dict[str, Any]], began: datetime) -> list[Judged]:
    """`began` is the start of this import: a job that it has seen already is `repeated`."""
    values = {"source": source, "jobs": json.dumps(jobs), "began": began}
    return rows_as(execute(connection, "cutover/judge", **values), Judged)


def mark_seen(connection: Connection, *, source: str, jobs: Sequence[dict[str, Any]]) -> None:
    """`due_at` of a job is stored from now on; None leaves the stored time."""
    execute(connection, "cutover/mark_seen", source=source, jobs=json.dumps(jobs))


def count_live(connection: Connection, *, source: str) -> int:
    return int(execute(connection, "cutover/count_live", source=source).scalar_one())


def list_missing(connection: Connection, *, source: str, before: datetime, limit: int) -> list[MissingJob]:
    result = execute(connection, "cutover/list_missing", source=source, before=before, limit=limit)
    return rows_as(result, MissingJob)


def withdraw(connection: Connection, *, source: str, job_ids: Sequence[str]) -> None:
    execute(connection, "cutover/withdraw", source=source, job_ids=list(job_ids))


def outcomes(connection: Connection, *, source: str, after: str, limit: int) -> list[JobOutcome]:
    page = {"source": source, "after": after, "limit": limit, "known_schema": SUPPORTED_SCHEMA}
    return rows_as(execute(connection, "cutover/outcomes", **page), JobOutcome)


def observe(connection: Connection, *, source: str, jobs: Sequence[dict[str, Any]]) -> None:
    execute(connection, "cutover/observe", source=source, jobs=json.dumps(jobs))


def mark_gone(connection: Connection, *, source: str, before: datetime, margin: timedelta) -> int:
    """Returns how many."""
    return len(execute(connection, "cutover/mark_gone", source=source, before=before, margin=margin).all())


def send_in_shadow(connection: Connection, *, source: str, batch_size: int) -> int:
    """Returns how many."""
    return len(execute(connection, "cutover/send_in_shadow", source=source, batch_size=batch_size).all())


def next_due(connection: Connection, *, source: str) -> float | None:
    seconds = execute(connection, "cutover/next_due", source=source).scalar_one()
    return None if seconds is None else float(seconds)


def forget_sends(connection: Connection, *, source: str) -> None:
    execute(connection, "cutover/forget_sends", source=source)


def record_sends(connection: Connection, *, source: str, sends: Sequence[ForeignSend]) -> list[ForeignSend]:
    given = json.dumps([{"job_id": send.job_id, "sent_at": send.sent_at.isoformat()} for send in sends])
    return rows_as(execute(connection, "cutover/record_sends", source=source, sends=given), ForeignSend)


def compare(
    connection: Connection, *, source: str, tolerance: timedelta, until: datetime, page: int = 1000
) -> Iterator[Compared]:
    """Reads in pages, so that a million rows take little memory."""
    values = {"source": source, "tolerance": tolerance, "until": until}
    paged = connection.execute(statement("cutover/compare"), values, execution_options={"yield_per": page})
    for row in paged:
        yield Compared(**row._mapping)


def forget(connection: Connection, *, source: str, batch_size: int) -> int:
    """Returns how many."""
    return len(execute(connection, "cutover/forget", source=source, batch_size=batch_size).all())


def erase(connection: Connection, *, user_email: str) -> None:
    execute(connection, "cutover/erase", user_email=user_email)
