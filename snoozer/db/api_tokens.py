"""API tokens of people's programs: one function per statement in `sql/people/api_tokens`, of the same name."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from snoozer.db.statements import execute, row_as, rows_as


@dataclass(frozen=True, kw_only=True)
class Token:
    """A token by its id; the secret is not stored."""

    id: int
    email: str
    name: str
    scopes: list[str]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None
    expired: bool
    closed: bool

    @property
    def is_in_force(self) -> bool:
        return self.revoked_at is None and not self.expired and not self.closed


@dataclass(frozen=True, kw_only=True)
class FoundToken:
    """A token that is not revoked, of an open account; `expired` says whether its end has come."""

    id: int
    account_id: int
    scopes: list[str]
    expired: bool


def create(
    connection: Connection,
    *,
    email: str,
    token_hash: str,
    name: str,
    scopes: Sequence[str],
    expires_at: datetime | None,
) -> int | None:
    """Returns the id; None without an open account."""
    values = {"token_hash": token_hash, "label": name, "scopes": list(scopes), "expires_at": expires_at}
    return execute(connection, "api_tokens/create", email=email, **values).scalar_one_or_none()


def find(connection: Connection, *, token_hash: str) -> FoundToken | None:
    return row_as(execute(connection, "api_tokens/find", token_hash=token_hash).first(), FoundToken)


def touch(connection: Connection, *, id: int) -> None:
    execute(connection, "api_tokens/touch", id=id)


def list_all(connection: Connection, *, email: str | None) -> list[Token]:
    """The tokens of one person, or of all people."""
    return rows_as(execute(connection, "api_tokens/list_all", email=email), Token)


def revoke(
    connection: Connection, *, id: int | None = None, token_hash: str | None = None, email: str | None = None
) -> list[tuple[int, str]]:
    """Revoke by one of the three arguments; returns id and owner of each token revoked by this call, ordered by id."""
    rows = execute(connection, "api_tokens/revoke", id=id, token_hash=token_hash, email=email)
    return sorted((row.id, row.email) for row in rows)


def revoke_own(connection: Connection, *, id: int, account_id: int) -> bool:
    """Returns False when this account has no such token in force."""
    return execute(connection, "api_tokens/revoke_own", id=id, account_id=account_id).first() is not None
