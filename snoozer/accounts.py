"""USE CASE around signing in: mailed links and typed codes, sessions, tokens for programs.

Tokens are 256 random bits and are kept as sha256 only. A mailed link works once, for ten minutes, in the browser that
asked for it; its typed code has five tries.
"""

import hashlib
import re
import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from sqlalchemy import Connection, select
from sqlalchemy.orm import Session

from snoozer.db import accounts
from snoozer.db.models import Account
from snoozer.mime.headers import MAX_ADDRESS_LENGTH
from snoozer.timephrase.zones import canonical

LINK_LIFETIME = timedelta(minutes=10)
SESSION_LIFETIME = timedelta(days=90)
MAX_LINKS_PER_HOUR = 5
TOKEN_PREFIX = "snz_"  # noqa: S105 - a public prefix, so that a leaked token can be recognised

_ADDRESS = re.compile(r"[^\s@<>()\[\],;:\\\"\x00-\x20\x7f-\U0010ffff]+@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?")

LinkState = Literal["good", "used", "expired", "other browser", "unknown"]


class InvalidAddress(ValueError):
    """That is not a mail address."""


class InvalidZone(ValueError):
    """That is not a time zone."""


@dataclass(frozen=True, kw_only=True)
class Invitation:
    """What is mailed to a person who wants to sign in."""

    email: str
    token: str
    code: str


@dataclass(frozen=True, kw_only=True)
class ClosedAccount:
    """An account that is closed now; `changed` is False when it was so already, `sessions` were ended."""

    email: str
    changed: bool
    sessions: int


def normalize(email: str) -> str:
    """The one spelling of an address that accounts use. Raises BadAddress."""
    folded = email.strip().lower()
    if len(folded) > MAX_ADDRESS_LENGTH or not _ADDRESS.fullmatch(folded):
        raise InvalidAddress("That is not a mail address. It looks like ann@example.org.")
    return folded


def create(connection: Connection, *, email: str, role: str | None = None, zone: str = "UTC") -> accounts.Created:
    """An account whose address counts as verified, because the operator vouches for it. Raises BadAddress, BadZone."""
    check_zone(zone)
    return accounts.create(connection, email=normalize(email), role=role, zone=zone)


def close(connection: Connection, *, email: str) -> ClosedAccount | None:
    """Nobody signs in any more, who is signed in is out, and tokens are refused. None when there is no such account.

    What the person put away still comes back to them by mail: what was accepted is not lost.
    """
    door = accounts.close(connection, email=normalize(email))
    if door is None:
        return None
    sessions = accounts.end_sessions(connection, account_id=door.id)
    return ClosedAccount(email=door.email, changed=door.changed, sessions=sessions)


def reopen(connection: Connection, *, email: str) -> accounts.AccountState | None:
    """The person may sign in again, and tokens that were not revoked are taken again."""
    return accounts.reopen(connection, email=normalize(email))


def is_closed(connection: Connection, *, email: str) -> bool:
    """Is there such an account, and is it closed?"""
    closed = select(Account.id).where(Account.email == normalize(email), Account.disabled_at.is_not(None))
    return connection.execute(closed).first() is not None


def check_zone(zone: str) -> None:
    """Raises BadZone unless it is a zone that phrases are read in, spelt as the IANA database does."""
    if canonical(zone) != zone:
        raise InvalidZone("That is not a time zone. It looks like Europe/Berlin.")


def request_sign_in(connection: Connection, *, email: str, browser: str, known: str | None) -> Invitation | None:
    """A sign-in link bound to `browser` (a secret in its cookie); None when this address gets none (now).

    `known` is the mark of a browser that signed in to this account before: strangers cannot use its links up.
    """
    accounts.lock_sign_in(connection, email=normalize(email))
    token, code = secrets.token_urlsafe(32), f"{secrets.randbelow(10**8):08d}"
    asked = accounts.request_sign_in(
        connection,
        email=normalize(email),
        token_hash=digest(token),
        code_hash=digest(f"{browser} {code}"),
        browser_hash=digest(browser),
        known_hash=_digest_or_none(known),
        lifetime=LINK_LIFETIME,
        max_per_hour=MAX_LINKS_PER_HOUR,
    )
    return Invitation(email=normalize(email), token=token, code=code) if asked else None


def console_sign_in_token(connection: Connection, *, email: str) -> str | None:
    """The token of a sign-in link for whoever sits at the machine: single use, ten minutes, any browser."""
    token = secrets.token_urlsafe(32)
    asked = accounts.request_sign_in(
        connection,
        email=normalize(email),
        token_hash=digest(token),
        code_hash=None,
        browser_hash=None,
        known_hash=None,
        lifetime=LINK_LIFETIME,
        max_per_hour=MAX_LINKS_PER_HOUR,
    )
    return token if asked else None


def link_state(connection: Connection, *, token: str, browser: str | None) -> LinkState:
    """What a link would do in this browser. Looking uses nothing up."""
    link = accounts.sign_in_link(connection, token_hash=digest(token), browser_hash=_digest_or_none(browser))
    if link is None:
        return "unknown"
    if link.used:
        return "used"
    if link.expired:
        return "expired"
    return "good" if link.this_browser else "other browser"


def sign_in_by_link(connection: Connection, *, token: str, browser: str | None) -> str | None:
    """Use a link up; answers the new session's token, or None when the link is not good here."""
    account_id = accounts.use_link(connection, token_hash=digest(token), browser_hash=_digest_or_none(browser))
    return None if account_id is None else _open_session(connection, account_id=account_id)


def sign_in_by_code(connection: Connection, *, code: str, browser: str) -> str | None:
    """Try a typed code; answers the new session's token, or None."""
    digits = re.sub(r"[\s-]", "", code)
    account_id = accounts.try_code(connection, code_hash=digest(f"{browser} {digits}"), browser_hash=digest(browser))
    return None if account_id is None else _open_session(connection, account_id=account_id)


def session_account(connection: Connection, *, session: str) -> Account | None:
    """Who is signed in with this session token."""
    account_id = accounts.session_owner(connection, token_hash=digest(session))
    if account_id is None:
        return None
    accounts.touch_session(connection, token_hash=digest(session))
    return _account(connection, id=account_id)


def sign_out(connection: Connection, *, session: str) -> None:
    """Sign out."""
    accounts.close_session(connection, token_hash=digest(session))


def create_token(connection: Connection, *, email: str) -> str | None:
    """A token for the person's programs, told once; None when there is no such account."""
    token = TOKEN_PREFIX + secrets.token_urlsafe(32)
    return token if accounts.create_token(connection, email=normalize(email), token_hash=digest(token)) else None


def list_tokens(connection: Connection, *, email: str | None) -> list[accounts.Token]:
    """The person's tokens without their secrets; without an address everybody's."""
    return accounts.list_tokens(connection, email=None if email is None else normalize(email))


def revoke_tokens(connection: Connection, *, which: str) -> list[tuple[int, str]]:
    """Refuse a token from now on, told by its number, by the token itself, or by its owner's address for all of theirs.

    Answers number and owner of each that was revoked; none when there is none in force. Raises BadAddress.
    """
    if which.isascii() and which.isdigit() and len(which) < 19:
        return accounts.revoke_tokens(connection, id=int(which))
    if which.startswith(TOKEN_PREFIX) and "@" not in which:
        return accounts.revoke_tokens(connection, token_hash=digest(which))
    return accounts.revoke_tokens(connection, email=normalize(which))


def token_account(connection: Connection, *, token: str) -> Account | None:
    """Whose token this is."""
    account_id = accounts.token_owner(connection, token_hash=digest(token))
    return None if account_id is None else _account(connection, id=account_id)


def digest(secret: str) -> str:
    """How a secret is kept: 256 random bits need no salt and no slow hash."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _digest_or_none(secret: str | None) -> str | None:
    return None if secret is None else digest(secret)


def _open_session(connection: Connection, *, account_id: int) -> str | None:
    token = secrets.token_urlsafe(32)
    opened = accounts.open_session(
        connection, account_id=account_id, token_hash=digest(token), lifetime=SESSION_LIFETIME
    )
    return token if opened else None


def _account(connection: Connection, *, id: int) -> Account | None:
    with Session(bind=connection, expire_on_commit=False) as reading:
        account = reading.execute(select(Account).where(Account.id == id)).scalar_one_or_none()
        if account is not None:
            reading.expunge(account)
        return account
