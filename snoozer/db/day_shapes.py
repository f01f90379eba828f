"""The shapes of people's days, and the messages they defer: one function per statement in `sql/snoozes/day_shapes`, of
the same name."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Self

from sqlalchemy import Connection

from snoozer.db.statements import execute, rows_as
from snoozer.timephrase.day_shape import DayShape, Rest


@dataclass(frozen=True, kw_only=True)
class StaleDay:
    """A person's day whose rests must be computed again at `now`; `changed` if other rests were in force before."""

    account_id: int
    user_email: str
    zone: str
    changed: bool
    now: datetime
    shape: DayShape

    @classmethod
    def of(cls, *, account_id: int, user_email: str, zone: str, changed: bool, now: datetime, **columns: Any) -> Self:
        """From a row, by the names of its columns."""
        shape = shape_of(columns)
        return cls(account_id=account_id, user_email=user_email, zone=zone, changed=changed, now=now, shape=shape)


def save(connection: Connection, *, account_id: int, shape: DayShape) -> None:
    """Keep the shape of this person's day."""
    values = {**asdict(shape), "working_days": sorted(shape.working_days)}
    execute(connection, "day_shapes/save", account_id=account_id, **values)


def lock_stale(
    connection: Connection,
    *,
    batch_size: int,
    account_id: int | None = None,
    snooze_ids: Sequence[int] | None = None,
) -> list[StaleDay]:
    """Lock the days whose rests must be computed again: all of them, only that of `account_id`, or only those of the
    owners of `snooze_ids`."""
    values = {"batch_size": batch_size, "account_id": account_id, "snooze_ids": snooze_ids}
    return rows_as(execute(connection, "day_shapes/lock_stale", **values), StaleDay.of)


def record_rest(
    connection: Connection,
    *,
    account_id: int,
    rest: Rest | None,
    known_until: datetime,
    refresh_at: datetime,
    changed: bool,
) -> None:
    """Record the rest that lasts or comes next, which is known until `known_until`."""
    values: dict[str, object] = {
        "rest_from": rest.starts if rest else None,
        "rest_until": rest.ends if rest else None,
        "rest_reason": rest.reason if rest else None,
    }
    times = {"known_until": known_until, "refresh_at": refresh_at, "changed": changed}
    execute(connection, "day_shapes/record_rest", account_id=account_id, **values, **times)


def defer_messages(connection: Connection, *, kept: bool, batch_size: int) -> int:
    """Defer messages that would return within a rest of their owners, kept ones or those in connected mailboxes;
    returns how many."""
    return len(execute(connection, "day_shapes/defer_messages", kept=kept, batch_size=batch_size).all())


def undefer_messages(connection: Connection, *, user_email: str, rest_until: datetime | None) -> None:
    """Return this person's messages at their promised times, except messages deferred to the end of the present
    rest."""
    execute(connection, "day_shapes/undefer_messages", user_email=user_email, rest_until=rest_until)


def shape_of(columns: dict[str, Any]) -> DayShape:
    """The shape in these columns of a row."""
    return DayShape(**{**columns, "working_days": frozenset(columns["working_days"])})
