"""A person's snoozes as the pages show them; another person's are never found."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, Select, and_, case, exists, func, or_, select, true, tuple_
from sqlalchemy.orm import aliased

from snoozer.db.models import (
    EMAIL,
    Account,
    ApiToken,
    ArchivedSend,
    Digest,
    DigestMember,
    Event,
    MailboxMessage,
    Pause,
    Send,
    Snooze,
    due_time,
    is_message_of,
    promised_time,
)
from snoozer.db.models.state import in_state, is_overdue, state_of
from snoozer.db.queries import PAGE_SIZE, Cursor, Found, Page, columns, make_page
from snoozer.db.queries.archived import live_or_archived
from snoozer.db.queries.snooze_events import bounce_of

Field = Literal["text", "from", "subject", "note"]
# How many rows to read at a time.
READ_SIZE = 500
SoughtState = Literal["asleep", "late", "paused", "stuck"]

_FROM = (Snooze.sender_email, MailboxMessage.sender_name)
_SEARCHED: dict[Field, tuple[Any, ...]] = {
    "text": (Snooze.subject, Snooze.note, *_FROM),
    "from": _FROM,
    "subject": (Snooze.subject,),
    "note": (Snooze.note,),
}


@dataclass(frozen=True, kw_only=True)
class Filters:
    """The properties that a snooze must have: texts, each in a field; a state, or without one any snooze that has not
    returned yet; a promise from `since` on and earlier than `before`; with `repeats` a recurrence."""

    texts: tuple[tuple[Field, str], ...] = ()
    state: SoughtState | None = None
    since: datetime | None = None
    before: datetime | None = None
    repeats: bool = False


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """Late reminders of one person: how many, the oldest promise, and an error."""

    late: int
    oldest: datetime
    reason: str | None


def asleep(
    connection: Connection, *, user_email: str, after: Cursor | None = None, size: int = PAGE_SIZE
) -> Page[Found]:
    """Everything that has not returned yet, the next one first."""
    rows = _rows().where(Snooze.user_email == user_email, Snooze.outcome.is_(None))
    if after is not None:
        rows = rows.where(tuple_(Snooze.remind_at, Snooze.id) > (after.at, after.id))
    # `outcome` is the same for all, and comes first because it does so in the index.
    rows = rows.order_by(Snooze.outcome, Snooze.remind_at, Snooze.id).limit(size + 1)
    return make_page(connection.execute(rows).all(), size=size, at=lambda row: row.remind_at)


def count(connection: Connection, *, user_email: str) -> int:
    """How many have not returned yet."""
    rows = select(func.count()).where(Snooze.user_email == user_email, Snooze.outcome.is_(None))
    return connection.execute(rows).scalar_one()


def count_due(connection: Connection, *, user_email: str, now: datetime, max_backoff: timedelta) -> int:
    """How many of them are due. A failed one is tried again within `max_backoff`; rows with a later `remind_at` are not
    read."""
    rows = select(func.count()).where(
        Snooze.user_email == user_email, is_overdue(now), Snooze.remind_at < now + max_backoff
    )
    return connection.execute(rows).scalar_one()


def any_yet(connection: Connection, *, user_email: str) -> bool:
    """Whether this person has snoozed anything that is not in the archive by now."""
    return bool(connection.execute(select(exists().where(Snooze.user_email == user_email))).scalar_one())


def found(
    connection: Connection,
    *,
    user_email: str,
    filters: Filters,
    now: datetime,
    after: Cursor | None = None,
    size: int = PAGE_SIZE,
) -> Page[Found]:
    """The snoozes that meet all filters, the next one first."""
    rows = _filtered(_rows(), user_email=user_email, filters=filters, now=now)
    if after is not None:
        rows = rows.where(tuple_(Snooze.remind_at, Snooze.id) > (after.at, after.id))
    rows = rows.order_by(Snooze.outcome, Snooze.remind_at, Snooze.id).limit(size + 1)
    return make_page(connection.execute(rows).all(), size=size, at=lambda row: row.remind_at)


def count_found(connection: Connection, *, user_email: str, filters: Filters, now: datetime) -> int:
    """How many meet all filters."""
    rows = _filtered(_counted(func.count()), user_email=user_email, filters=filters, now=now)
    return int(connection.execute(rows).scalar_one())


def chosen(connection: Connection, *, user_email: str, filters: Filters, as_of: datetime, size: int) -> Sequence[int]:
    """The ids of the first `size` snoozes that meet all filters as of the time at which a list was shown, the next one
    first. Snoozes that their owner made or changed since then are left out: they were not on that list."""
    rows = _filtered(_counted(Snooze.id), user_email=user_email, filters=filters, now=as_of)
    unchanged = or_(
        Snooze.updated_at <= as_of, Snooze.claimed_at.is_not(None), Snooze.attempts + Snooze.crash_count > 0
    )
    rows = rows.where(Snooze.created_at <= as_of, unchanged)
    rows = rows.order_by(Snooze.outcome, Snooze.remind_at, Snooze.id).limit(size)
    return connection.execute(rows).scalars().all()


def stuck(connection: Connection, *, user_email: str, size: int = 20) -> Sequence[Found]:
    """Cases, the last tried first, whose message has not been snoozed again since."""
    return connection.execute(
        _rows()
        .where(Snooze.user_email == user_email, Snooze.outcome == "retired", ~_snoozed_again())
        .order_by(Snooze.remind_at.desc(), Snooze.id.desc())
        .limit(size)
    ).all()


def came_back(connection: Connection, *, user_email: str, since: datetime, size: int = 5) -> Sequence[Found]:
    """Snoozes that returned since then, newest first, except messages that were snoozed again."""
    return connection.execute(
        _rows()
        .where(Snooze.user_email == user_email, Snooze.outcome == "sent", Snooze.remind_at > since, ~_snoozed_again())
        .order_by(Snooze.remind_at.desc(), Snooze.id.desc())
        .limit(size)
    ).all()


def one(connection: Connection, *, id: int, user_email: str, changing: bool = False) -> Found | None:
    """One snooze of this person, live or archived; with `changing`, a live one is locked until the transaction ends."""
    return live_or_archived(connection, _rows, id=id, user_email=user_email, changing=changing)


def live(connection: Connection, *, user_email: str, message_id: str) -> Found | None:
    """The live snooze of a message."""
    return connection.execute(
        _rows().where(Snooze.user_email == user_email, Snooze.message_id == message_id, ~Snooze.inactive)
    ).first()


def alive_many(connection: Connection, *, user_email: str, message_ids: Collection[str]) -> dict[str, int]:
    """By message, the id of the snooze that `alive` returns."""
    of_message = and_(Snooze.user_email == user_email, Snooze.message_id.in_(message_ids), Snooze.outcome.is_(None))
    rows = select(Snooze.message_id, Snooze.id).where(of_message).order_by(Snooze.inactive.desc(), Snooze.id)
    return {row.message_id: row.id for row in connection.execute(rows)} if message_ids else {}


def alive(connection: Connection, *, user_email: str, message_id: str) -> Found | None:
    """The snooze of a message that is not over: the live one or, without one, the newest that is paused."""
    return connection.execute(
        _rows()
        .where(Snooze.user_email == user_email, Snooze.message_id == message_id, Snooze.outcome.is_(None))
        .order_by(Snooze.inactive, Snooze.id.desc())
        .limit(1)
    ).first()


def unsent(connection: Connection, *, user_email: str, message_ids: Sequence[str]) -> dict[str, Found]:
    """By message: the snooze, if any, whose reminder is overdue or could not be delivered."""
    these = _rows().where(Snooze.user_email == user_email, Snooze.message_id.in_(message_ids))
    overdue = these.where(is_overdue(func.clock_timestamp()))
    undeliverable = these.where(Snooze.outcome == "retired", ~_snoozed_again())
    return {row.message_id: row for rows in (undeliverable, overdue) for row in connection.execute(rows)}


def sends(connection: Connection, *, id: int, size: int = 100, after: Cursor | None = None) -> Sequence[Found]:
    """The sends of a snooze, the newest promise first; a recurring one may have any number of them. `digest_size` is
    how many reminders one mail has; a send that was part of a digest has the `state` and `sent_at` of the digest."""
    return (
        connection.execute(_sends(Send, id=id, size=size, after=after)).all()
        or connection.execute(_sends(ArchivedSend, id=id, size=size, after=after)).all()
    )


def events(connection: Connection, *, id: int, size: int = 100) -> Sequence[Found]:
    """The events of a snooze, newest first, each with the name of the `program` that acted, if one did."""
    program = ApiToken.name.label("program")
    rows = select(*Event.__table__.columns, program).outerjoin(ApiToken, ApiToken.id == Event.token_id)
    return connection.execute(rows.where(Event.snooze_id == id).order_by(Event.id.desc()).limit(size)).all()


def by_the_clock(
    connection: Connection,
    *,
    now: datetime,
    user_email: str | None = None,
    zone: str | None = None,
    after: int = 0,
    size: int | None = None,
) -> Sequence[Found]:
    """Future snoozes with a time on the clock, optionally of one person and zone only, in the order of ids."""
    promise = promised_time()
    rows = select(
        Snooze.id, Snooze.subject, promise.label("promise"), Snooze.wall_time, Snooze.zone, Snooze.recurrence
    ).where(
        Snooze.id > after,
        Snooze.outcome.is_(None),
        Snooze.claimed_at.is_(None),
        Snooze.time_kind == "wall",
        promise > now,
    )
    if user_email is not None:
        rows = rows.where(Snooze.user_email == user_email)
    rows = rows.where(Snooze.zone.is_not(None) if zone is None else Snooze.zone == zone)
    return connection.execute(rows.order_by(Snooze.id).limit(size)).all()


def someday(connection: Connection, *, account_id: int) -> Sequence[Found]:
    """The live snoozes of this person that have no date, with the person's address and zone."""
    rows = (
        select(Snooze.id, Snooze.remind_at, Account.email, Account.zone)
        .join(Account, Account.email == Snooze.user_email)
        .where(Account.id == account_id, ~Snooze.inactive, Snooze.recurrence["kind"].astext == "someday")
    )
    return connection.execute(rows.order_by(Snooze.id)).all()


def waiting(connection: Connection, *, user_email: str, now: datetime) -> Iterator[Found]:
    """Snoozes that have not come yet, by promise, the next one first: asleep, or deferred by a rest of the owner. Reads
    READ_SIZE at a time."""
    promise = promised_time()
    rows = select(Snooze.id, Snooze.subject, promise.label("promise"), Snooze.at_any_hour).where(
        Snooze.user_email == user_email,
        Snooze.outcome.is_(None),
        ~Snooze.inactive,
        or_(promise > now, Snooze.deferred_until > now),
    )
    yield from connection.execute(rows.order_by(promise, Snooze.id).execution_options(yield_per=READ_SIZE))


def trouble(
    connection: Connection, *, user_email: str, now: datetime, tolerance: timedelta, max_backoff: timedelta
) -> Trouble | None:
    """The person's reminders that are later than `tolerance`; None when none is.

    A failed row is tried again within `max_backoff`; rows with a later `remind_at` are not read.
    """
    late = connection.execute(
        select(
            func.count().label("late"),
            func.min(due_time()).label("oldest"),
            func.max(Snooze.last_error).label("reason"),
        ).where(Snooze.user_email == user_email, is_overdue(now - tolerance), Snooze.remind_at < now + max_backoff)
    ).one()
    if not late.late:
        return None
    return Trouble(late=late.late, oldest=late.oldest, reason=late.reason)


def _rows(snooze: Any = Snooze, send: Any = Send) -> Select[*tuple[Any, ...]]:
    """A snooze with its kept message and the send of its newest promise, from the live tables or the archive's.
    `digest_size` is how many reminders its mail has, if a rest deferred it."""
    its_sends = select(send.id).where(send.snooze_id == snooze.id, send.channel == EMAIL)
    newest = its_sends.order_by(send.scheduled_for.desc()).limit(1).correlate(snooze).scalar_subquery()
    kept = and_(is_message_of(snooze), MailboxMessage.is_kept)
    mailbox = [MailboxMessage.id.label("kept_id"), *columns(MailboxMessage, "sender_name folder snippet")]
    its_send = [send.state.label("send_state"), send.sent_at, send.smtp_code, send.refusals, send.delayed_by]
    size = case((snooze.deferred_by.is_not(None), _digest_size(snooze, snooze.id))).label("digest_size")
    since = select(Pause.since).where(Pause.id == snooze.paused_by).scalar_subquery().label("paused_since")
    its = state_of(snooze)
    times = [promised_time(snooze).label("promise"), due_time(snooze).label("due_at")]
    rows = select(*snooze.__table__.columns, *its.c, *times, *mailbox, *its_send, size, since).select_from(snooze)
    return rows.join(its, true()).outerjoin(MailboxMessage, kept).outerjoin(send, send.id == newest)


def _counted(what: Any) -> Select[*tuple[Any, ...]]:
    """Something of snoozes, which are joined with their kept messages as the filters need them."""
    kept = and_(is_message_of(Snooze), MailboxMessage.is_kept)
    return select(what).select_from(Snooze).outerjoin(MailboxMessage, kept)


def _filtered(
    rows: Select[*tuple[Any, ...]], *, user_email: str, filters: Filters, now: datetime
) -> Select[*tuple[Any, ...]]:
    promise = promised_time()
    rows = rows.where(Snooze.user_email == user_email)
    if filters.state == "stuck":
        rows = rows.where(Snooze.outcome == "retired", ~_snoozed_again())
    else:
        rows = rows.where(Snooze.outcome.is_(None))
    if filters.state == "late":
        rows = rows.where(is_overdue(now))
    elif filters.state in {"asleep", "paused"}:
        rows = rows.where(in_state(filters.state, now=now))
    if filters.repeats:
        rows = rows.where(Snooze.recurrence.is_not(None))
    if filters.since is not None:
        rows = rows.where(promise >= filters.since)
    if filters.before is not None:
        rows = rows.where(promise < filters.before)
    for field, text in filters.texts:
        rows = rows.where(or_(*(column.icontains(text, autoescape=True) for column in _SEARCHED[field])))
    return rows


def _sends(send: Any, *, id: int, size: int, after: Cursor | None) -> Select[*tuple[Any, ...]]:
    lead = aliased(Send)
    in_digest = and_(DigestMember.snooze_id == send.snooze_id, DigestMember.scheduled_for == send.scheduled_for)
    its_mail = and_(
        lead.snooze_id == Digest.snooze_id,
        lead.scheduled_for == Digest.scheduled_for,
        lead.channel == EMAIL,
        lead.state.in_(("sending", "uncertain", "sent")),
    )
    own = [column for column in send.__table__.columns if column.name not in {"state", "sent_at"}]
    found = select(
        *own,
        func.coalesce(lead.state, send.state).label("state"),
        func.coalesce(lead.sent_at, send.sent_at).label("sent_at"),
        _digest_size(send, send.snooze_id).label("digest_size"),
        bounce_of(send),
    ).where(send.snooze_id == id, send.channel == EMAIL)
    if after is not None:
        found = found.where(tuple_(send.scheduled_for, send.id) < (after.at, after.id))
    found = found.outerjoin(DigestMember, in_digest).outerjoin(Digest, Digest.id == DigestMember.digest_id)
    return found.outerjoin(lead, its_mail).order_by(send.scheduled_for.desc(), send.id.desc()).limit(size)


def _digest_size(row: Any, snooze_id: Any) -> ColumnElement[int | None]:
    """The number of promises in the digest that lists this row's promise, or that is its mail; NULL if the row has its
    own mail."""
    its, listed = aliased(DigestMember), aliased(DigestMember)
    as_member = select(its.digest_id).where(its.snooze_id == snooze_id, its.scheduled_for == row.scheduled_for)
    as_first = select(Digest.id).where(Digest.snooze_id == snooze_id, Digest.scheduled_for == row.scheduled_for)
    of = func.coalesce(*(found.correlate(row).scalar_subquery() for found in (as_member, as_first)))
    size = select(func.nullif(func.count(), 0) + 1).select_from(listed).where(listed.digest_id == of)
    return size.correlate(row).scalar_subquery()


def _snoozed_again() -> ColumnElement[bool]:
    """Whether the message is snoozed again, or a later reminder of it has begun; cancelled snoozes in between do not
    count. Two subqueries, because each has an index."""
    newer, later = aliased(Snooze), aliased(Send)
    away = exists().where(
        newer.user_email == Snooze.user_email,
        newer.message_id == Snooze.message_id,
        newer.id > Snooze.id,
        ~newer.inactive,
    )
    begun = exists().where(
        later.user_email == Snooze.user_email, later.message_id == Snooze.message_id, later.snooze_id > Snooze.id
    )
    return or_(away, begun)
