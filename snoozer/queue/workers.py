"""The registry of workers: one function per statement in `sql/queue/workers`, of the same name."""

from dataclasses import asdict, dataclass
from datetime import timedelta

from sqlalchemy import Connection

from snoozer.db.statements import execute


@dataclass(frozen=True, kw_only=True)
class Description:
    """A worker's description for operators: its release, its host, and how many rows it claims and delivers at once."""

    version: str | None = None
    host: str | None = None
    batch_size: int | None = None
    concurrency: int | None = None


UNKNOWN = Description()


def register(connection: Connection, *, id: str, description: Description = UNKNOWN) -> None:
    """Register a new incarnation; `id` must never have been used before."""
    execute(connection, "workers/register", id=id, **asdict(description))


def heartbeat(connection: Connection, *, id: str) -> list[str] | None:
    """Record a heartbeat; returns the ids of all alive workers, None when this one was declared dead and must stop."""
    return execute(connection, "workers/heartbeat", id=id).scalar_one_or_none()


def drain(connection: Connection, *, id: str) -> None:
    """Mark the worker as draining: it takes no new claims."""
    execute(connection, "workers/drain", id=id)


def deregister(connection: Connection, *, id: str) -> None:
    """Mark the worker as stopped; its claims may be recovered at once."""
    execute(connection, "workers/deregister", id=id)


def mark_dead(connection: Connection, *, dead_after: timedelta) -> list[str]:
    """Declare workers without a heartbeat for `dead_after` dead; returns their ids."""
    return list(execute(connection, "workers/mark_dead", dead_after=dead_after).scalars())


def prune(connection: Connection) -> list[str]:
    """Delete workers that died a week ago and hold no claims; returns their ids."""
    return list(execute(connection, "workers/prune").scalars())


def list_alive(connection: Connection) -> list[str]:
    """The ids of the workers that are alive, in order."""
    return list(execute(connection, "workers/list_alive").scalars())
