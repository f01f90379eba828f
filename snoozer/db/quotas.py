"""Usage of quotas: one function per statement in `sql/people/quotas`, of the same name."""

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection

from snoozer.db.statements import execute


@dataclass(frozen=True, kw_only=True)
class Spent:
    """Whether the amount was added, the usage with it (None if it was not added), and the seconds until the next
    period, exact and as rounded for a header."""

    was_added: bool
    used: int | None
    seconds_left: float
    retry_after: int


def spend(connection: Connection, *, quota: str, subject: str, period: timedelta, amount: int, most: int) -> Spent:
    values = {"quota": quota, "subject": subject, "period": period, "amount": amount, "most": most}
    return Spent(**execute(connection, "quotas/spend", **values).one()._mapping)


def prune(connection: Connection, *, batch_size: int) -> int:
    """Returns how many rows were deleted."""
    return len(execute(connection, "quotas/prune", batch_size=batch_size).all())
