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

from snoozer.domain.times.zones import canonical
from snoozer.mail.headers import LONGEST_ADDRESS
from snoozer.postgres import people
from snoozer.postgres.models import Account

LINK_LIFETIME = timedelta(minutes=10)
SESSION_LIFETIME = timedelta(days=90)
MOST_LINKS_AN_HOUR = 5
TOKEN_PREFIX = "snz_"  # noqa: S105 - a public prefix, so that a leaked token can be recognised

_ADDRESS = re.compile(r"[^\s@<>()\[\],;:\\\"\x00-\x20\x7f-\U0010ffff]+@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?")

Worth = Literal["good", "used", "expired", "other browser", "unknown"]


class BadAddress(ValueError):
    """That is not a mail address."""


class BadZone(ValueError):
    """That is not a time zone."""


@dataclass(frozen=True, kw_only=True)
class Invitation:
    """What is mailed to a person who wants to sign in."""

    email: str
    token: str
    code: str


@dataclass(frozen=True, kw_only=True)
class Closed:
    """An account that is closed now; `changed` is False when it was so already, `sessions` were ended."""

    email: str
    changed: bool
    sessions: int


def fold(email: str) -> str:
    """The one spelling of an address that accounts use. Raises BadAddress."""
    folded = email.strip().lower()
    if len(folded) > LONGEST_ADDRESS or not _ADDRESS.fullmatch(folded):
        raise BadAddress("That is not a mail address. It looks like ann@example.org.")
    return folded


def create(connection: Connection, *, email: str, role: str | None = None, zone: str = "UTC") -> people.Created:
    """An account whose address counts as verified, because the operator vouches for it. Raises BadAddress, BadZone."""
    check_zone(zone)
    return people.create(connection, email=fold(email), role=role, zone=zone)


def close(connection: Connection, *, email: str) -> Closed | None:
    """Nobody signs in any more, who is signed in is out, and tokens are refused. None when there is no such account.

    What the person put away still comes back to them by mail: what was accepted is not lost.
    """
    door = people.close(connection, email=fold(email))
    if door is None:
        return None
    sessions = people.end_sessions(connection, account_id=door.id)
    return Closed(email=door.email, changed=door.changed, sessions=sessions)


def reopen(connection: Connection, *, email: str) -> people.Door | None:
    """The person may sign in again, and tokens that were not revoked are taken again."""
    return people.reopen(connection, email=fold(email))


def is_closed(connection: Connection, *, email: str) -> bool:
    """Is there such an account, and is it closed?"""
    closed = select(Account.id).where(Account.email == fold(email), Account.disabled_at.is_not(None))
    return connection.execute(closed).first() is not None


def check_zone(zone: str) -> None:
    """Raises BadZone unless it is a zone that phrases are read in, spelt as the IANA database does."""
    if canonical(zone) != zone:
        raise BadZone("That is not a time zone. It looks like Europe/Berlin.")


def ask(connection: Connection, *, email: str, browser: str, known: str | None) -> Invitation | None:
    """A sign-in link bound to `browser` (a secret in its cookie); None when this address gets none (now).

    `known` is the mark of a browser that signed in to this account before: strangers cannot use its links up.
    """
    people.lock_ask(connection, email=fold(email))
    token, code = secrets.token_urlsafe(32), f"{secrets.randbelow(10**8):08d}"
    asked = people.ask(
        connection,
        email=fold(email),
        token_hash=digest(token),
        code_hash=digest(f"{browser} {code}"),
        browser_hash=digest(browser),
        known_hash=_maybe(known),
        lifetime=LINK_LIFETIME,
        most_an_hour=MOST_LINKS_AN_HOUR,
    )
    return Invitation(email=fold(email), token=token, code=code) if asked else None


def ask_from_the_console(connection: Connection, *, email: str) -> str | None:
    """The token of a sign-in link for whoever sits at the machine: single use, ten minutes, any browser."""
    token = secrets.token_urlsafe(32)
    asked = people.ask(
        connection,
        email=fold(email),
        token_hash=digest(token),
        code_hash=None,
        browser_hash=None,
        known_hash=None,
        lifetime=LINK_LIFETIME,
        most_an_hour=MOST_LINKS_AN_HOUR,
    )
    return token if asked else None


def worth(connection: Connection, *, token: str, browser: str | None) -> Worth:
    """What a link would do in this browser. Looking uses nothing up."""
    link = people.look_at_link(connection, token_hash=digest(token), browser_hash=_maybe(browser))
    if link is None:
        return "unknown"
    if link.used:
        return "used"
    if link.expired:
        return "expired"
    return "good" if link.this_browser else "other browser"


def enter(connection: Connection, *, token: str, browser: str | None) -> str | None:
    """Use a link up; answers the new session's token, or None when the link is not good here."""
    account_id = people.use_link(connection, token_hash=digest(token), browser_hash=_maybe(browser))
    return None if account_id is None else _open_session(connection, account_id=account_id)


def enter_code(connection: Connection, *, code: str, browser: str) -> str | None:
    """Try a typed code; answers the new session's token, or None."""
    digits = re.sub(r"[\s-]", "", code)
    account_id = people.try_code(connection, code_hash=digest(f"{browser} {digits}"), browser_hash=digest(browser))
    return None if account_id is None else _open_session(connection, account_id=account_id)


def who(connection: Connection, *, session: str) -> Account | None:
    """Who is signed in with this session token."""
    account_id = people.session(connection, token_hash=digest(session))
    if account_id is None:
        return None
    people.touch_session(connection, token_hash=digest(session))
    return _account(connection, id=account_id)


def leave(connection: Connection, *, session: str) -> None:
    """Sign out."""
    people.close_session(connection, token_hash=digest(session))


def create_token(connection: Connection, *, email: str) -> str | None:
    """A token for the person's programs, told once; None when there is no such account."""
    token = TOKEN_PREFIX + secrets.token_urlsafe(32)
    return token if people.create_token(connection, email=fold(email), token_hash=digest(token)) else None


def tokens(connection: Connection, *, email: str | None) -> list[people.Token]:
    """The person's tokens without their secrets; without an address everybody's."""
    return people.tokens(connection, email=None if email is None else fold(email))


def revoke(connection: Connection, *, which: str) -> list[tuple[int, str]]:
    """Refuse a token from now on, told by its number, by the token itself, or by its owner's address for all of theirs.

    Answers number and owner of each that was revoked; none when there is none in force. Raises BadAddress.
    """
    if which.isascii() and which.isdigit() and len(which) < 19:
        return people.revoke_tokens(connection, id=int(which))
    if which.startswith(TOKEN_PREFIX) and "@" not in which:
        return people.revoke_tokens(connection, token_hash=digest(which))
    return people.revoke_tokens(connection, email=fold(which))


def bearer(connection: Connection, *, token: str) -> Account | None:
    """Whose token this is."""
    account_id = people.bearer(connection, token_hash=digest(token))
    return None if account_id is None else _account(connection, id=account_id)


def digest(secret: str) -> str:
    """How a secret is kept: 256 random bits need no salt and no slow hash."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _maybe(secret: str | None) -> str | None:
    return None if secret is None else digest(secret)


def _open_session(connection: Connection, *, account_id: int) -> str | None:
    token = secrets.token_urlsafe(32)
    opened = people.open_session(connection, account_id=account_id, token_hash=digest(token), lifetime=SESSION_LIFETIME)
    return token if opened else None


def _account(connection: Connection, *, id: int) -> Account | None:
    with Session(bind=connection, expire_on_commit=False) as reading:
        account = reading.execute(select(Account).where(Account.id == id)).scalar_one_or_none()
        if account is not None:
            reading.expunge(account)
        return account
