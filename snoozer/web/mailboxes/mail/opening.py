"""Opens a person's connected mailbox with the process's pool of connections."""

from flask import Flask, current_app

from snoozer.db.models import Account
from snoozer.db.queries import Found
from snoozer.db.queries import mailboxes as connected_mailboxes
from snoozer.mailboxes.problems import explain
from snoozer.mailboxes.read.connected import ConnectedMailbox, open_mailbox
from snoozer.mailboxes.read.connections import ConnectionPool
from snoozer.mailboxes.read.mailbox import MailboxError
from snoozer.mailboxes.registry import Logins
from snoozer.translations import gettext as _
from snoozer.web import context
from snoozer.web.context import found_or_404

_POOL = "snoozer-mail-connections"


def find_or_404(account: Account, *, id: int) -> Found:
    """The row of a mailbox of this person's."""
    with context.transaction() as connection:
        return found_or_404(connected_mailboxes.find(connection, id=id, account_id=account.id))


def open_or_404(account: Account, *, id: int) -> ConnectedMailbox:
    """Raises MailboxError if the mailbox's password was refused: the server is not asked again with it."""
    row = find_or_404(account, id=id)
    if row.state == "leaving":
        raise MailboxError(
            "unavailable", _("This mailbox is being disconnected: what is snoozed in it goes back first.")
        )
    if row.state == "paused":
        problem = explain(row.problem or "login", host=row.host, port=row.port, is_connected=True)
        raise MailboxError("login", f"{problem.what} {problem.remedy}")
    mailbox = open_mailbox(
        context.engine(), id=id, account_id=account.id, user_email=account.email, pool=connection_pool()
    )
    return found_or_404(mailbox)


def connection_pool() -> ConnectionPool:
    """The process's pool, created at the first request: a server that forks has forked by then."""
    pool = current_app.extensions.get(_POOL)
    if pool is None:
        settings = context.settings()
        logins = Logins(context.engine(), key_ring=settings.keys, providers=settings.oauth_providers)
        made = ConnectionPool(logins, allow_private=settings.allow_private_mailboxes)
        pool = current_app.extensions.setdefault(_POOL, made)
    found: ConnectionPool = pool
    return found


def close_connections(app: Flask) -> None:
    """Closes the connections in this process's pool."""
    pool = app.extensions.pop(_POOL, None)
    if pool is not None:
        pool.close()
