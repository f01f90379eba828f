"""A person's messages in the kept mailbox, and captured mail; another person's is never found."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, Select, and_, exists, func, or_, select, tuple_

from snoozer.db.models import CapturedMail, MailboxMessage, Snooze
from snoozer.db.queries import PAGE_SIZE, Cursor, Found, Page, columns, make_page

Folder = Literal["inbox", "snoozed", "done"]
Field = Literal["text", "from", "subject"]

# What is above all others in the inbox: more than these are where they returned to.
MAX_BACK = 20
_RETURNS = func.greatest(MailboxMessage.returns_at, MailboxMessage.deferred_until)
_WAKES = func.coalesce(_RETURNS, MailboxMessage.surfaced_at)

_FROM = (MailboxMessage.sender_name, MailboxMessage.sender_email)
_SEARCHED: dict[Field, tuple[Any, ...]] = {
    "text": (MailboxMessage.subject, *_FROM),
    "from": _FROM,
    "subject": (MailboxMessage.subject,),
}


@dataclass(frozen=True, kw_only=True)
class Counts:
    """How many messages are in each folder, and how many of the inbox are unread."""

    inbox: int
    unread: int
    snoozed: int
    done: int


def in_folder(
    connection: Connection,
    *,
    user_email: str,
    folder: Folder,
    before: Cursor | None = None,
    terms: Sequence[tuple[Field, str]] = (),
    without: Collection[int] = (),
    size: int = PAGE_SIZE,
) -> Page[Found]:
    """The messages of a folder, each with its live snooze: the latest to arrive or return first, of what is snoozed the
    first to return. With `terms`, those whose subject or sender have all of these texts; none of the ids `without`."""
    found = _rows().where(MailboxMessage.user_email == user_email, MailboxMessage.folder == folder)
    if without:
        found = found.where(MailboxMessage.id.not_in(without))
    found = _having(found, terms)
    if folder == "snoozed":
        if before is not None:
            found = found.where(tuple_(_WAKES, MailboxMessage.id) > (before.at, before.id))
        found = found.order_by(_WAKES, MailboxMessage.id).limit(size + 1)
        return make_page(connection.execute(found).all(), size=size, at=lambda row: row.wakes)
    if before is not None:
        found = found.where(tuple_(MailboxMessage.surfaced_at, MailboxMessage.id) < (before.at, before.id))
    found = found.order_by(MailboxMessage.surfaced_at.desc(), MailboxMessage.id.desc()).limit(size + 1)
    return make_page(connection.execute(found).all(), size=size, at=lambda row: row.surfaced_at)


def chosen(
    connection: Connection,
    *,
    user_email: str,
    folder: Folder,
    as_of: datetime,
    size: int,
    terms: Sequence[tuple[Field, str]] = (),
) -> Sequence[int]:
    """The ids of the first `size` messages of a folder that have all of these texts, in the order of `in_folder`. What
    arrived, returned or was snoozed after `as_of` was not on the list that was shown then."""
    ids: Select[*tuple[Any, ...]] = select(MailboxMessage.id)
    ids = ids.where(MailboxMessage.user_email == user_email, MailboxMessage.folder == folder)
    found = _having(ids.where(MailboxMessage.surfaced_at <= as_of), terms)
    if folder == "snoozed":
        found = found.where(~_snoozed_after(as_of)).order_by(_WAKES, MailboxMessage.id)
    else:
        found = found.order_by(MailboxMessage.surfaced_at.desc(), MailboxMessage.id.desc())
    return connection.execute(found.limit(size)).scalars().all()


def _snoozed_after(as_of: datetime) -> ColumnElement[bool]:
    return exists().where(
        Snooze.user_email == MailboxMessage.user_email,
        Snooze.message_id == MailboxMessage.message_id,
        ~Snooze.inactive,
        Snooze.created_at > as_of,
    )


def heads(connection: Connection, *, user_email: str, ids: Sequence[int]) -> Sequence[Found]:
    """Message-ID, subject and sender of these messages."""
    head = select(*columns(MailboxMessage, "id message_id subject sender_email"))
    mine = head.where(MailboxMessage.user_email == user_email, MailboxMessage.id.in_(ids))
    return connection.execute(mine.order_by(MailboxMessage.id)).all()


def back(connection: Connection, *, user_email: str, size: int = MAX_BACK) -> Sequence[Found]:
    """What returned and has not been read since, the last to return first."""
    found = _rows().where(
        MailboxMessage.user_email == user_email,
        MailboxMessage.returned,
        MailboxMessage.unread,
        MailboxMessage.folder == "inbox",
    )
    latest = found.order_by(MailboxMessage.surfaced_at.desc(), MailboxMessage.id.desc()).limit(size)
    return connection.execute(latest).all()


def _rows() -> Select[*tuple[Any, ...]]:
    """A message with its live snooze."""
    same_message = and_(Snooze.user_email == MailboxMessage.user_email, Snooze.message_id == MailboxMessage.message_id)
    live = and_(same_message, ~Snooze.inactive)
    return select(
        *columns(MailboxMessage, "id message_id subject sender_name sender_email folder unread returned"),
        *columns(MailboxMessage, "arrived_at surfaced_at snippet"),
        _WAKES.label("wakes"),
        func.octet_length(MailboxMessage.original).label("size"),
        Snooze.id.label("snooze_id"),
        *columns(Snooze, "remind_at scheduled_for claimed_at recurrence"),
    ).outerjoin(Snooze, live)


def counts(connection: Connection, *, user_email: str) -> Counts:
    """How many messages are in each folder."""
    rows = connection.execute(
        select(
            MailboxMessage.folder, func.count().label("all"), func.count().filter(MailboxMessage.unread).label("unread")
        )
        .where(MailboxMessage.user_email == user_email)
        .group_by(MailboxMessage.folder)
    ).all()
    by_folder = {row.folder: row.all for row in rows}
    return Counts(
        inbox=by_folder.get("inbox", 0),
        unread=sum(row.unread for row in rows if row.folder == "inbox"),
        snoozed=by_folder.get("snoozed", 0),
        done=by_folder.get("done", 0),
    )


def one(connection: Connection, *, id: int, user_email: str, whole: bool = False) -> Found | None:
    """One kept message of this person, with `whole` including its bytes."""
    shown = [column for column in MailboxMessage.__table__.columns if whole or column.name != "original"]
    size = func.octet_length(MailboxMessage.original).label("size")
    message = select(*shown, size).where(MailboxMessage.id == id, MailboxMessage.user_email == user_email)
    return connection.execute(message).first()


def captured(
    connection: Connection, *, rcpt_to: str, before: int | None = None, size: int = PAGE_SIZE
) -> tuple[Sequence[Found], int | None]:
    """Captured mail for an address, newest first, and the id before which the next page begins."""
    mails: Select[*tuple[Any, ...]] = select(*columns(CapturedMail, "id received_at mail_from original"))
    received = mails.where(CapturedMail.rcpt_to == rcpt_to)
    if before is not None:
        received = received.where(CapturedMail.id < before)
    rows = connection.execute(received.order_by(CapturedMail.id.desc()).limit(size + 1)).all()
    return rows[:size], rows[size - 1].id if len(rows) > size else None


def one_captured(connection: Connection, *, id: int, rcpt_to: str) -> Found | None:
    """One captured mail for this address."""
    mail = select(*CapturedMail.__table__.columns).where(CapturedMail.id == id, CapturedMail.rcpt_to == rcpt_to)
    return connection.execute(mail).first()


def _having(found: Select[*tuple[Any, ...]], terms: Sequence[tuple[Field, str]]) -> Select[*tuple[Any, ...]]:
    for field, text in terms:
        found = found.where(or_(*(column.icontains(text, autoescape=True) for column in _SEARCHED[field])))
    return found
