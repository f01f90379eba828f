"""The lab's reads and locks, and its sample messages: one function per file in `sql/lab`."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from snoozer.db.schema import SUPPORTED_SCHEMA
from snoozer.db.statements import row_as, rows_as, statements_of

execute = statements_of("lab")


@dataclass(frozen=True, kw_only=True)
class PlacedRow:
    """A snooze and the stage of its way: asleep, due, claimed, dot, sent, back or case. `in_stage` is how many are."""

    id: int
    message_id: str
    subject: str | None
    claimed_by: str | None
    attempts: int
    crash_count: int
    last_error: str | None
    state: str | None
    resends: int | None
    is_back: bool
    due_in: float
    stage: str
    in_stage: int


@dataclass(frozen=True, kw_only=True)
class WorkerRow:
    """A worker as the registry has it; seconds by the database's clock."""

    id: str
    state: str
    heartbeat_age: float
    claims: int
    lease_left: float | None


@dataclass(frozen=True, kw_only=True)
class Copies:
    """The ledger's entry for a mail that left more than once."""

    message_id: str
    reminder_message_id: str | None
    bytes_sha256: str | None
    uncertain: int


@dataclass(frozen=True, kw_only=True)
class BreakerState:
    state: str
    failures: int
    last_failure: str | None


@dataclass(frozen=True, kw_only=True)
class FoundRow:
    """One message's row and its newest entry in the ledger, of which it has `entries`."""

    outcome: str | None
    claimed_by: str | None
    attempts: int
    crash_count: int
    state: str | None
    resends: int | None
    entries: int
    uncertain: int


def keep_messages(
    connection: Connection,
    *,
    user_email: str,
    sender_name: str,
    sender_email: str,
    messages: Sequence[tuple[str, str, str]],
) -> None:
    """Keep messages, each its Message-ID, subject and bytes, out of the inbox."""
    ids, subjects, originals = map(list, zip(*messages, strict=True))
    values = {"user_email": user_email, "sender_name": sender_name, "sender_email": sender_email}
    execute(connection, "keep_messages", message_ids=ids, subjects=subjects, originals=originals, **values)


def list_rows(connection: Connection, *, most: int) -> list[PlacedRow]:
    """The first `most` rows of each stage."""
    return rows_as(execute(connection, "list_rows", most=most, known_schema=SUPPORTED_SCHEMA), PlacedRow)


def list_workers(connection: Connection) -> list[WorkerRow]:
    """Workers that live or died lately."""
    return rows_as(execute(connection, "list_workers"), WorkerRow)


def list_outcomes(connection: Connection, *, message_ids: Sequence[str]) -> dict[str, str]:
    """The outcomes of the given messages that are not alive: sent, cancelled, retired or gone."""
    found = execute(connection, "list_outcomes", message_ids=list(message_ids))
    return {row.message_id: row.outcome for row in found}


def list_copies(connection: Connection, *, message_ids: Sequence[str]) -> list[Copies]:
    """The ledger's entries for these messages."""
    return rows_as(execute(connection, "list_copies", message_ids=list(message_ids)), Copies)


def read_breaker(connection: Connection) -> BreakerState | None:
    """The breaker of the mail server; None before the first claim."""
    return row_as(execute(connection, "read_breaker").first(), BreakerState)


def count_events(connection: Connection) -> dict[str, int]:
    """How often each kind of event was recorded."""
    return {row.kind: row.how_many for row in execute(connection, "count_events")}


def lock_row(connection: Connection) -> str | None:
    """Lock the first live row until the transaction ends; returns its message, None if there is none."""
    return execute(connection, "lock_row").scalar_one_or_none()


def find_row(connection: Connection, *, message_id: str) -> FoundRow | None:
    """One message's row; None if it has none."""
    return row_as(execute(connection, "find_row", message_id=message_id).first(), FoundRow)
