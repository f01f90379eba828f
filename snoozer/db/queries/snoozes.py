"""What a person sees of their snoozes. Somebody else's are never found."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, exists, func, or_, select, tuple_
from sqlalchemy.orm import aliased

from snoozer.db.models import (
    ArchivedSend,
    ArchivedSnooze,
    CircuitBreaker,
    Event,
    MailboxMessage,
    Send,
    Snooze,
    promised_time,
)
from snoozer.db.queries import PAGE_SIZE, Cursor, Found, Page, make_page


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """Reminders of one person that are late: how many, since when the oldest, and what is known of the reason."""

    late: int
    oldest: datetime
    reason: str | None
    server_away_since: datetime | None


def asleep(
    connection: Connection, *, user_email: str, after: Cursor | None = None, size: int = PAGE_SIZE
) -> Page[Found]:
    """Everything that has not come back yet, the next one first."""
    living = _rows().where(Snooze.user_email == user_email, Snooze.outcome.is_(None))
    if after is not None:
        living = living.where(tuple_(Snooze.remind_at, Snooze.id) > (after.at, after.id))
    # By `outcome` first, which is the same for all of them, because the index has it there.
    rows = connection.execute(living.order_by(Snooze.outcome, Snooze.remind_at, Snooze.id).limit(size + 1)).all()
    return make_page(rows, size=size, at=lambda row: row.remind_at)


def count(connection: Connection, *, user_email: str) -> int:
    """How many have not come back yet."""
    return connection.execute(
        select(func.count()).where(Snooze.user_email == user_email, Snooze.outcome.is_(None))
    ).scalar_one()


def stuck(connection: Connection, *, user_email: str, size: int = 20) -> Sequence[Found]:
    """Cases, the last tried first: their attempts are spent and the person has not put the message away anew since."""
    return connection.execute(
        _rows()
        .where(Snooze.user_email == user_email, Snooze.outcome == "retired", ~_put_away_anew())
        .order_by(Snooze.remind_at.desc(), Snooze.id.desc())
        .limit(size)
    ).all()


def came_back(connection: Connection, *, user_email: str, since: datetime, size: int = 5) -> Sequence[Found]:
    """What returned lately, the newest first, unless it was put away anew."""
    return connection.execute(
        _rows()
        .where(
            Snooze.user_email == user_email,
            Snooze.outcome == "sent",
            Snooze.remind_at > since,
            ~_put_away_anew(),
        )
        .order_by(Snooze.remind_at.desc(), Snooze.id.desc())
        .limit(size)
    ).all()


def one(connection: Connection, *, id: int, user_email: str, changing: bool = False) -> Found | None:
    """One snooze of this person, archived or not; with `changing`, others who change it wait until this transaction
    ends. What is archived does not change any more."""
    row = _rows().where(Snooze.id == id, Snooze.user_email == user_email)
    living = connection.execute(row.with_for_update(key_share=True, of=Snooze) if changing else row).first()
    if living is not None:
        return living
    archived = ArchivedSnooze.__table__.c
    return connection.execute(
        _rows(ArchivedSnooze, ArchivedSend).where(archived.id == id, archived.user_email == user_email)
    ).first()


def live(connection: Connection, *, user_email: str, message_id: str) -> Found | None:
    """The living snooze of a message."""
    return connection.execute(
        _rows().where(Snooze.user_email == user_email, Snooze.message_id == message_id, ~Snooze.inactive)
    ).first()


def sends(connection: Connection, *, id: int, size: int = 100) -> Sequence[Found]:
    """What the ledger says of a snooze's newest promises, the newest first; of what repeats there is no end of them."""
    return (
        connection.execute(_sends(Send, id=id, size=size)).all()
        or connection.execute(_sends(ArchivedSend, id=id, size=size)).all()
    )


def events(connection: Connection, *, id: int, size: int = 100) -> Sequence[Found]:
    """The paper trail of a snooze, the newest first."""
    return connection.execute(
        select(*Event.__table__.columns).where(Event.snooze_id == id).order_by(Event.id.desc()).limit(size)
    ).all()


def by_the_clock(
    connection: Connection,
    *,
    now: datetime,
    user_email: str | None = None,
    zone: str | None = None,
    after: int = 0,
    size: int | None = None,
) -> Sequence[Found]:
    """What is still to come at a time on the clock, of one person and zone or of everybody, in the order of ids."""
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


def trouble(
    connection: Connection, *, user_email: str, now: datetime, patience: timedelta, longest_pause: timedelta
) -> Trouble | None:
    """What to say when this person's reminders are later than `patience`; None when none is.

    What failed is tried again within `longest_pause`: what comes later than that is not looked at.
    """
    promised = promised_time()
    late = connection.execute(
        select(
            func.count().label("late"),
            func.min(promised).label("oldest"),
            func.max(Snooze.last_error).label("reason"),
        ).where(
            Snooze.user_email == user_email,
            Snooze.outcome.is_(None),
            ~Snooze.inactive,
            Snooze.remind_at < now + longest_pause,
            promised < now - patience,
        )
    ).one()
    if not late.late:
        return None
    away = connection.execute(
        select(func.min(CircuitBreaker.opened_at)).where(CircuitBreaker.state != "closed")
    ).scalar_one_or_none()
    return Trouble(late=late.late, oldest=late.oldest, reason=late.reason, server_away_since=away)


def _rows(snooze: Any = Snooze, send: Any = Send) -> Select[*tuple[Any, ...]]:
    """A snooze, the kept message it is about, and the ledger's word on its newest promise; living or archived."""
    newest = (
        select(send.id)
        .where(send.snooze_id == snooze.id)
        .order_by(send.scheduled_for.desc())
        .limit(1)
        .correlate(snooze)
        .scalar_subquery()
    )
    return (
        select(
            *snooze.__table__.columns,
            MailboxMessage.id.label("kept_id"),
            MailboxMessage.sender_name,
            MailboxMessage.folder,
            send.state.label("send_state"),
            send.sent_at,
        )
        .outerjoin(
            MailboxMessage,
            and_(MailboxMessage.user_email == snooze.user_email, MailboxMessage.message_id == snooze.message_id),
        )
        .outerjoin(send, send.id == newest)
    )


def _sends(send: Any, *, id: int, size: int) -> Select[*tuple[Any, ...]]:
    columns = send.__table__.columns
    return (
        select(*columns)
        .where(columns.snooze_id == id)
        .order_by(columns.scheduled_for.desc(), columns.id.desc())
        .limit(size)
    )


def _put_away_anew() -> ColumnElement[bool]:
    """Is the message away again, or has a later reminder of it begun? What was cancelled before that is as if it had
    never been. Two questions that indexes answer; a person's rows by message are in none."""
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
