"""What operators see: cases, why they failed, and their sends.

Cases are listed newest first by (finished_at, id). `reason` is the fingerprint of an error's text without addresses and
long numbers, so that the same failure of two people is one reason.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, Select, and_, func, literal, or_, select, tuple_
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
from snoozer.db.models.snooze import is_ahead
from snoozer.db.queries import Cursor, Found, Page, columns, make_page
from snoozer.db.statements import rows_as

PAGE_SIZE = 50
MAX_GROUPED = 10_000
MAX_REASONS = 30
MAX_AHEAD = 1_000

_text = func.regexp_replace(
    func.regexp_replace(
        func.coalesce(func.nullif(Snooze.last_error, ""), "No error was written down"),
        r"[^\s<>(),;:@]*@[^\s<>(),;@]*",
        "…@…",
        "g",
    ),
    r"\m(\d{5,}|[0-9A-Fa-f]{8,})\M",
    "…",
    "g",
)
_reason = func.md5(_text)
_promise = promised_time()
_its_send = is_send_of()


@dataclass(frozen=True, kw_only=True)
class Reason:
    """Cases with the same error; `text` holds no addresses."""

    fingerprint: str
    text: str
    cases: int
    people: int
    first: datetime
    last: datetime


def page(connection: Connection, *, reason: str | None = None, before: Cursor | None = None) -> Page[Found]:
    """The next `PAGE_SIZE` cases, newest first, with the state of their send, optionally of one reason only; `text` is
    the error without addresses."""
    chosen = (
        select(
            *columns(Snooze, "id user_email last_error"),
            _text.label("text"),
            *columns(Snooze, "attempts max_attempts crash_count finished_at"),
            _promise.label("promise"),
            Send.state.label("send_state"),
        )
        .join(Send, _its_send, isouter=True)
        .where(*_cases(reason))
        .order_by(Snooze.finished_at.desc(), Snooze.id.desc())
        .limit(PAGE_SIZE + 1)
    )
    if before is not None:
        chosen = chosen.where(tuple_(Snooze.finished_at, Snooze.id) < (before.at, before.id))
    return make_page(connection.execute(chosen).all(), size=PAGE_SIZE, at=lambda row: row.finished_at)


def reasons(connection: Connection) -> list[Reason]:
    """Why the newest `MAX_GROUPED` cases failed, the most frequent reason first."""
    newest = (
        select(Snooze.user_email, Snooze.finished_at, _text.label("text"))
        .where(*_cases(None))
        .order_by(Snooze.finished_at.desc(), Snooze.id.desc())
        .limit(MAX_GROUPED)
        .subquery()
    )
    grouped = (
        select(
            func.md5(newest.c.text).label("fingerprint"),
            newest.c.text,
            func.count().label("cases"),
            func.count(newest.c.user_email.distinct()).label("people"),
            func.min(newest.c.finished_at).label("first"),
            func.max(newest.c.finished_at).label("last"),
        )
        .group_by(newest.c.text)
        .order_by(func.count().desc(), newest.c.text)
        .limit(MAX_REASONS)
    )
    return rows_as(connection.execute(grouped), Reason)


def text_of(connection: Connection, *, reason: str) -> str | None:
    """The error text of a fingerprint; None when no case has it."""
    return connection.execute(select(_text).where(*_cases(reason)).limit(1)).scalar_one_or_none()


def matching(
    connection: Connection, *, until: datetime, limit: int, reason: str | None = None, ids: Sequence[int] | None = None
) -> list[int]:
    """The ids of a bulk action's cases, longest waiting first: none that became a case after `until`."""
    return [row.id for row in connection.execute(_matching(until, reason, ids).limit(limit))]


def count(connection: Connection, *, until: datetime, limit: int, reason: str | None) -> int:
    """How many cases there are, or have this reason; `limit` + 1 for more. Unordered, so that the scan ends there."""
    rows = _matching(until, reason, None).order_by(None).limit(limit + 1).subquery()
    return connection.execute(select(func.count()).select_from(rows)).scalar_one()


def count_for_bulk(
    connection: Connection, *, until: datetime, most: int, reason: str | None = None, ids: Sequence[int] | None = None
) -> tuple[int, int]:
    """How many cases a bulk act is about (`most` + 1 for more than that), and how many of them may have been sent."""
    counted = _matching(until, reason, ids).add_columns(Send.state).join(Send, _its_send, isouter=True)
    rows = counted.limit(most + 1).subquery()
    uncertain = func.count().filter(rows.c.state == "uncertain")
    cases, doubtful = connection.execute(select(func.count(), uncertain).select_from(rows)).one()
    return cases, doubtful


def one(connection: Connection, *, id: int) -> Found | None:
    """Any snooze, as its case page shows it, with the worker that holds it."""
    return connection.execute(
        select(
            *columns(Snooze, "id user_email sender_email remind_at scheduled_for"),
            _promise.label("promise"),
            *columns(Snooze, "inactive outcome finished_at attempts max_attempts crash_count last_error last_error_at"),
            *columns(Snooze, "claimed_at claimed_by lease_expires_at created_at schema_version serialization_key"),
            Worker.state.label("worker_state"),
            Worker.heartbeat_at,
        )
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


def open_breakers(connection: Connection) -> list[str]:
    """Mail servers whose breaker is not closed."""
    return list(connection.execute(select(CircuitBreaker.server).where(CircuitBreaker.state != "closed")).scalars())


def _cases(reason: str | None) -> list[ColumnElement[bool]]:
    # A bind would hide that the partial index fits.
    a_case = Snooze.outcome == literal("retired", literal_execute=True)
    return [a_case] if reason is None else [a_case, _reason == reason]


def _matching(until: datetime, reason: str | None, ids: Sequence[int] | None) -> Select[int]:
    chosen = select(Snooze.id).where(*_cases(reason), Snooze.finished_at <= until)
    if ids is not None:
        chosen = chosen.where(Snooze.id.in_(ids))
    return chosen.order_by(Snooze.finished_at, Snooze.id)
