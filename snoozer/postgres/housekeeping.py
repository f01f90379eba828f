"""What keeps the clock's chores from running twice at once, and says when each was last done."""

from sqlalchemy import Connection

from snoozer.postgres.statements import run


def alone(connection: Connection, *, chore: str) -> bool:
    """Take this chore for the rest of the transaction; False when another clock is at it."""
    return bool(run(connection, "housekeeping/alone", chore=chore).scalar_one())


def finished(connection: Connection, *, chore: str) -> None:
    """The chore is done."""
    run(connection, "housekeeping/finished", chore=chore)
