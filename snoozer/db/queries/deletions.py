"""Whether a person deletes the account, and how much that would delete."""

from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from snoozer.db.models import AccountDeletion, ConnectedMailbox, MailboxMessage, Snooze, is_kept_by
from snoozer.db.queries import Found


@dataclass(frozen=True, kw_only=True)
class Preview:
    """The number of snoozes that are still to come back, kept messages, and connected mailboxes."""

    waiting: int
    kept: int
    mailboxes: int


def pending(connection: Connection, *, account_id: int) -> Found | None:
    """The deletion that a person asked for: `due_at`, `deliver`, `begun_at`."""
    row = select(AccountDeletion.due_at, AccountDeletion.deliver, AccountDeletion.begun_at)
    return connection.execute(row.where(AccountDeletion.account_id == account_id)).first()


def preview(connection: Connection, *, account_id: int, user_email: str) -> Preview:
    """How much a deletion would delete."""
    waiting = select(func.count()).where(Snooze.user_email == user_email, Snooze.outcome.is_(None))
    kept = select(func.count()).select_from(MailboxMessage).where(is_kept_by(user_email))
    mailboxes = select(func.count()).where(ConnectedMailbox.account_id == account_id)
    return Preview(
        waiting=connection.execute(waiting).scalar_one(),
        kept=connection.execute(kept).scalar_one(),
        mailboxes=connection.execute(mailboxes).scalar_one(),
    )
