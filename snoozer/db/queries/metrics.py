"""The metrics of the operator's page, by the support queries that gauges and `snoozer support` execute. Each count
stops at `MAX_COUNTED`, so the page is fast at any size.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Connection, Select, func, literal, select

from snoozer.db import support
from snoozer.db.models import CircuitBreaker, Send, Snooze, Worker
from snoozer.db.models.state import is_unclaimed, state_of
from snoozer.db.queries import Found, columns

MAX_COUNTED = 10_000
MAX_LISTED = 20

_due = [*is_unclaimed(), Snooze.remind_at <= func.current_timestamp()]
_last_seen_by = func.coalesce(Worker.stopped_at, func.current_timestamp())


@dataclass(frozen=True, kw_only=True)
class QueueMetrics:
    """The state at `at`, by the database's clock. A count of `MAX_COUNTED` + 1 means more than that; with `more_due`,
    only the rows that are due the longest were classified, and there are more.

    Each snooze that waits counts once (support/backlog.sql): it is `due`, `behind_key`, `deferred` to a newer release,
    or its attempts are `spent`; it waits for another try (`retrying`, the oldest promised at `oldest_retry`), is `held`
    by an uncertain send, or `in_digest`; its person is `resting` or has it `paused`; its message is to return first
    (`put_off`); or it is `asleep`. `lost` workers stopped sending heartbeats within the last day without deregistering.
    """

    at: datetime
    due: int
    oldest_due: datetime | None
    more_due: bool
    behind_key: int
    deferred: int
    spent: int
    retrying: int
    oldest_retry: datetime | None
    held: int
    in_digest: int
    resting: int
    put_off: int
    paused: int
    paused_by_operator: int
    paused_in_database: int
    more_paused: bool
    claimed: int
    oldest_claim: datetime | None
    asleep: int
    cases: int
    newest_case: datetime | None
    uncertain: int
    oldest_uncertain: datetime | None
    alive: int
    draining: int
    lost: int
    heard: datetime | None
    breakers_open: int
    housekeeping: datetime | None

    @property
    def unsent(self) -> int:
        """How many are promised, not sent and not claimed yet: due, behind others, or to be tried again."""
        return self.due + self.behind_key + self.deferred + self.retrying + self.held


def read(connection: Connection, *, dead_after: timedelta) -> QueueMetrics:
    """All metrics. A worker without a heartbeat for `dead_after` is lost."""
    backlog = dict(support.read(connection, "backlog", most=MAX_COUNTED).one()._mapping)
    health = dict(support.read(connection, "health", most=MAX_COUNTED, dead_after=dead_after).one()._mapping)
    for seconds in ("oldest_due_seconds", "oldest_claim_seconds"):
        del backlog[seconds]
    del health["housekeeping_age"]
    return QueueMetrics(**backlog, alive=health.pop("workers"), **health)


def alive(connection: Connection, *, dead_after: timedelta) -> int:
    """How many workers are alive, with a heartbeat within `dead_after`."""
    living = select(func.count()).where(Worker.state == "alive", _recent_heartbeat(dead_after))
    return connection.execute(living).scalar_one()


def breakers(connection: Connection) -> Sequence[Found]:
    """The breakers of all mail servers, open and half-open ones first."""
    shown = select(
        *columns(CircuitBreaker, "server state failures last_failure opened_at updated_at"),
        *columns(CircuitBreaker, "last_success_at last_failure_at away_since refuses_everybody"),
        *columns(CircuitBreaker, "tripped_at tripped_by trip_reason"),
    )
    ordered = shown.order_by(CircuitBreaker.state == "closed", CircuitBreaker.server)
    return connection.execute(ordered.limit(MAX_LISTED)).all()


def uncertain(connection: Connection) -> Sequence[Found]:
    """Reminders that may have been sent, the longest unresolved first."""
    return connection.execute(
        select(Send.snooze_id, Send.scheduled_for, Send.uncertain_at, Send.resends)
        .where(Send.state == literal("uncertain", literal_execute=True))
        .order_by(Send.uncertain_at, Send.id)
        .limit(MAX_LISTED)
    ).all()


def oldest_due(connection: Connection) -> float:
    """For how many seconds the oldest snooze that waits for a worker has been due; 0 if none waits. If none of the
    `MAX_COUNTED` longest due rows waits for a worker, the next row is taken as the oldest."""
    due = _longest_due().subquery()
    ready = select(due.c.remind_at).where(due.c.state == "due").order_by(due.c.remind_at).limit(1)
    following = select(Snooze.remind_at).where(*_due).order_by(Snooze.remind_at).offset(MAX_COUNTED + 1).limit(1)
    oldest = func.coalesce(ready.scalar_subquery(), following.scalar_subquery())
    late = connection.execute(select(func.clock_timestamp() - oldest)).scalar_one()
    return 0.0 if late is None else float(late.total_seconds())


def _longest_due() -> Select[tuple[datetime, str]]:
    """Up to `MAX_COUNTED` + 1 of the longest due rows, in order: when each was due, and its state."""
    its = state_of()
    rows = select(Snooze.remind_at, its.c.state).join(its, literal(True)).where(*_due)
    return rows.order_by(Snooze.remind_at).limit(MAX_COUNTED + 1)


def _recent_heartbeat(dead_after: timedelta) -> ColumnElement[bool]:
    return _last_seen_by - Worker.heartbeat_at <= dead_after
