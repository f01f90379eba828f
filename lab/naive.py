"""The naive loop's own tables, in the lab only: one function per file in `sql/naive`. It is a counterexample."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from snoozer.db.statements import rows_as, statements_of

execute = statements_of("lab")


@dataclass(frozen=True, kw_only=True)
class Job:
    id: int
    message_id: str
    rcpt: str
    subject: str
    remind_at: datetime
    lease_generation: int
    attempts: int


def create_jobs(connection: Connection) -> None:
    execute(connection, "naive/create_jobs")


def create_sends(connection: Connection) -> None:
    execute(connection, "naive/create_sends")


def enqueue(
    connection: Connection, *, rcpt: str, remind_at: datetime, message_ids: Sequence[str], subjects: Sequence[str]
) -> None:
    """Enqueue the same messages as in Snoozer."""
    values = {"rcpt": rcpt, "remind_at": remind_at, "message_ids": list(message_ids), "subjects": list(subjects)}
    execute(connection, "naive/enqueue", **values)


def claim(connection: Connection, *, worker: str, lease: timedelta, batch_size: int) -> list[Job]:
    """Claim up to `batch_size` due jobs."""
    return rows_as(execute(connection, "naive/claim", worker=worker, lease=lease, batch_size=batch_size), Job)


def is_sent(connection: Connection, *, message_id: str, remind_at: datetime) -> bool:
    """Whether its ledger has this message at this time."""
    return bool(execute(connection, "naive/is_sent", message_id=message_id, remind_at=remind_at).scalar_one())


def record(connection: Connection, *, message_id: str, remind_at: datetime) -> None:
    """Record a send that has happened."""
    execute(connection, "naive/record", message_id=message_id, remind_at=remind_at)


def complete(connection: Connection, *, id: int, worker: str, generation: int) -> None:
    """Finish a job that is still owned."""
    execute(connection, "naive/complete", id=id, worker=worker, generation=generation)


def retry(connection: Connection, *, id: int, worker: str, generation: int) -> None:
    """Try a job again later."""
    execute(connection, "naive/retry", id=id, worker=worker, generation=generation)


def recover(connection: Connection) -> None:
    """Make jobs whose lease expired pending again."""
    execute(connection, "naive/recover")


def list_finished(connection: Connection, *, message_ids: Sequence[str]) -> dict[str, str]:
    """The outcomes of the given messages that are neither pending nor in work."""
    found = execute(connection, "naive/list_finished", message_ids=list(message_ids))
    return {row.message_id: row.outcome for row in found}


def count_states(connection: Connection) -> dict[str, int]:
    """How many jobs are in each state."""
    return {row.state: row.how_many for row in execute(connection, "naive/count_states")}
