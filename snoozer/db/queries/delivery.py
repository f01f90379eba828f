"""The delivery status for every page: cheap enough to be queried every second."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, and_, case, column, exists, func, literal, literal_column, select, table, true
from sqlalchemy.orm import aliased

from snoozer.db.models import CircuitBreaker, MailboxMessage, Pause, Snooze
from snoozer.db.models.state import is_claimable, is_unclaimed, state_of
from snoozer.db.queries.pauses import NOTHING_HELD, Holds

# A reminder due for longer is a sign of a failure, not only of many being due at once.
DUE_FOR = timedelta(minutes=1)
RETURN_FOR = timedelta(seconds=10)
# A mail server whose last failure was longer ago than this may no longer be in use.
FORGOTTEN_AFTER = timedelta(hours=1)
MAX_LOOKED_AT = 100


@dataclass(frozen=True, kw_only=True)
class DeliveryStatus:
    """Since when each part of delivery does not work; None if it works.

    `away_since`: the mail server takes no mail, or refuses it for everybody (`refuses_everybody`). `stopped_since`: an
    operator stopped sending by it. `due_since`: a
    reminder is due, and no worker takes it. `return_since`: a message is not back in the inbox. `is_held`: operators
    hold something back; `holds`: the holds that concern one person.
    """

    away_since: datetime | None
    refuses_everybody: bool
    due_since: datetime | None
    return_since: datetime | None
    stopped_since: datetime | None = None
    is_held: bool = False
    holds: Holds = NOTHING_HELD

    @property
    def fails(self) -> bool:
        return any((self.away_since, self.due_since, self.return_since))

    @property
    def paused_since(self) -> datetime | None:
        """Since when operators hold back this person's reminders, or stopped the mail server."""
        return min(filter(None, (self.holds.mail, self.stopped_since)), default=None)


UNKNOWN = DeliveryStatus(away_since=None, refuses_everybody=False, due_since=None, return_since=None)


def status(connection: Connection) -> DeliveryStatus:
    """The status over all mail servers in use. A server whose breaker is closed counts as away, too, if its last try
    failed and a reminder waits for the next try: while few reminders are due, no breaker opens."""
    now, its = func.clock_timestamp(), state_of()
    open_breakers = table("open_breakers", column("server"), column("since"), column("refuses_everybody"))
    other = aliased(CircuitBreaker)
    is_stopped = exists().where(CircuitBreaker.server == open_breakers.c.server, CircuitBreaker.tripped_at.is_not(None))
    # A server that was stopped and replaced by another stops nothing.
    stopped = (
        select(func.min(CircuitBreaker.tripped_at))
        .join(open_breakers, open_breakers.c.server == CircuitBreaker.server)
        .where(~exists().where(other.state == "closed", other.last_success_at > CircuitBreaker.tripped_at))
    )
    failing = and_(
        CircuitBreaker.state == "closed",
        CircuitBreaker.failures > 0,
        CircuitBreaker.last_failure_at > now - FORGOTTEN_AFTER,
        CircuitBreaker.last_failure_at > func.coalesce(CircuitBreaker.last_success_at, literal_column("'-infinity'")),
    )
    longest_due = (
        select(Snooze.id, Snooze.remind_at)
        .where(*is_claimable(), ~Snooze.behind_key, Snooze.remind_at <= func.current_timestamp() - DUE_FOR)
        .order_by(Snooze.remind_at)
        .limit(MAX_LOOKED_AT)
        .subquery()
    )
    oldest = (
        select(func.greatest(Snooze.remind_at, Snooze.created_at).label("since"))
        .join(longest_due, longest_due.c.id == Snooze.id)
        .join(its, true())
        .where(its.c.state == "due")
        .subquery()
    )
    next_tries = (
        select(Snooze.id)
        .where(*is_unclaimed(), Snooze.scheduled_for.is_not(None), Snooze.remind_at > func.current_timestamp())
        .order_by(Snooze.remind_at)
        .limit(MAX_LOOKED_AT)
        .subquery()
    )
    # Rows that are tried at this moment, too: otherwise the failure would be over during each try.
    tried = (
        select(Snooze.scheduled_for)
        .where(Snooze.claimed_at.is_not(None), Snooze.attempts == 0, Snooze.last_error.is_not(None))
        .limit(MAX_LOOKED_AT)
    )
    to_try = (
        select(Snooze.scheduled_for)
        .join(next_tries, next_tries.c.id == Snooze.id)
        .join(its, true())
        .where(its.c.why == "retry", Snooze.attempts == 0)
    )
    promises = tried.union_all(to_try).subquery()
    retried = (
        select(func.min(promises.c.scheduled_for).label("since"))
        .where(promises.c.scheduled_for <= now - DUE_FOR)
        .subquery()
    )
    failing_since = func.greatest(retried.c.since, func.max(CircuitBreaker.last_success_at))
    row = connection.execute(
        select(
            func.coalesce(
                select(func.min(open_breakers.c.since)).where(~is_stopped).scalar_subquery(),
                select(failing_since)
                .select_from(CircuitBreaker)
                .join(retried, true())
                .where(failing, retried.c.since.is_not(None))
                .group_by(retried.c.since)
                .scalar_subquery(),
            ).label("away_since"),
            select(func.coalesce(func.bool_and(open_breakers.c.refuses_everybody), literal(False)))
            .where(~is_stopped)
            .scalar_subquery()
            .label("refuses_everybody"),
            select(_if_older(func.min(oldest.c.since), DUE_FOR)).scalar_subquery().label("due_since"),
            select(
                _if_older(func.min(func.greatest(MailboxMessage.returns_at, MailboxMessage.deferred_until)), RETURN_FOR)
            )
            .where(MailboxMessage.is_kept, MailboxMessage.returns_at.is_not(None))
            .scalar_subquery()
            .label("return_since"),
            stopped.scalar_subquery().label("stopped_since"),
            exists().where(Pause.ended_at.is_(None)).label("is_held"),
        )
    ).one()
    return DeliveryStatus(**row._mapping)


def _if_older(since: Any, age: timedelta) -> Any:
    return case((since < func.clock_timestamp() - age, since))
