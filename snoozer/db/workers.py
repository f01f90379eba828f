"""The registry of workers: one function per file in `sql/workers`, of the same name."""

from datetime import timedelta

from sqlalchemy import Connection

from snoozer.db.statements import execute


def register(connection: Connection, *, id: str) -> None:
    """A new incarnation; `id` was never used before."""
    execute(connection, "workers/register", id=id)


def heartbeat(connection: Connection, *, id: str) -> list[str] | None:
    """Still here: answers the ids of the living, in order. None when the worker was declared dead and must stop."""
    return execute(connection, "workers/heartbeat", id=id).scalar_one_or_none()


def drain(connection: Connection, *, id: str) -> None:
    """It takes nothing new."""
    execute(connection, "workers/drain", id=id)


def deregister(connection: Connection, *, id: str) -> None:
    """It is gone; what it still holds may be recovered at once."""
    execute(connection, "workers/deregister", id=id)


def mark_dead(connection: Connection, *, dead_after: timedelta) -> list[str]:
    """Workers not heard of for `dead_after` are dead; answers their ids."""
    return list(execute(connection, "workers/mark_dead", dead_after=dead_after).scalars())


def prune(connection: Connection) -> list[str]:
    """Strike out workers that died long ago and hold nothing."""
    return list(execute(connection, "workers/prune").scalars())


def list_alive(connection: Connection) -> list[str]:
    """The ids of the workers that are alive, in order."""
    return list(execute(connection, "workers/list_alive").scalars())
