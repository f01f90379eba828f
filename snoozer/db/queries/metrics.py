"""The metrics of the operator's page. Each count stops at `MAX_COUNTED`, so the page is fast at any size.

What is due is examined among the `MAX_COUNTED` rows that are due the longest: each waits for a worker, behind others of
its serialization key, or for workers of a newer release.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, case, func, literal, not_, select

from snoozer.db.models import CircuitBreaker, HousekeepingRun, Send, Snooze, Worker
from snoozer.db.models.snooze import is_behind_key, is_deferred
from snoozer.db.queries import Found, columns

MAX_COUNTED = 10_000
MAX_LISTED = 20
A_DAY = timedelta(days=1)

_waiting = [not_(Snooze.inactive), Snooze.claimed_at.is_(None)]
_due = [*_waiting, Snooze.remind_at <= func.current_timestamp(), Snooze.attempts < Snooze.max_attempts]
_last_seen_by = func.coalesce(Worker.stopped_at, func.current_timestamp())


@dataclass(frozen=True, kw_only=True)
class QueueMetrics:
    """The state at `at`, by the database's clock. A count of `MAX_COUNTED` + 1 means more than that; with `more_due`,
    `due`, `behind_key` and `deferred` are those of the rows that are due the longest, and there are more.

    `lost` workers stopped sending heartbeats within the last day without deregistering.
    """

    at: datetime
    due: int
    oldest_due: datetime | None
    behind_key: int
    deferred: int
    more_due: bool
    claimed: int
    oldest_claim: datetime | None
    asleep: int
    cases: int
    newest_case: datetime | None
    uncertain: int
    alive: int
    draining: int
    lost: int
    heard: datetime | None
    housekeeping: datetime | None


def read(connection: Connection, *, dead_after: timedelta) -> QueueMetrics:
    """All metrics in one statement, and so of one instant. A worker without a heartbeat for `dead_after` is lost."""
    recent = _recent_heartbeat(dead_after)
    claimed = Snooze.claimed_at.is_not(None)
    a_case = Snooze.outcome == literal("retired", literal_execute=True)
    due = _longest_due().cte("due")
    row = connection.execute(
        select(
            func.current_timestamp().label("at"),
            select(func.count()).select_from(due).where(due.c.waits_for == "worker").scalar_subquery().label("due"),
            select(func.min(due.c.remind_at)).where(due.c.waits_for == "worker").scalar_subquery().label("oldest_due"),
            select(func.count()).select_from(due).where(due.c.waits_for == "key").scalar_subquery().label("behind_key"),
            select(func.count())
            .select_from(due)
            .where(due.c.waits_for == "release")
            .scalar_subquery()
            .label("deferred"),
            (select(func.count()).select_from(due).scalar_subquery() > MAX_COUNTED).label("more_due"),
            _capped(claimed).label("claimed"),
            select(func.min(Snooze.claimed_at)).where(claimed).scalar_subquery().label("oldest_claim"),
            _capped(*_waiting, Snooze.remind_at > func.current_timestamp(), by=Snooze.remind_at).label("asleep"),
            _capped(a_case, by=Snooze.finished_at).label("cases"),
            select(func.max(Snooze.finished_at)).where(a_case).scalar_subquery().label("newest_case"),
            _capped(Send.state == literal("uncertain", literal_execute=True)).label("uncertain"),
            _capped(Worker.state == "alive", recent).label("alive"),
            _capped(Worker.state == "draining", recent).label("draining"),
            _capped(not_(recent), _last_seen_by > func.current_timestamp() - A_DAY).label("lost"),
            select(func.max(Worker.heartbeat_at)).scalar_subquery().label("heard"),
            select(func.max(HousekeepingRun.finished_at)).scalar_subquery().label("housekeeping"),
        )
    ).one()
    return QueueMetrics(**row._mapping)


def alive(connection: Connection, *, dead_after: timedelta) -> int:
    """How many workers are alive, with a heartbeat within `dead_after`."""
    living = select(func.count()).where(Worker.state == "alive", _recent_heartbeat(dead_after))
    return connection.execute(living).scalar_one()


def breakers(connection: Connection) -> Sequence[Found]:
    """The breakers of all mail servers, those that are not closed first."""
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
    """For how many seconds the oldest snooze that waits for a worker has been due; 0 when none does. Where none of the
    `MAX_COUNTED` that are due the longest does, the next one is taken for it."""
    due = _longest_due().subquery()
    ready = select(due.c.remind_at).where(due.c.waits_for == "worker").order_by(due.c.remind_at).limit(1)
    following = select(Snooze.remind_at).where(*_due).order_by(Snooze.remind_at).offset(MAX_COUNTED + 1).limit(1)
    oldest = func.coalesce(ready.scalar_subquery(), following.scalar_subquery())
    late = connection.execute(select(func.clock_timestamp() - oldest)).scalar_one()
    return 0.0 if late is None else float(late.total_seconds())


def _longest_due() -> Select[tuple[datetime, str]]:
    """Up to `MAX_COUNTED` + 1 rows that are due the longest, in order: since when, and whether each waits for a
    "worker", for others of its "key" or for a "release"."""
    waits_for = case((is_deferred(), "release"), (is_behind_key(), "key"), else_="worker")
    rows = select(Snooze.remind_at, waits_for.label("waits_for")).where(*_due)
    return rows.order_by(Snooze.remind_at).limit(MAX_COUNTED + 1)


def _recent_heartbeat(dead_after: timedelta) -> ColumnElement[bool]:
    return _last_seen_by - Worker.heartbeat_at <= dead_after


def _capped(*conditions: ColumnElement[bool], by: Any = None) -> Any:
    """A count of at most `MAX_COUNTED` + 1 rows. `by` is the order of a partial index on just these rows: without it
    the planner, expecting many, scans the table until it has found enough."""
    rows = select(literal(1)).where(*conditions).order_by(by).limit(MAX_COUNTED + 1).subquery()
    return select(func.count()).select_from(rows).scalar_subquery()
