"""Accounts, sign-ins, sessions and tokens: one function per file in `sql/accounts`, of the same name."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from snoozer.postgres.statements import run


@dataclass(frozen=True, kw_only=True)
class Created:
    """An account; `created` is False when it was there already, with the role `role_before`."""

    id: int
    email: str
    role: str
    created: bool
    role_before: str | None
    closed: bool


@dataclass(frozen=True, kw_only=True)
class Door:
    """An account that was closed or opened; `changed` is False when it was so already."""

    id: int
    email: str
    changed: bool


@dataclass(frozen=True, kw_only=True)
class Token:
    """A token by its number; the secret itself is known to nobody but its owner."""

    id: int
    email: str
    created_at: datetime
    revoked_at: datetime | None
    closed: bool


@dataclass(frozen=True, kw_only=True)
class LinkWorth:
    """What a sign-in link is worth in one browser."""

    used: bool
    expired: bool
    this_browser: bool


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer first given to an idempotency key."""

    request_sha256: str
    status: int
    body: str


def create(connection: Connection, *, email: str, role: str | None, zone: str) -> Created:
    return Created(**run(connection, "accounts/create", email=email, role=role, zone=zone).one()._mapping)


def lock_ask(connection: Connection, *, email: str) -> None:
    run(connection, "accounts/lock_ask", email=email)


def ask(
    connection: Connection,
    *,
    email: str,
    token_hash: str,
    code_hash: str | None,
    browser_hash: str | None,
    known_hash: str | None,
    lifetime: timedelta,
    most_an_hour: int,
) -> bool:
    row = run(
        connection,
        "accounts/ask",
        email=email,
        token_hash=token_hash,
        code_hash=code_hash,
        browser_hash=browser_hash,
        known_hash=known_hash,
        lifetime=lifetime,
        most_an_hour=most_an_hour,
    ).first()
    return row is not None


def look_at_link(connection: Connection, *, token_hash: str, browser_hash: str | None) -> LinkWorth | None:
    row = run(connection, "accounts/look_at_link", token_hash=token_hash, browser_hash=browser_hash).first()
    return None if row is None else LinkWorth(**row._mapping)


def use_link(connection: Connection, *, token_hash: str, browser_hash: str | None) -> int | None:
    values = {"token_hash": token_hash, "browser_hash": browser_hash}
    return run(connection, "accounts/use_link", **values).scalar_one_or_none()


def try_code(connection: Connection, *, code_hash: str, browser_hash: str) -> int | None:
    values = {"code_hash": code_hash, "browser_hash": browser_hash}
    return run(connection, "accounts/try_code", **values).scalar_one_or_none()


def open_session(connection: Connection, *, account_id: int, token_hash: str, lifetime: timedelta) -> bool:
    values = {"account_id": account_id, "token_hash": token_hash, "lifetime": lifetime}
    return run(connection, "accounts/open_session", **values).first() is not None


def session(connection: Connection, *, token_hash: str) -> int | None:
    return run(connection, "accounts/session", token_hash=token_hash).scalar_one_or_none()


def touch_session(connection: Connection, *, token_hash: str) -> None:
    run(connection, "accounts/touch_session", token_hash=token_hash)


def close_session(connection: Connection, *, token_hash: str) -> None:
    run(connection, "accounts/close_session", token_hash=token_hash)


def create_token(connection: Connection, *, email: str, token_hash: str) -> bool:
    return run(connection, "accounts/create_token", email=email, token_hash=token_hash).first() is not None


def bearer(connection: Connection, *, token_hash: str) -> int | None:
    return run(connection, "accounts/bearer", token_hash=token_hash).scalar_one_or_none()


def tokens(connection: Connection, *, email: str | None) -> list[Token]:
    """Those of one person; without an address everybody's."""
    return [Token(**row._mapping) for row in run(connection, "accounts/tokens", email=email)]


def revoke_tokens(
    connection: Connection, *, id: int | None = None, token_hash: str | None = None, email: str | None = None
) -> list[tuple[int, str]]:
    """The numbers and the owners of what was revoked by this call."""
    rows = run(connection, "accounts/revoke_tokens", id=id, token_hash=token_hash, email=email)
    return [(row.id, row.email) for row in rows]


def close(connection: Connection, *, email: str) -> Door | None:
    row = run(connection, "accounts/close", email=email).first()
    return None if row is None else Door(**row._mapping)


def reopen(connection: Connection, *, email: str) -> Door | None:
    row = run(connection, "accounts/reopen", email=email).first()
    return None if row is None else Door(**row._mapping)


def end_sessions(connection: Connection, *, account_id: int) -> int:
    """How many browsers were signed out."""
    return len(run(connection, "accounts/end_sessions", account_id=account_id).all())


def prefer(connection: Connection, *, id: int, zone: str, locale: str) -> None:
    run(connection, "accounts/prefer", id=id, zone=zone, locale=locale)


def first_zone(connection: Connection, *, id: int, zone: str) -> bool:
    return run(connection, "accounts/first_zone", id=id, zone=zone).first() is not None


def clear_presets(connection: Connection, *, account_id: int) -> None:
    run(connection, "accounts/clear_presets", account_id=account_id)


def keep_presets(connection: Connection, *, account_id: int, presets: Sequence[tuple[str, str]]) -> None:
    """Presets are (label, phrase)."""
    labels, phrases = [label for label, _ in presets], [phrase for _, phrase in presets]
    run(connection, "accounts/keep_presets", account_id=account_id, labels=labels, phrases=phrases)


def remember_phrase(connection: Connection, *, account_id: int, phrase: str, most: int) -> None:
    run(connection, "accounts/remember_phrase", account_id=account_id, phrase=phrase, most=most)


def lock_answer(connection: Connection, *, account_id: int, key: str) -> None:
    run(connection, "accounts/lock_answer", account_id=account_id, key=key)


def recall_answer(connection: Connection, *, account_id: int, key: str) -> Answer | None:
    row = run(connection, "accounts/recall_answer", account_id=account_id, key=key).first()
    return None if row is None else Answer(**row._mapping)


def remember_answer(
    connection: Connection, *, account_id: int, key: str, request_sha256: str, status: int, body: str
) -> bool:
    row = run(
        connection,
        "accounts/remember_answer",
        account_id=account_id,
        key=key,
        request_sha256=request_sha256,
        status=status,
        body=body,
    ).first()
    return row is not None


def forget_expired(connection: Connection, *, batch_size: int) -> int:
    """Strike out old answers, sign-in links and sessions, so many of each; answers how many there were in all."""
    return int(run(connection, "accounts/forget_expired", batch_size=batch_size).scalar_one())
