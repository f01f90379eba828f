"""Sign-ins at mail providers that have begun: one function per statement in `sql/mailboxes/mailbox_sign_ins`, of the
same name."""

from dataclasses import dataclass, field
from typing import Literal

from sqlalchemy import Connection

from snoozer.db.statements import execute, row_as


@dataclass(frozen=True, kw_only=True)
class PendingSignIn:
    """A sign-in that was begun and not finished. `mailbox_id` is the mailbox to sign in to again, None for a new one;
    `verifier` is encrypted."""

    mailbox_id: int | None
    provider: Literal["google", "microsoft"]
    address: str
    verifier: bytes = field(repr=False)


def begin(
    connection: Connection, sign_in: PendingSignIn, *, state_hash: str, session_hash: str, account_id: int
) -> None:
    """Keep a sign-in for a quarter of an hour, for this session."""
    values = {"state_hash": state_hash, "session_hash": session_hash, "account_id": account_id}
    execute(connection, "mailbox_sign_ins/begin", **vars(sign_in), **values)


def find(connection: Connection, *, state_hash: str, session_hash: str, account_id: int) -> PendingSignIn | None:
    """A sign-in that this session began; None if it did not, or if the sign-in was finished or is too old."""
    values = {"state_hash": state_hash, "session_hash": session_hash, "account_id": account_id}
    return row_as(execute(connection, "mailbox_sign_ins/find", **values).first(), PendingSignIn)


def finish(connection: Connection, *, state_hash: str, session_hash: str, account_id: int) -> PendingSignIn | None:
    """Take a sign-in that this session began, once; None if it did not, or if the sign-in was finished or is too
    old."""
    values = {"state_hash": state_hash, "session_hash": session_hash, "account_id": account_id}
    return row_as(execute(connection, "mailbox_sign_ins/finish", **values).first(), PendingSignIn)
