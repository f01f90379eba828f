"""What is known of the messages that a connected mailbox lists; another person's are never found."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, exists, func, or_, select, true, tuple_

from snoozer.db.models import Send, Snooze, SnoozedMessage
from snoozer.db.queries import Cursor, Found, Page, columns, make_page

# What is paused returns at no time: it is ordered last.
_NEVER = datetime(9999, 1, 1, tzinfo=UTC)
_WAKES = func.coalesce(func.greatest(SnoozedMessage.returns_at, SnoozedMessage.deferred_until), _NEVER)
_OF_SNOOZE = "remind_at scheduled_for recurrence claimed_at"
_WHERE = "id mailbox_id message_id folder uidvalidity uid place wanted internal_date size"


def in_folder(
    connection: Connection, *, mailbox_id: int, folder: str, uidvalidity: int, uids: Collection[int]
) -> Sequence[Found]:
    """Those of these UIDs that are entered, each with its live snooze, and when it came back last."""
    here = and_(
        SnoozedMessage.mailbox_id == mailbox_id,
        SnoozedMessage.folder == folder,
        SnoozedMessage.uidvalidity == uidvalidity,
        SnoozedMessage.uid.in_(uids),
    )
    return connection.execute(_entries().where(here)).all()


def leaving(connection: Connection, *, mailbox_id: int, folder: str) -> set[int]:
    """The UIDs of messages in a folder that are to be moved out of it."""
    message = SnoozedMessage
    is_away = or_(
        _is_moving(),
        and_(message.wanted == "home", message.place.in_(("snoozed", "aside")), message.home != message.folder),
        and_(message.wanted == "aside", message.place == "home", message.aside != message.folder),
    )
    uids = select(message.uid).where(message.mailbox_id == mailbox_id, message.folder == folder, is_away)
    return set(connection.execute(uids).scalars())


def asleep(connection: Connection, *, mailbox_id: int, folder: str, after: Cursor | None, size: int) -> Page[Found]:
    """What is asleep in a mailbox, in `folder` or on its way there, the first to return first: what is paused comes
    last."""
    message = SnoozedMessage
    lies_there = and_(message.folder == folder, message.place == "snoozed", message.wanted == "snoozed")
    is_to_go_there = and_(_is_moving(), Snooze.id.is_not(None))
    rows = _entries().add_columns(_WAKES.label("wakes"))
    found = rows.where(message.mailbox_id == mailbox_id, or_(lies_there, is_to_go_there))
    if after is not None:
        found = found.where(tuple_(_WAKES, message.id) > (after.at, after.id))
    found = found.order_by(_WAKES, message.id).limit(size + 1)
    return make_page(connection.execute(found).all(), size=size, at=lambda row: row.wakes)


def uids_in(connection: Connection, *, mailbox_id: int, folder: str, uidvalidity: int) -> set[int]:
    """The UIDs of a folder that are entered."""
    message = SnoozedMessage
    here = and_(message.mailbox_id == mailbox_id, message.folder == folder, message.uidvalidity == uidvalidity)
    return set(connection.execute(select(message.uid).where(here)).scalars())


def back(connection: Connection, *, mailbox_id: int, folder: str, size: int) -> Sequence[Found]:
    """The UIDs and the UIDVALIDITY of what came back to a folder, the last to come back first. Whether it was
    read since, its server knows."""
    message = SnoozedMessage
    returned = (
        select(func.max(Send.sent_at).label("at"))
        .where(Send.user_email == message.user_email, Send.message_id == message.message_id, Send.channel == "mailbox")
        .lateral()
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


def at_home(connection: Connection, *, user_email: str, message_id: str) -> Found | None:
    """Where a message of a person's is in a connected mailbox, if it is back or was never taken away."""
    return connection.execute(_located(user_email, message_id).where(SnoozedMessage.place == "home")).first()


def last_seen(connection: Connection, *, user_email: str, message_id: str) -> Found | None:
    """Where a message of a person's was seen last in a connected mailbox."""
    return connection.execute(_located(user_email, message_id)).first()


def elsewhere(connection: Connection, *, user_email: str, message_ids: Collection[str]) -> Sequence[Found]:
    """The live snoozes of these messages that programs made, and that are in no connected mailbox."""
    its_entry = exists().where(
        SnoozedMessage.user_email == Snooze.user_email, SnoozedMessage.message_id == Snooze.message_id
    )
    rows = select(Snooze.id.label("snooze_id"), Snooze.message_id, *columns(Snooze, _OF_SNOOZE))
    return connection.execute(
        rows.where(Snooze.user_email == user_email, Snooze.message_id.in_(message_ids), ~Snooze.inactive, ~its_entry)
    ).all()


def _located(user_email: str, message_id: str) -> Select[*tuple[Any, ...]]:
    return select(*columns(SnoozedMessage, "mailbox_id folder uidvalidity uid")).where(
        SnoozedMessage.user_email == user_email, SnoozedMessage.message_id == message_id
    )


def _entries() -> Select[*tuple[Any, ...]]:
    live = and_(
        Snooze.user_email == SnoozedMessage.user_email,
        Snooze.message_id == SnoozedMessage.message_id,
        ~Snooze.inactive,
    )
    returned = (
        select(func.max(Send.sent_at))
        .where(
            Send.user_email == SnoozedMessage.user_email,
            Send.message_id == SnoozedMessage.message_id,
            Send.channel == "mailbox",
        )
        .scalar_subquery()
    )
    return select(
        *columns(SnoozedMessage, _WHERE),
        _is_moving().label("moving"),
        Snooze.id.label("snooze_id"),
        *columns(Snooze, f"{_OF_SNOOZE} subject sender_email"),
        returned.label("returned_at"),
    ).outerjoin(Snooze, live)


def _is_moving() -> ColumnElement[bool]:
    """What is due stays where it is, or comes back."""
    return and_(
        SnoozedMessage.place == "home",
        SnoozedMessage.wanted == "snoozed",
        SnoozedMessage.returns_at > func.clock_timestamp(),
    )
