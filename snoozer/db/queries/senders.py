"""Senders of a person's messages; another person's are never read."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Select, func, or_, select

from snoozer.db.models import MailboxMessage, Snooze, is_kept_by, is_message_of
from snoozer.db.queries import Found
from snoozer.db.queries.messages import Folder

# A person with ten thousand messages is offered senders of the first of them only, read through an index.
MAX_READ = 1000


def of_snoozes(connection: Connection, *, user_email: str, text: str, size: int) -> Sequence[Found]:
    """Senders of messages that have not returned yet, among the next `MAX_READ`: whose address or name has the text."""
    # As a subquery, so that no plan reads all kept messages of a person.
    name = select(MailboxMessage.sender_name).where(is_message_of(Snooze), MailboxMessage.is_kept).scalar_subquery()
    rows = select(Snooze.sender_email, name.label("sender_name"))
    rows = rows.where(Snooze.user_email == user_email, Snooze.outcome.is_(None))
    rows = rows.order_by(Snooze.outcome, Snooze.remind_at, Snooze.id)
    return connection.execute(_frequent(rows, text=text, size=size)).all()


def of_kept(connection: Connection, *, user_email: str, folder: Folder, text: str, size: int) -> Sequence[Found]:
    """Senders of the latest `MAX_READ` in a folder of the kept mailbox: whose address or name has the text."""
    rows = select(MailboxMessage.sender_email, MailboxMessage.sender_name)
    rows = rows.where(is_kept_by(user_email), MailboxMessage.folder == folder)
    rows = rows.order_by(MailboxMessage.surfaced_at.desc(), MailboxMessage.id.desc())
    return connection.execute(_frequent(rows, text=text, size=size)).all()


def _frequent(rows: Select[*tuple[Any, ...]], *, text: str, size: int) -> Select[*tuple[Any, ...]]:
    """`sender_email` and one `sender_name` for each, the most frequent first."""
    read = rows.limit(MAX_READ).subquery()
    address, name, same = read.c.sender_email, read.c.sender_name, func.lower(read.c.sender_email)
    found = select(func.max(address).label("sender_email"), func.max(name).label("sender_name"))
    found = found.where(address.is_not(None))
    found = found.where(or_(*(column.icontains(text, autoescape=True) for column in (address, name))))
    return found.group_by(same).order_by(func.count().desc(), same).limit(size)
