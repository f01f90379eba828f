"""The registry of workers: one function per file in `sql/workers`, of the same name."""

from datetime import timedelta

from sqlalchemy import Connection

from snoozer.postgres.statements import run


def register(connection: Connection, *, id: str) -> None:
    """A new incarnation; `id` was never used before."""
    run(connection, "workers/register", id=id)


def heartbeat(connection: Connection, *, id: str) -> list[str] | None:
    """Still here: answers the ids of the living, in order. None when the worker was declared dead and must stop."""
    return run(connection, "workers/heartbeat", id=id).scalar_one_or_none()


def drain(connection: Connection, *, id: str) -> None:
    """It takes nothing new."""
    run(connection, "workers/drain", id=id)


def leave(connection: Connection, *, id: str) -> None:
    """It is gone; what it still holds may be recovered at once."""
    run(connection, "workers/leave", id=id)


def bury(connection: Connection, *, dead_after: timedelta) -> list[str]:
    """Workers not heard of for `dead_after` are dead; answers their ids."""
    return list(run(connection, "workers/bury", dead_after=dead_after).scalars())


def forget(connection: Connection) -> list[str]:
    """Strike out workers that died long ago and hold nothing."""
    return list(run(connection, "workers/forget").scalars())


def living(connection: Connection) -> list[str]:
    """The ids of the workers that are alive, in order."""
    return list(run(connection, "workers/living").scalars())
