"""Whether delivery fails, for every page: cheap enough to be asked every second."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, and_, case, func, literal, not_, or_, select

from snoozer.db.models import CircuitBreaker, MailboxMessage, Snooze
from snoozer.db.models.snooze import is_deferred

# What is due for longer is late for everybody, and not only in the order of a crowd.
DUE_FOR = timedelta(minutes=1)
RETURN_FOR = timedelta(seconds=10)
# A breaker that no worker has asked for so long is that of a mail server which is not used any more, or nothing is due.
FORGOTTEN_AFTER = timedelta(hours=1)
MAX_LOOKED_AT = 100


@dataclass(frozen=True, kw_only=True)
class DeliveryStatus:
    """Since when something does not work; None where it does.

    `away_since`: the mail server takes no mail, or refuses it for everybody (`refuses_everybody`). `due_since`: a
    reminder is due, and no worker takes it. `return_since`: a message is not back in the inbox.
    """

    away_since: datetime | None
    refuses_everybody: bool
    due_since: datetime | None
    return_since: datetime | None

    @property
    def fails(self) -> bool:
        return any((self.away_since, self.due_since, self.return_since))


UNKNOWN = DeliveryStatus(away_since=None, refuses_everybody=False, due_since=None, return_since=None)


def status(connection: Connection) -> DeliveryStatus:
    """Of all mail servers in use."""
    now = func.clock_timestamp()
    is_used = or_(CircuitBreaker.updated_at > now - FORGOTTEN_AFTER, CircuitBreaker.tripped_at.is_not(None))
    away = and_(CircuitBreaker.state != "closed", is_used)
    since = func.coalesce(CircuitBreaker.away_since, CircuitBreaker.opened_at, CircuitBreaker.updated_at)
    oldest = (
        select(func.greatest(Snooze.remind_at, Snooze.created_at).label("since"))
        .where(
            not_(Snooze.inactive),
            Snooze.claimed_at.is_(None),
            not_(Snooze.behind_key),
            not_(is_deferred()),
            Snooze.attempts < Snooze.max_attempts,
            Snooze.remind_at <= func.current_timestamp() - DUE_FOR,
        )
        .order_by(Snooze.remind_at)
        .limit(MAX_LOOKED_AT)
        .subquery()
    )
    row = connection.execute(
        select(
            select(func.min(since)).where(away).scalar_subquery().label("away_since"),
            select(func.coalesce(func.bool_and(CircuitBreaker.refuses_everybody), literal(False)))
            .where(away)
            .scalar_subquery()
            .label("refuses_everybody"),
            _if_older(func.min(oldest.c.since), DUE_FOR).label("due_since"),
            select(
                _if_older(func.min(func.greatest(MailboxMessage.returns_at, MailboxMessage.deferred_until)), RETURN_FOR)
            )
            .where(MailboxMessage.returns_at.is_not(None))
            .scalar_subquery()
            .label("return_since"),
        )
    ).one()
    return DeliveryStatus(**row._mapping)


def _if_older(since: Any, age: timedelta) -> Any:
    return case((since < func.clock_timestamp() - age, since))
