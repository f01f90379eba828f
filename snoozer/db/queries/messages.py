"""What a person sees of the mailbox that Snoozer keeps, and of the sink's mail. Somebody else's is never found."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, Select, and_, func, select, tuple_

from snoozer.db.models import CapturedMail, MailboxMessage, Snooze
from snoozer.db.queries import PAGE_SIZE, Cursor, Found, Page, make_page

Folder = Literal["inbox", "snoozed", "done"]


@dataclass(frozen=True, kw_only=True)
class Counts:
    """How many messages lie in each folder, and how many of the inbox are unread."""

    inbox: int
    unread: int
    snoozed: int
    done: int


def in_folder(
    connection: Connection, *, user_email: str, folder: Folder, before: Cursor | None = None, size: int = PAGE_SIZE
) -> Page[Found]:
    """The messages of a folder, the last to come (back) first, each with its living snooze."""
    lying = (
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
        lying = lying.where(tuple_(MailboxMessage.surfaced_at, MailboxMessage.id) < (before.at, before.id))
    rows = connection.execute(
        lying.order_by(MailboxMessage.surfaced_at.desc(), MailboxMessage.id.desc()).limit(size + 1)
    ).all()
    return make_page(rows, size=size, at=lambda row: row.surfaced_at)


def counts(connection: Connection, *, user_email: str) -> Counts:
    """How full the folders are."""
    rows = connection.execute(
        select(
            MailboxMessage.folder, func.count().label("all"), func.count().filter(MailboxMessage.unread).label("unread")
        )
        .where(MailboxMessage.user_email == user_email)
        .group_by(MailboxMessage.folder)
    ).all()
    held = {row.folder: (row.all, row.unread) for row in rows}
    inbox, unread = held.get("inbox", (0, 0))
    return Counts(inbox=inbox, unread=unread, snoozed=held.get("snoozed", (0, 0))[0], done=held.get("done", (0, 0))[0])


def one(connection: Connection, *, id: int, user_email: str, whole: bool = False) -> Found | None:
    """One kept message of this person; `whole` with its bytes, which may be many."""
    columns = [column for column in MailboxMessage.__table__.columns if whole or column.name != "original"]
    return connection.execute(
        select(*columns).where(MailboxMessage.id == id, MailboxMessage.user_email == user_email)
    ).first()


def captured(
    connection: Connection, *, rcpt_to: str, before: int | None = None, size: int = PAGE_SIZE
) -> tuple[Sequence[Found], int | None]:
    """What the sink received for an address, the newest first, and the id to go on before."""
    received: Select[*tuple[Any, ...]] = select(
        CapturedMail.id, CapturedMail.received_at, CapturedMail.mail_from, CapturedMail.original
    ).where(CapturedMail.rcpt_to == rcpt_to)
    if before is not None:
        received = received.where(CapturedMail.id < before)
    rows = connection.execute(received.order_by(CapturedMail.id.desc()).limit(size + 1)).all()
    return rows[:size], rows[size - 1].id if len(rows) > size else None


def one_captured(connection: Connection, *, id: int, rcpt_to: str) -> Found | None:
    """One mail that the sink received for this address."""
    return connection.execute(
        select(*CapturedMail.__table__.columns).where(CapturedMail.id == id, CapturedMail.rcpt_to == rcpt_to)
    ).first()
