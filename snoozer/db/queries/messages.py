"""A person's messages in the kept mailbox, and captured mail; another person's is never found."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, Select, and_, func, select, tuple_

from snoozer.db.models import CapturedMail, MailboxMessage, Snooze
from snoozer.db.queries import PAGE_SIZE, Cursor, Found, Page, make_page

Folder = Literal["inbox", "snoozed", "done"]


@dataclass(frozen=True, kw_only=True)
class Counts:
    """How many messages are in each folder, and how many of the inbox are unread."""

    inbox: int
    unread: int
    snoozed: int
    done: int


def in_folder(
    connection: Connection, *, user_email: str, folder: Folder, before: Cursor | None = None, size: int = PAGE_SIZE
) -> Page[Found]:
    """The messages of a folder, the latest to arrive or return first, each with its live snooze."""
    found = (
        select(
            MailboxMessage.id,
            MailboxMessage.message_id,
            MailboxMessage.subject,
            MailboxMessage.sender_name,
            MailboxMessage.sender_email,
            MailboxMessage.folder,
            MailboxMessage.unread,
            MailboxMessage.returned,
            MailboxMessage.arrived_at,
            MailboxMessage.surfaced_at,
            Snooze.id.label("snooze_id"),
            Snooze.remind_at,
            Snooze.scheduled_for,
            Snooze.claimed_at,
            Snooze.recurrence,
        )
        .outerjoin(
            Snooze,
            and_(
                Snooze.user_email == MailboxMessage.user_email,
                Snooze.message_id == MailboxMessage.message_id,
                ~Snooze.inactive,
            ),
        )
        .where(MailboxMessage.user_email == user_email, MailboxMessage.folder == folder)
    )
    if before is not None:
        found = found.where(tuple_(MailboxMessage.surfaced_at, MailboxMessage.id) < (before.at, before.id))
    rows = connection.execute(
        found.order_by(MailboxMessage.surfaced_at.desc(), MailboxMessage.id.desc()).limit(size + 1)
    ).all()
    return make_page(rows, size=size, at=lambda row: row.surfaced_at)


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
    columns = [column for column in MailboxMessage.__table__.columns if whole or column.name != "original"]
    return connection.execute(
        select(*columns).where(MailboxMessage.id == id, MailboxMessage.user_email == user_email)
    ).first()


def captured(
    connection: Connection, *, rcpt_to: str, before: int | None = None, size: int = PAGE_SIZE
) -> tuple[Sequence[Found], int | None]:
    """Captured mail for an address, newest first, and the id before which the next page begins."""
    received: Select[*tuple[Any, ...]] = select(
        CapturedMail.id, CapturedMail.received_at, CapturedMail.mail_from, CapturedMail.original
    ).where(CapturedMail.rcpt_to == rcpt_to)
    if before is not None:
        received = received.where(CapturedMail.id < before)
    rows = connection.execute(received.order_by(CapturedMail.id.desc()).limit(size + 1)).all()
    return rows[:size], rows[size - 1].id if len(rows) > size else None


def one_captured(connection: Connection, *, id: int, rcpt_to: str) -> Found | None:
    """One captured mail for this address."""
    return connection.execute(
        select(*CapturedMail.__table__.columns).where(CapturedMail.id == id, CapturedMail.rcpt_to == rcpt_to)
    ).first()
