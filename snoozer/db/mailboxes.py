"""Mailboxes that people connect: one function per statement in `sql/mailboxes/mailboxes`, of the same name."""

from dataclasses import dataclass, field

from sqlalchemy import Connection

from snoozer.db.statements import execute


@dataclass(frozen=True, kw_only=True)
class NewMailbox:
    """Columns of a mailbox that is connected. `secret` is the encrypted password, or the refresh token if
    `login_method` names a provider."""

    address: str
    host: str
    port: int
    security: str
    username: str
    login_method: str = "password"
    secret: bytes = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Choices:
    """How a message sleeps and comes back, and the flag that snoozes messages in the inbox, with its time; both or
    neither."""

    brings_back: str = "both"
    reads_asleep: bool = False
    snooze_flag: str | None = None
    snooze_flag_time: str | None = None


def lock_owner(connection: Connection, *, account_id: int) -> bool:
    """Lock an account until the transaction ends. Returns False when it is closed."""
    return execute(connection, "mailboxes/lock_owner", account_id=account_id).first() is not None


def connect(connection: Connection, *, account_id: int, mailbox: NewMailbox, most: int) -> int | None:
    """Connect a mailbox, or connect it again; returns its id, or None if the account has `most` others."""
    values = {**vars(mailbox), "account_id": account_id, "most": most}
    id: int | None = execute(connection, "mailboxes/connect", **values).scalar_one_or_none()
    return id


def change_secret(
    connection: Connection, *, id: int, account_id: int, secret: bytes, login_method: str = "password"
) -> bool:
    """Replace the encrypted password or refresh token. Returns False when this person has no such mailbox."""
    values = {"id": id, "account_id": account_id, "secret": secret, "login_method": login_method}
    return execute(connection, "mailboxes/change_secret", **values).first() is not None


def choose(connection: Connection, *, id: int, account_id: int, choices: Choices) -> bool:
    """Change what its owner chose. Returns False when this person has no such mailbox."""
    return execute(connection, "mailboxes/choose", id=id, account_id=account_id, **vars(choices)).first() is not None


def replace_secret(connection: Connection, *, id: int, known: bytes, secret: bytes) -> bool:
    """Replace an encrypted password by the same one under a newer key, or a refresh token by its successor. Returns
    False if it was changed since it was read."""
    return execute(connection, "mailboxes/replace_secret", id=id, known=known, secret=secret).first() is not None


def leave(connection: Connection, *, id: int, account_id: int) -> bool:
    """Begin to disconnect. Returns False when this person has no such mailbox."""
    return execute(connection, "mailboxes/leave", id=id, account_id=account_id).first() is not None


def forget(connection: Connection, *, id: int, account_id: int) -> bool:
    """Forget a mailbox that is being disconnected, at once. Returns False when this person has no such mailbox."""
    return execute(connection, "mailboxes/forget", id=id, account_id=account_id).first() is not None


def is_taken(connection: Connection, *, host: str, username: str, account_id: int) -> bool:
    """Whether another account has connected this mailbox."""
    values = {"host": host, "username": username, "account_id": account_id}
    return bool(execute(connection, "mailboxes/is_taken", **values).scalar_one())
