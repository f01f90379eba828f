"""Accounts, sign-ins and sessions: one function per statement in `sql/people/accounts`, of the same name."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from snoozer.db.statements import execute, row_as, rows_as

# Sessions unused for this long expire.
SESSION_IDLE_FOR = timedelta(days=14)


@dataclass(frozen=True, kw_only=True)
class Created:
    """An account; `created` is False when it existed, with the role `role_before`."""

    id: int
    email: str
    role: str
    created: bool
    role_before: str | None
    closed: bool


@dataclass(frozen=True, kw_only=True)
class AccountState:
    """An account that is closed or open; `changed` is False when it was so before."""

    id: int
    email: str
    changed: bool


@dataclass(frozen=True, kw_only=True)
class RoleChange:
    """The role that an account was given, and the one before; they may be the same."""

    id: int
    email: str
    role_before: str
    role: str


@dataclass(frozen=True, kw_only=True)
class EndedGroupRole:
    """An account, and the role that its groups gave."""

    id: int
    role_before: str


@dataclass(frozen=True, kw_only=True)
class BrowserSession:
    """A browser in which a person is signed in. `device` is None if the browser does not identify itself."""

    id: int
    device: str | None
    created_at: datetime
    seen_at: datetime
    is_current: bool


@dataclass(frozen=True, kw_only=True)
class LinkUse:
    """The state of a sign-in link in one browser."""

    used: bool
    expired: bool
    this_browser: bool


@dataclass(frozen=True, kw_only=True)
class SavedResponse:
    """The first response to an idempotency key."""

    request_sha256: str
    status: int
    body: str


def create(connection: Connection, *, email: str, role: str | None, zone: str) -> Created:
    return Created(**execute(connection, "accounts/create", email=email, role=role, zone=zone).one()._mapping)


def lock_sign_in(connection: Connection, *, email: str) -> None:
    execute(connection, "accounts/lock_sign_in", email=email)


def request_sign_in(
    connection: Connection,
    *,
    email: str,
    email_hash: str,
    token_hash: str,
    code_hash: str | None = None,
    browser_hash: str | None = None,
    known_hash: str | None = None,
    lifetime: timedelta,
    max_per_hour: int,
) -> int | None:
    """Returns the account that can be signed in to; None if there is none, or if no sign-in was created."""
    hashes = {"token_hash": token_hash, "code_hash": code_hash, "browser_hash": browser_hash, "known_hash": known_hash}
    values = {"email": email, "email_hash": email_hash, "lifetime": lifetime, "max_per_hour": max_per_hour}
    return execute(connection, "accounts/request_sign_in", **hashes, **values).scalar_one_or_none()


def sign_in_link(connection: Connection, *, token_hash: str, browser_hash: str | None) -> LinkUse | None:
    values = {"token_hash": token_hash, "browser_hash": browser_hash}
    return row_as(execute(connection, "accounts/sign_in_link", **values).first(), LinkUse)


def use_link(connection: Connection, *, token_hash: str, browser_hash: str | None) -> int | None:
    values = {"token_hash": token_hash, "browser_hash": browser_hash}
    return execute(connection, "accounts/use_link", **values).scalar_one_or_none()


def try_code(connection: Connection, *, code_hash: str, browser_hash: str, address: str | None) -> int | None:
    values = {"code_hash": code_hash, "browser_hash": browser_hash, "address": address}
    return execute(connection, "accounts/try_code", **values).scalar_one_or_none()


def open_session(
    connection: Connection,
    *,
    account_id: int,
    token_hash: str,
    replaced_hash: str | None,
    device: str | None,
    lifetime: timedelta,
    confirmed: bool,
) -> bool:
    values = {"account_id": account_id, "token_hash": token_hash, "lifetime": lifetime}
    values |= {"replaced_hash": replaced_hash, "device": device, "confirmed": confirmed}
    return execute(connection, "accounts/open_session", **values).first() is not None


def list_sessions(
    connection: Connection, *, account_id: int, token_hash: str, max_sessions: int
) -> list[BrowserSession]:
    values = {"account_id": account_id, "token_hash": token_hash, "max_sessions": max_sessions}
    return rows_as(execute(connection, "accounts/list_sessions", **values), BrowserSession)


def end_session(connection: Connection, *, id: int, account_id: int) -> bool:
    return execute(connection, "accounts/end_session", id=id, account_id=account_id).first() is not None


def end_everywhere(connection: Connection, *, account_id: int, kept_hash: str | None, tokens: bool, feeds: bool) -> int:
    """Returns how many sessions were ended."""
    values = {"account_id": account_id, "kept_hash": kept_hash, "tokens": tokens, "feeds": feeds}
    return len(execute(connection, "accounts/end_everywhere", **values).all())


def change_mail_key(connection: Connection, *, id: int) -> None:
    execute(connection, "accounts/change_mail_key", id=id)


def session_owner(connection: Connection, *, token_hash: str) -> int | None:
    return execute(
        connection, "accounts/session_owner", token_hash=token_hash, idle_for=SESSION_IDLE_FOR
    ).scalar_one_or_none()


def touch_session(connection: Connection, *, token_hash: str) -> None:
    execute(connection, "accounts/touch_session", token_hash=token_hash)


def session_is_confirmed(connection: Connection, *, token_hash: str, within: timedelta) -> bool:
    values = {"token_hash": token_hash, "within": within}
    return bool(execute(connection, "accounts/session_is_confirmed", **values).scalar_one_or_none())


def confirm_session(connection: Connection, *, token_hash: str, account_id: int) -> bool:
    values = {"token_hash": token_hash, "account_id": account_id}
    return execute(connection, "accounts/confirm_session", **values).first() is not None


def close_session(connection: Connection, *, token_hash: str) -> None:
    execute(connection, "accounts/close_session", token_hash=token_hash)


def close(connection: Connection, *, email: str) -> AccountState | None:
    return row_as(execute(connection, "accounts/close", email=email).first(), AccountState)


def reopen(connection: Connection, *, email: str) -> AccountState | None:
    return row_as(execute(connection, "accounts/reopen", email=email).first(), AccountState)


def identity_owner(connection: Connection, *, issuer: str, subject: str) -> int | None:
    values = {"issuer": issuer, "subject": subject}
    return execute(connection, "accounts/identity_owner", **values).scalar_one_or_none()


def add_identity(connection: Connection, *, issuer: str, subject: str, account_id: int) -> bool:
    values = {"issuer": issuer, "subject": subject, "account_id": account_id}
    return execute(connection, "accounts/add_identity", **values).first() is not None


def remove_identities(connection: Connection, *, account_id: int) -> int:
    """Returns how many there were."""
    return len(execute(connection, "accounts/remove_identities", account_id=account_id).all())


def set_group_role(connection: Connection, *, id: int, role: str | None) -> str | None:
    """Returns the role that groups gave before; None if they gave none."""
    return execute(connection, "accounts/set_group_role", id=id, role=role).scalar_one_or_none()


def end_group_roles(connection: Connection, *, lifetime: timedelta, batch_size: int) -> list[EndedGroupRole]:
    ended = execute(connection, "accounts/end_group_roles", lifetime=lifetime, batch_size=batch_size)
    return rows_as(ended, EndedGroupRole)


def lock_roles(connection: Connection) -> None:
    execute(connection, "accounts/lock_roles")


def set_role(connection: Connection, *, id: int, role: str) -> RoleChange | None:
    return row_as(execute(connection, "accounts/set_role", id=id, role=role).first(), RoleChange)


def has_admin(connection: Connection) -> bool:
    return bool(execute(connection, "accounts/has_admin").scalar_one())


def has_any(connection: Connection) -> bool:
    return bool(execute(connection, "accounts/has_any").scalar_one())


def end_sessions(connection: Connection, *, account_id: int) -> int:
    """Returns how many sessions were ended."""
    return len(execute(connection, "accounts/end_sessions", account_id=account_id).all())


def set_preferences(connection: Connection, *, id: int, zone: str, locale: str) -> None:
    execute(connection, "accounts/set_preferences", id=id, zone=zone, locale=locale)


def set_first_locale(connection: Connection, *, id: int, locale: str) -> bool:
    return execute(connection, "accounts/set_first_locale", id=id, locale=locale).first() is not None


def set_first_zone(connection: Connection, *, id: int, zone: str) -> bool:
    return execute(connection, "accounts/set_first_zone", id=id, zone=zone).first() is not None


def clear_presets(connection: Connection, *, account_id: int) -> None:
    execute(connection, "accounts/clear_presets", account_id=account_id)


def save_presets(connection: Connection, *, account_id: int, presets: Sequence[tuple[str, str]]) -> None:
    """Presets are (label, phrase)."""
    labels, phrases = [label for label, _ in presets], [phrase for _, phrase in presets]
    execute(connection, "accounts/save_presets", account_id=account_id, labels=labels, phrases=phrases)


def save_phrase(connection: Connection, *, account_id: int, phrase: str, max_phrases: int) -> None:
    execute(connection, "accounts/save_phrase", account_id=account_id, phrase=phrase, max_phrases=max_phrases)


def lock_response(connection: Connection, *, account_id: int, key: str) -> None:
    execute(connection, "accounts/lock_response", account_id=account_id, key=key)


def saved_response(connection: Connection, *, account_id: int, key: str) -> SavedResponse | None:
    return row_as(execute(connection, "accounts/saved_response", account_id=account_id, key=key).first(), SavedResponse)


def save_response(
    connection: Connection, *, account_id: int, key: str, request_sha256: str, status: int, body: str
) -> bool:
    values = {"account_id": account_id, "key": key, "request_sha256": request_sha256, "status": status, "body": body}
    return execute(connection, "accounts/save_response", **values).first() is not None


def prune_expired(connection: Connection, *, batch_size: int) -> int:
    """Delete expired responses, links and sessions, up to `batch_size` of each; returns how many in all."""
    return int(execute(connection, "accounts/prune_expired", batch_size=batch_size).scalar_one())
