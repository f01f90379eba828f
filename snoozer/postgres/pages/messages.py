"""What a person sees of the mailbox that Snoozer keeps, and of the sink's mail. Somebody else's is never found."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, Select, and_, func, select, tuple_

from snoozer.postgres.models import KeptMessage, SinkMessage, Snooze
from snoozer.postgres.pages import PAGE, Cursor, Found, Page, page_of

Folder = Literal["inbox", "snoozed", "done"]


@dataclass(frozen=True, kw_only=True)
class Counts:
    """How many messages lie in each folder, and how many of the inbox are unread."""

    inbox: int
    unread: int
    snoozed: int
    done: int


def in_folder(
    connection: Connection, *, user_email: str, folder: Folder, before: Cursor | None = None, size: int = PAGE
) -> Page[Found]:
    """The messages of a folder, the last to come (back) first, each with its living snooze."""
    lying = (
        select(
            KeptMessage.id,
            KeptMessage.message_id,
            KeptMessage.subject,
            KeptMessage.sender_name,
            KeptMessage.sender_email,
            KeptMessage.folder,
            KeptMessage.unread,
            KeptMessage.returned,
            KeptMessage.arrived_at,
            KeptMessage.surfaced_at,
            Snooze.id.label("snooze_id"),
            Snooze.remind_at,
            Snooze.scheduled_for,
            Snooze.claimed_at,
            Snooze.recurrence,
        )
        .outerjoin(
            Snooze,
            and_(
                Snooze.user_email == KeptMessage.user_email,
                Snooze.message_id == KeptMessage.message_id,
                ~Snooze.inactive,
            ),
        )
        .where(KeptMessage.user_email == user_email, KeptMessage.folder == folder)
    )
    if before is not None:
        lying = lying.where(tuple_(KeptMessage.surfaced_at, KeptMessage.id) < (before.at, before.id))
    rows = connection.execute(
        lying.order_by(KeptMessage.surfaced_at.desc(), KeptMessage.id.desc()).limit(size + 1)
    ).all()
    return page_of(rows, size=size, at=lambda row: row.surfaced_at)


def counts(connection: Connection, *, user_email: str) -> Counts:
    """How full the folders are."""
    rows = connection.execute(
        select(KeptMessage.folder, func.count().label("all"), func.count().filter(KeptMessage.unread).label("unread"))
        .where(KeptMessage.user_email == user_email)
        .group_by(KeptMessage.folder)
    ).all()
    held = {row.folder: (row.all, row.unread) for row in rows}
    inbox, unread = held.get("inbox", (0, 0))
    return Counts(inbox=inbox, unread=unread, snoozed=held.get("snoozed", (0, 0))[0], done=held.get("done", (0, 0))[0])


def one(connection: Connection, *, id: int, user_email: str, whole: bool = False) -> Found | None:
    """One kept message of this person; `whole` with its bytes, which may be many."""
    columns = [column for column in KeptMessage.__table__.columns if whole or column.name != "original"]
    return connection.execute(
        select(*columns).where(KeptMessage.id == id, KeptMessage.user_email == user_email)
    ).first()


def sunk(
    connection: Connection, *, rcpt_to: str, before: int | None = None, size: int = PAGE
) -> tuple[Sequence[Found], int | None]:
    """What the sink received for an address, the newest first, and the id to go on before."""
    received: Select[*tuple[Any, ...]] = select(
        SinkMessage.id, SinkMessage.received_at, SinkMessage.mail_from, SinkMessage.original
    ).where(SinkMessage.rcpt_to == rcpt_to)
    if before is not None:
        received = received.where(SinkMessage.id < before)
    rows = connection.execute(received.order_by(SinkMessage.id.desc()).limit(size + 1)).all()
    return rows[:size], rows[size - 1].id if len(rows) > size else None


def one_sunk(connection: Connection, *, id: int, rcpt_to: str) -> Found | None:
    """One mail that the sink received for this address."""
    return connection.execute(
        select(*SinkMessage.__table__.columns).where(SinkMessage.id == id, SinkMessage.rcpt_to == rcpt_to)
    ).first()
