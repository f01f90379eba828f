"""Reads for operators: cases, and one row with its sends and events.

Cases are listed newest first by (finished_at, id). A `Filter` selects them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Select, Text, and_, column, func, literal, or_, select, table, true, tuple_
from sqlalchemy.orm import aliased

from snoozer.db.models import (
    EMAIL,
    CircuitBreaker,
    Digest,
    DigestMember,
    Event,
    Send,
    Snooze,
    Worker,
    is_send_of,
    promised_time,
)
from snoozer.db.models.state import is_ahead, state_of
from snoozer.db.queries import Cursor, Found, columns
from snoozer.db.queries.case_filter import Filter, InvalidFilter
from snoozer.db.queries.snooze_events import bounce_of

__all__ = ["Filter", "InvalidFilter"]

PAGE_SIZE = 50
MAX_COUNTED = 10_000
MAX_AHEAD = 1_000

_promise = promised_time()
_its_send = is_send_of()
_key = tuple_(Snooze.finished_at, Snooze.id)


@dataclass(frozen=True, kw_only=True)
class CasePage:
    """Some cases, newest first; `newer` and `older` are the cursors of the adjacent pages, None for no page."""

    rows: Sequence[Found]
    newer: Cursor | None
    older: Cursor | None


def page(
    connection: Connection, filter: Filter, *, before: Cursor | None = None, after: Cursor | None = None
) -> CasePage:
    """`PAGE_SIZE` cases with the state of their send: the newest, those `before` a cursor, or those `after` it. Paging
    is stable while cases are added and removed."""
    chosen = (
        select(
            *columns(Snooze, "id user_email last_error attempts max_attempts crash_count finished_at"),
            func.snooze_error_class(Snooze.last_error).label("error_class"),
            _promise.label("promise"),
            Send.state.label("send_state"),
        )
        .join(Send, _its_send, isouter=True)
        .where(*filter.conditions())
        .limit(PAGE_SIZE + 1)
    )
    if after is not None:
        found = chosen.where(_key > (after.at, after.id)).order_by(Snooze.finished_at, Snooze.id)
        rows = connection.execute(found).all()
        shown = list(reversed(rows[:PAGE_SIZE]))
        older = _cursor(shown[-1]) if shown else Cursor(after.at, after.id + 1)
        return CasePage(rows=shown, newer=_cursor(shown[0]) if len(rows) > PAGE_SIZE else None, older=older)
    if before is not None:
        chosen = chosen.where(_key < (before.at, before.id))
    rows = connection.execute(chosen.order_by(Snooze.finished_at.desc(), Snooze.id.desc())).all()
    shown = list(rows[:PAGE_SIZE])
    newer = None if before is None else _cursor(shown[0]) if shown else Cursor(before.at, max(before.id - 1, 0))
    return CasePage(rows=shown, newer=newer, older=_cursor(shown[-1]) if len(rows) > PAGE_SIZE else None)


def beside(connection: Connection, filter: Filter, *, at: datetime | None, id: int) -> tuple[int | None, int | None]:
    """The ids of the cases before and after this one in the list of the filter, the newer one first; None for none, as
    for a row that is not finished."""
    if at is None:
        return None, None
    chosen = select(Snooze.id).where(*filter.conditions()).limit(1)
    newer = chosen.where(_key > (at, id)).order_by(Snooze.finished_at, Snooze.id)
    older = chosen.where(_key < (at, id)).order_by(Snooze.finished_at.desc(), Snooze.id.desc())
    return connection.execute(newer).scalar_one_or_none(), connection.execute(older).scalar_one_or_none()


def longest_waiting(
    connection: Connection, filter: Filter, *, until: datetime, limit: int, ids: Sequence[int] | None = None
) -> list[int]:
    """The ids of up to `limit` cases (of `ids` only, unless None), the oldest case first; none that became a case after
    `until`."""
    chosen = _matching(filter, until, ids).order_by(Snooze.finished_at, Snooze.id)
    return list(connection.execute(chosen.limit(limit)).scalars())


def count(connection: Connection, filter: Filter, *, until: datetime, limit: int = MAX_COUNTED) -> int:
    """How many such cases there are; `limit` + 1 for more. Unordered, so that the scan ends there."""
    rows = _matching(filter, until).limit(limit + 1).subquery()
    return connection.execute(select(func.count()).select_from(rows)).scalar_one()


def count_for_bulk(connection: Connection, filter: Filter, *, until: datetime, most: int) -> tuple[int, int]:
    """How many cases a bulk act is about (`most` + 1 for more than that), and how many of them may have been sent."""
    # Use the index of the few unsettled sends rather than the send of each case.
    unsettled = Send.state == literal("uncertain", literal_execute=True)
    doubtful = _matching(filter, until).join(Send, and_(_its_send, unsettled)).limit(most + 1).subquery()
    uncertain = connection.execute(select(func.count()).select_from(doubtful)).scalar_one()
    return count(connection, filter, until=until, limit=most), uncertain


def error_text(connection: Connection, filter: Filter) -> str | None:
    """The text that the errors of such cases share, as the fingerprint reads them; None if there is no such case."""
    text = select(func.snooze_error_text(Snooze.last_error)).where(*filter.conditions()).limit(1)
    return connection.execute(text).scalar_one_or_none()


def one(connection: Connection, *, id: int) -> Found | None:
    """Any snooze, as its case page shows it, with the worker that holds it and its state."""
    its = state_of()
    return connection.execute(
        select(
            *columns(Snooze, "id user_email sender_email remind_at scheduled_for"),
            _promise.label("promise"),
            *columns(Snooze, "inactive outcome finished_at attempts max_attempts crash_count last_error last_error_at"),
            *columns(Snooze, "claimed_at claimed_by lease_expires_at created_at schema_version serialization_key"),
            *columns(Snooze, "deferred_until deferred_by"),
            *its.c,
            (Snooze.remind_at <= func.current_timestamp()).label("is_due"),
            func.md5(Snooze.message_id).label("message_hash"),
            Worker.state.label("worker_state"),
            Worker.heartbeat_at,
        )
        .select_from(Snooze)
        .join(its, true())
        .join(Worker, Worker.id == Snooze.claimed_by, isouter=True)
        .where(Snooze.id == id)
    ).first()


def ahead(connection: Connection, *, id: int) -> int:
    """How many rows come before this one, of the same serialization key: in flight or waiting; `MAX_AHEAD` + 1 for
    more."""
    row, same = aliased(Snooze), aliased(Snooze)
    in_flight = and_(same.serialization_key == row.serialization_key, same.claimed_at.is_not(None))
    earlier = select(literal(1)).select_from(row).join(same, or_(in_flight, and_(*is_ahead(same, of=row))))
    rows = earlier.where(row.id == id, same.id != row.id).limit(MAX_AHEAD + 1).subquery()
    return connection.execute(select(func.count()).select_from(rows)).scalar_one()


def sends(connection: Connection, *, id: int) -> Sequence[Found]:
    """The reminders of one snooze in the ledger, the newest promise first. `digest_of` is the snooze whose reminder is
    the digest that lists this one."""
    digest_of = (
        select(Digest.snooze_id)
        .join(DigestMember, DigestMember.digest_id == Digest.id)
        .where(DigestMember.snooze_id == Send.snooze_id, DigestMember.scheduled_for == Send.scheduled_for)
        .scalar_subquery()
    )
    return connection.execute(
        select(
            *columns(Send, "state scheduled_for reserved_at dot_authorised_at uncertain_at sent_at smtp_code"),
            *columns(Send, "enhanced_code reply queue_id reminder_message_id resends late"),
            *columns(Send, "resolution resolved_by resolved_at"),
            digest_of.label("digest_of"),
            bounce_of(Send),
        )
        .join(Snooze, and_(Send.user_email == Snooze.user_email, Send.message_id == Snooze.message_id))
        .where(Snooze.id == id, Send.channel == EMAIL, (Send.snooze_id == id) | (Send.scheduled_for == _promise))
        .order_by(Send.scheduled_for.desc(), Send.id.desc())
        .limit(PAGE_SIZE)
    ).all()


def events(connection: Connection, *, id: int) -> Sequence[Found]:
    """The newest events of one snooze, newest first."""
    return connection.execute(
        select(Event.at, Event.kind, Event.actor, Event.route, Event.detail)
        .where(Event.snooze_id == id)
        .order_by(Event.id.desc())
        .limit(2 * PAGE_SIZE)
    ).all()


def open_breakers(connection: Connection) -> Sequence[Found]:
    """The breakers of mail servers in use that are not closed, and who tripped them."""
    in_use = select(column("server", Text)).select_from(table("open_breakers"))
    chosen = select(*columns(CircuitBreaker, "server tripped_at tripped_by")).where(CircuitBreaker.server.in_(in_use))
    return connection.execute(chosen.order_by(CircuitBreaker.server)).all()


def _cursor(row: Found) -> Cursor:
    return Cursor(row.finished_at, row.id)


def _matching(filter: Filter, until: datetime, ids: Sequence[int] | None = None) -> Select[int]:
    chosen = select(Snooze.id).where(*filter.conditions(), Snooze.finished_at <= until)
    return chosen if ids is None else chosen.where(Snooze.id.in_(ids))
