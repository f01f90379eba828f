"""A person's messages, kept by Snoozer or listed by a connected mailbox, and captured mail; another person's is never
found."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, Select, and_, exists, func, or_, select, true, tuple_
from sqlalchemy.orm import aliased

from snoozer.db.models import (
    CapturedMail,
    MailboxMessage,
    MessageOriginal,
    Send,
    Snooze,
    is_kept_by,
    is_message_of,
)
from snoozer.db.queries import PAGE_SIZE, Cursor, Found, Page, columns, make_page

Folder = Literal["inbox", "snoozed", "done"]
Field = Literal["text", "from", "subject"]

# At most this many returned messages are shown at the top of the inbox; the rest appear in date order.
MAX_BACK = 20
_RETURNS = func.greatest(MailboxMessage.returns_at, MailboxMessage.deferred_until)
_WAKES = func.coalesce(_RETURNS, MailboxMessage.surfaced_at)
# For a connected mailbox. A paused message has no return time: it is ordered last.
_WAKES_THERE = func.coalesce(_RETURNS, datetime(9999, 1, 1, tzinfo=UTC))
_OF_SNOOZE = "remind_at scheduled_for claimed_at recurrence"

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
    """The messages of a folder, each with its live snooze: the latest to arrive or return first, in the snoozed folder
    the first to return. With `terms`, only messages whose subject or sender have all of these texts; without the ids in
    `without`."""
    found = _rows().where(is_kept_by(user_email), MailboxMessage.folder == folder)
    if without:
        found = found.where(MailboxMessage.id.not_in(without))
    found = _having(found, terms)
    if folder == "snoozed":
        return _first_to_return(connection, found, _WAKES, after=before, size=size)
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
    """The ids of the first `size` messages of a folder that have all of these texts, in the order of `in_folder`.
    Messages that arrived, returned or were snoozed after `as_of` are left out: they were not on the list shown then."""
    ids: Select[*tuple[Any, ...]] = select(MailboxMessage.id)
    ids = ids.where(is_kept_by(user_email), MailboxMessage.folder == folder)
    found = _having(ids.where(MailboxMessage.surfaced_at <= as_of), terms)
    if folder == "snoozed":
        found = found.where(~_snoozed_after(as_of)).order_by(_WAKES, MailboxMessage.id)
    else:
        found = found.order_by(MailboxMessage.surfaced_at.desc(), MailboxMessage.id.desc())
    return connection.execute(found.limit(size)).scalars().all()


def _snoozed_after(as_of: datetime) -> ColumnElement[bool]:
    return exists().where(_is_its_live_snooze(), Snooze.created_at > as_of)


def heads(connection: Connection, *, user_email: str, ids: Sequence[int]) -> Sequence[Found]:
    """Message-ID, subject and sender of these messages."""
    head = select(*columns(MailboxMessage, "id message_id subject sender_email"))
    mine = head.where(is_kept_by(user_email), MailboxMessage.id.in_(ids))
    return connection.execute(mine.order_by(MailboxMessage.id)).all()


def back(connection: Connection, *, user_email: str) -> Sequence[Found]:
    """Returned messages that have not been read since, the last to return first."""
    found = _rows().where(
        is_kept_by(user_email),
        MailboxMessage.returned,
        MailboxMessage.unread,
        MailboxMessage.folder == "inbox",
    )
    latest = found.order_by(MailboxMessage.surfaced_at.desc(), MailboxMessage.id.desc()).limit(MAX_BACK)
    return connection.execute(latest).all()


def _rows() -> Select[*tuple[Any, ...]]:
    """A message with its live snooze."""
    return select(
        *columns(MailboxMessage, "id message_id subject sender_name sender_email folder unread returned"),
        *columns(MailboxMessage, "arrived_at surfaced_at snippet size"),
        _WAKES.label("wakes"),
        Snooze.id.label("snooze_id"),
        *columns(Snooze, _OF_SNOOZE),
    ).outerjoin(Snooze, _is_its_live_snooze())


def counts(connection: Connection, *, user_email: str) -> Counts:
    """How many messages are in each folder."""
    rows = connection.execute(
        select(
            MailboxMessage.folder, func.count().label("all"), func.count().filter(MailboxMessage.unread).label("unread")
        )
        .where(is_kept_by(user_email))
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
    message = select(*MailboxMessage.__table__.columns)
    if whole:
        message = message.add_columns(MessageOriginal.original).where(MessageOriginal.id == MailboxMessage.id)
    return connection.execute(message.where(MailboxMessage.id == id, is_kept_by(user_email))).first()


def entered_at(
    connection: Connection, *, mailbox_id: int, folder: str, uidvalidity: int, uids: Collection[int]
) -> Sequence[Found]:
    """The entries at these UIDs, each with its live snooze, and when it came back last."""
    here = and_(
        MailboxMessage.mailbox_id == mailbox_id,
        MailboxMessage.folder == folder,
        MailboxMessage.uidvalidity == uidvalidity,
        MailboxMessage.uid.in_(uids),
    )
    return connection.execute(_entries().where(here)).all()


def leaving(connection: Connection, *, mailbox_id: int, folder: str) -> set[int]:
    """The UIDs of messages in a folder that are to be moved out of it."""
    message = MailboxMessage
    is_away = or_(
        _is_moving(),
        and_(message.wanted == "home", message.place.in_(("snoozed", "aside")), message.home != message.folder),
        and_(message.wanted == "aside", message.place == "home", message.aside != message.folder),
    )
    uids = select(message.uid).where(message.mailbox_id == mailbox_id, message.folder == folder, is_away)
    return set(connection.execute(uids).scalars())


def asleep(connection: Connection, *, mailbox_id: int, folder: str, after: Cursor | None, size: int) -> Page[Found]:
    """Messages that are asleep in a mailbox, in `folder` or on their way there, the first to return first and paused
    ones last. A conversation is one row, of the message that was snoozed; `thread_size` counts its messages."""
    message, other = MailboxMessage, aliased(MailboxMessage)
    lies_there = and_(message.folder == folder, message.place == "snoozed", message.wanted == "snoozed")
    is_to_go_there = and_(_is_moving(), Snooze.id.is_not(None))
    among = and_(other.snooze_id == Snooze.id, other.mailbox_id == mailbox_id)
    leads = and_(among, other.message_id == Snooze.message_id, other.id != message.id)
    members = select(func.count()).where(among).scalar_subquery()
    found = _entries().add_columns(func.greatest(members, 1).label("thread_size"))
    found = found.where(message.mailbox_id == mailbox_id, or_(lies_there, is_to_go_there), ~exists().where(leads))
    return _first_to_return(connection, found, _WAKES_THERE, after=after, size=size)


def returned_to(connection: Connection, *, mailbox_id: int, folder: str, size: int) -> Sequence[Found]:
    """The UIDs and the UIDVALIDITY of messages that came back to a folder, the last to come back first. Only the server
    knows whether they were read since."""
    message = MailboxMessage
    returned = (
        select(func.max(Send.sent_at).label("at")).where(is_message_of(Send), Send.channel == "mailbox").lateral()
    )
    there = select(message.uid, message.uidvalidity).join(returned, true())
    there = there.where(
        message.mailbox_id == mailbox_id,
        message.folder == folder,
        message.place == "home",
        message.wanted == "home",
        returned.c.at.is_not(None),
    )
    return connection.execute(there.order_by(returned.c.at.desc(), message.id.desc()).limit(size)).all()


def located(connection: Connection, *, user_email: str, message_id: str, at_home: bool = False) -> Found | None:
    """Where one of a person's messages was seen last in a connected mailbox; with `at_home`, only a message that is
    back or was never taken away."""
    its = and_(MailboxMessage.user_email == user_email, MailboxMessage.message_id == message_id)
    found = select(*columns(MailboxMessage, "mailbox_id folder uidvalidity uid")).where(its, ~MailboxMessage.is_kept)
    return connection.execute(found.where(MailboxMessage.place == "home") if at_home else found).first()


def awaited(connection: Connection, *, snooze_id: int) -> int:
    """How many messages in connected mailboxes a snooze returns, several if it is of a conversation."""
    its = and_(MailboxMessage.snooze_id == snooze_id, ~MailboxMessage.is_kept, MailboxMessage.returns_at.is_not(None))
    return connection.execute(select(func.count()).select_from(MailboxMessage).where(its)).scalar_one()


def not_entered(connection: Connection, *, user_email: str, message_ids: Collection[str]) -> Sequence[Found]:
    """The live snoozes of these messages that programs made, and that are in no connected mailbox."""
    its_entry = exists().where(
        MailboxMessage.snooze_id == Snooze.id,
        ~MailboxMessage.is_kept,
    )
    rows = select(Snooze.id.label("snooze_id"), Snooze.message_id, *columns(Snooze, _OF_SNOOZE))
    return connection.execute(
        rows.where(Snooze.user_email == user_email, Snooze.message_id.in_(message_ids), ~Snooze.inactive, ~its_entry)
    ).all()


def captured(connection: Connection, *, rcpt_to: str, before: int | None = None) -> tuple[Sequence[Found], int | None]:
    """Captured mail for an address, newest first, and the id before which the next page begins."""
    mails: Select[*tuple[Any, ...]] = select(*columns(CapturedMail, "id received_at mail_from original"))
    received = mails.where(CapturedMail.rcpt_to == rcpt_to)
    if before is not None:
        received = received.where(CapturedMail.id < before)
    rows = connection.execute(received.order_by(CapturedMail.id.desc()).limit(PAGE_SIZE + 1)).all()
    return rows[:PAGE_SIZE], rows[PAGE_SIZE - 1].id if len(rows) > PAGE_SIZE else None


def one_captured(connection: Connection, *, id: int, rcpt_to: str) -> Found | None:
    """One captured mail for this address."""
    mail = select(*CapturedMail.__table__.columns).where(CapturedMail.id == id, CapturedMail.rcpt_to == rcpt_to)
    return connection.execute(mail).first()


def _having(found: Select[*tuple[Any, ...]], terms: Sequence[tuple[Field, str]]) -> Select[*tuple[Any, ...]]:
    for field, text in terms:
        found = found.where(or_(*(column.icontains(text, autoescape=True) for column in _SEARCHED[field])))
    return found


def _first_to_return(
    connection: Connection, found: Select[*tuple[Any, ...]], wakes: Any, *, after: Cursor | None, size: int
) -> Page[Found]:
    if after is not None:
        found = found.where(tuple_(wakes, MailboxMessage.id) > (after.at, after.id))
    found = found.order_by(wakes, MailboxMessage.id).limit(size + 1)
    return make_page(connection.execute(found).all(), size=size, at=lambda row: row.wakes)


def _is_its_live_snooze() -> ColumnElement[bool]:
    return and_(Snooze.id == MailboxMessage.snooze_id, ~Snooze.inactive)


def _entries() -> Select[*tuple[Any, ...]]:
    """Entries with their live snoozes: `snoozed_as` is the Message-ID that the snooze is about."""
    returned = select(func.max(Send.sent_at)).where(is_message_of(Send), Send.channel == "mailbox").scalar_subquery()
    return select(
        *columns(MailboxMessage, "id mailbox_id message_id folder uidvalidity uid place wanted internal_date size"),
        _WAKES_THERE.label("wakes"),
        _is_moving().label("moving"),
        Snooze.id.label("snooze_id"),
        func.coalesce(Snooze.message_id, MailboxMessage.message_id).label("snoozed_as"),
        *columns(Snooze, f"{_OF_SNOOZE} subject sender_email"),
        returned.label("returned_at"),
    ).outerjoin(Snooze, _is_its_live_snooze())


def _is_moving() -> ColumnElement[bool]:
    """Whether the message is to be moved to the snoozed folder: a due message stays where it is, or comes back."""
    return and_(
        MailboxMessage.place == "home",
        MailboxMessage.wanted == "snoozed",
        MailboxMessage.returns_at > func.clock_timestamp(),
    )
