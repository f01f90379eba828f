"""USE CASE of API tokens: made, listed, revoked, and found by their secret, which is stored as sha256 only."""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from snoozer.db import api_tokens
from snoozer.db.api_tokens import Token
from snoozer.db.models import Account
from snoozer.db.scopes import ALL_SCOPES, Scope
from snoozer.people import accounts
from snoozer.runtime import secret_keys

PREFIX = "snz_"  # A public prefix, so that a leaked token can be recognised.
MAX_NAME_LENGTH = 60
# The largest number of unrevoked tokens that a person may create. A command may create more.
MAX_TOKENS = 50


@dataclass(frozen=True, kw_only=True)
class NewToken:
    """A token with its secret, which is shown once."""

    id: int
    secret: str


@dataclass(frozen=True, kw_only=True)
class Grant:
    """The rights of a valid token: an open account, and the scopes in which the program may act for it."""

    id: int
    account: Account
    scopes: frozenset[str]


class TokenExpired(Exception):
    """The token was valid once, and has expired."""


def create(
    connection: Connection,
    *,
    email: str,
    name: str = "",
    scopes: Iterable[Scope] = ALL_SCOPES,
    expires_at: datetime | None = None,
) -> NewToken | None:
    """Create a token; None if there is no open account with this address. Raises InvalidAddress."""
    secret = PREFIX + secrets.token_urlsafe(32)
    wanted, printable = set(scopes), "".join(sign if sign.isprintable() else " " for sign in name)
    id = api_tokens.create(
        connection,
        email=accounts.normalize(email),
        token_hash=secret_keys.digest(secret),
        name=" ".join(printable.split())[:MAX_NAME_LENGTH],
        scopes=[scope.value for scope in ALL_SCOPES if scope in wanted],
        expires_at=expires_at,
    )
    return None if id is None else NewToken(id=id, secret=secret)


def touch(connection: Connection, *, id: int) -> None:
    """Record that a token was used, to the minute. Call it in a transaction without any other change that must survive
    a crash: its commit does not wait for the disk."""
    api_tokens.touch(connection, id=id)


def list_all(connection: Connection, *, email: str | None) -> list[Token]:
    """The tokens of one person, or of all people, without their secrets. Raises InvalidAddress."""
    return api_tokens.list_all(connection, email=None if email is None else accounts.normalize(email))


def not_revoked(connection: Connection, *, email: str) -> list[Token]:
    """A person's tokens, including expired ones, without their secrets, newest first."""
    return [token for token in reversed(list_all(connection, email=email)) if token.revoked_at is None]


def revoke_own(connection: Connection, *, id: int, account_id: int) -> bool:
    """Revoke a token of this account. Returns False when there is none (any more)."""
    return api_tokens.revoke_own(connection, id=id, account_id=account_id)


def revoke(connection: Connection, *, which: str) -> list[tuple[int, str]]:
    """Revoke a token by its id or its secret, or all tokens of an address.

    Returns id and owner of each token that was revoked. Raises InvalidAddress.
    """
    if which.isascii() and which.isdigit() and len(which) < 19:
        return api_tokens.revoke(connection, id=int(which))
    if which.startswith(PREFIX) and "@" not in which:
        return api_tokens.revoke(connection, token_hash=secret_keys.digest(which))
    return api_tokens.revoke(connection, email=accounts.normalize(which))


def find(connection: Connection, *, secret: str) -> Grant | None:
    """The grant of a token; None if the token is unknown, revoked, or its account is closed. Raises TokenExpired."""
    found = api_tokens.find(connection, token_hash=secret_keys.digest(secret))
    if found is None:
        return None
    if found.expired:
        raise TokenExpired
    account = accounts.by_id(connection, id=found.account_id)
    return None if account is None else Grant(id=found.id, account=account, scopes=frozenset(found.scopes))
