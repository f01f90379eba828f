"""USE CASE of accounts: sign-in by mailed link or typed code, sessions.

Tokens are 256 random bits and are stored as sha256 only. A mailed link works once, for ten minutes, in the browser that
requested it; its typed code has five tries.
"""

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from sqlalchemy import Connection, select
from sqlalchemy.orm import Session

from snoozer.db import accounts
from snoozer.db.models import Account, OwnAddress
from snoozer.db.roles import Role
from snoozer.mail import headers
from snoozer.runtime.secret_keys import digest
from snoozer.timephrase.zones import canonical
from snoozer.translations import gettext

LINK_LIFETIME = timedelta(minutes=10)
SESSION_LIFETIME = timedelta(days=90)
# How long an act that requires a confirmed identity is allowed after the confirmation.
CONFIRMED_FOR = timedelta(minutes=10)
MAX_LINKS_PER_HOUR = 5
MAX_LISTED_SESSIONS = 50

LinkState = Literal["good", "used", "expired", "other browser", "unknown"]


class InvalidAddress(ValueError):
    """The text is not a mail address."""


class InvalidZone(ValueError):
    """The text is not a time zone."""


class LastAdmin(Exception):
    """The account is the last with the role admin, and is not changed."""

    def __init__(self) -> None:
        super().__init__("That is the last admin; give another account the role admin first.")


@dataclass(frozen=True, kw_only=True)
class Invitation:
    """The contents of a sign-in mail."""

    account_id: int
    email: str
    token: str
    code: str


@dataclass(frozen=True, kw_only=True)
class ClosedAccount:
    """An account that is closed now; `changed` is False if it was closed before, `sessions` counts the
    ended sessions."""

    id: int
    email: str
    changed: bool
    sessions: int


def normalize(email: str) -> str:
    """The address in the spelling that accounts use. Raises InvalidAddress."""
    folded = headers.account_address(email)
    if folded is None:
        raise InvalidAddress(gettext("That is not a mail address. It looks like ann@example.org."))
    return folded


def create(connection: Connection, *, email: str, role: str | None = None, zone: str = "UTC") -> accounts.Created:
    """Create an account whose address the operator vouches for. Raises InvalidAddress, also for an address that a
    person added to another account, InvalidZone or LastAdmin."""
    check_zone(zone)
    email = normalize(email)
    accounts.lock_roles(connection)
    accounts.lock_sign_in(connection, email=email)
    if is_added(connection, email=email):
        raise InvalidAddress(gettext("This address belongs to another account."))
    created = accounts.create(connection, email=email, role=role, zone=zone)
    _keep_an_admin(connection, role_before=created.role_before, role=created.role)
    return created


def set_role(connection: Connection, *, id: int, role: Role) -> accounts.RoleChange | None:
    """Give an account a role. Returns None if there is no such account. Raises LastAdmin; the caller must then roll the
    transaction back."""
    accounts.lock_roles(connection)
    changed = accounts.set_role(connection, id=id, role=role)
    if changed is not None:
        _keep_an_admin(connection, role_before=changed.role_before, role=changed.role)
    return changed


@contextmanager
def an_admin_stays(connection: Connection) -> Iterator[None]:
    """Raises LastAdmin at the end of the block if there was an admin before it and none remains. Concurrent changes of
    admins wait until the transaction ends."""
    accounts.lock_roles(connection)
    had_one = accounts.has_admin(connection)
    yield
    if had_one and not accounts.has_admin(connection):
        raise LastAdmin


def _keep_an_admin(connection: Connection, *, role_before: str | None, role: str) -> None:
    if role_before == "admin" and role != "admin" and not accounts.has_admin(connection):
        raise LastAdmin


def close(connection: Connection, *, email: str) -> ClosedAccount | None:
    """Close an account: sessions end, signing in and tokens are refused. Returns None if there is no such account.

    Its snoozes still come back by mail: accepted snoozes are not lost. Raises LastAdmin; the caller must then roll the
    transaction back.
    """
    with an_admin_stays(connection):
        closed = accounts.close(connection, email=normalize(email))
    if closed is None:
        return None
    sessions = accounts.end_sessions(connection, account_id=closed.id)
    return ClosedAccount(id=closed.id, email=closed.email, changed=closed.changed, sessions=sessions)


def reopen(connection: Connection, *, email: str) -> accounts.AccountState | None:
    """Open a closed account again, with its unrevoked tokens. Returns None when there is no such account."""
    return accounts.reopen(connection, email=normalize(email))


def id_of(connection: Connection, *, email: str) -> int | None:
    """The id of an account, open or closed. Raises InvalidAddress."""
    return connection.execute(select(Account.id).where(Account.email == normalize(email))).scalar_one_or_none()


def find(connection: Connection, *, email: str) -> Account | None:
    """The account of an address, open or closed. Raises InvalidAddress."""
    account_id = id_of(connection, email=email)
    return None if account_id is None else by_id(connection, id=account_id)


def is_closed(connection: Connection, *, email: str) -> bool:
    """Whether there is such an account and it is closed. Raises InvalidAddress."""
    closed = select(Account.id).where(Account.email == normalize(email), Account.disabled_at.is_not(None))
    return connection.execute(closed).first() is not None


def is_added(connection: Connection, *, email: str) -> bool:
    """Whether a person added this address to their account. Call it under lock_sign_in to decide by it."""
    return connection.execute(select(OwnAddress.email).where(OwnAddress.email == email)).first() is not None


def check_zone(zone: str) -> None:
    """Raises InvalidZone unless it is a zone for phrases, spelt as in the IANA database."""
    if canonical(zone) != zone:
        raise InvalidZone("That is not a time zone. It looks like Europe/Berlin.")


def request_sign_in(connection: Connection, *, email: str, browser: str, known: str | None) -> Invitation | None:
    """A sign-in link bound to `browser` (a secret in its cookie); None if this address gets none (now).

    `known` is the secret of a browser that signed in to this account before: it has a separate limit. An address
    without an account costs the same work, now and when a code is tried.
    """
    email = normalize(email)
    accounts.lock_sign_in(connection, email=email)
    token, code = secrets.token_urlsafe(32), f"{secrets.randbelow(10**8):08d}"
    account_id = accounts.request_sign_in(
        connection,
        email=email,
        email_hash=digest(email),
        token_hash=digest(token),
        code_hash=digest(f"{browser} {code}"),
        browser_hash=digest(browser),
        known_hash=_digest_or_none(known),
        lifetime=LINK_LIFETIME,
        max_per_hour=MAX_LINKS_PER_HOUR,
    )
    return None if account_id is None else Invitation(account_id=account_id, email=email, token=token, code=code)


def console_sign_in_token(connection: Connection, *, email: str, lifetime: timedelta = LINK_LIFETIME) -> str | None:
    """The token of a sign-in link for the console: single use, any browser. None if it is refused."""
    token, email = secrets.token_urlsafe(32), normalize(email)
    account_id = accounts.request_sign_in(
        connection,
        email=email,
        email_hash=digest(email),
        token_hash=digest(token),
        lifetime=lifetime,
        max_per_hour=MAX_LINKS_PER_HOUR,
    )
    return None if account_id is None else token


def link_state(connection: Connection, *, token: str, browser: str | None) -> LinkState:
    """The state of a link in this browser, without using it."""
    link = accounts.sign_in_link(connection, token_hash=digest(token), browser_hash=_digest_or_none(browser))
    if link is None:
        return "unknown"
    if link.used:
        return "used"
    if link.expired:
        return "expired"
    return "good" if link.this_browser else "other browser"


def sign_in_by_link(
    connection: Connection, *, token: str, browser: str | None, replaces: str | None = None, device: str | None = None
) -> str | None:
    """Sign in by a link; returns the new session's token, None when the link is not valid here.

    `replaces` is the token of this browser's session until now, which ends; `device` describes the browser.
    """
    account_id = accounts.use_link(connection, token_hash=digest(token), browser_hash=_digest_or_none(browser))
    return open_session(connection, account_id=account_id, replaces=replaces, device=device, confirmed=True)


def sign_in_by_code(
    connection: Connection, *, code: str, browser: str, replaces: str | None = None, device: str | None = None
) -> str | None:
    """Sign in by a typed code, otherwise like sign_in_by_link; returns None when it is wrong."""
    account_id = account_of_code(connection, code=code, browser=browser)
    return open_session(connection, account_id=account_id, replaces=replaces, device=device, confirmed=True)


def open_session(
    connection: Connection,
    *,
    account_id: int | None,
    replaces: str | None,
    device: str | None,
    confirmed: bool,
    lifetime: timedelta = SESSION_LIFETIME,
) -> str | None:
    """Open a session; returns its token, None without an open account. `confirmed` says that the person showed just now
    who they are, by a mailed secret or by credentials, and not by a session somewhere else."""
    if account_id is None:
        return None
    token = secrets.token_urlsafe(32)
    opened = accounts.open_session(
        connection,
        account_id=account_id,
        token_hash=digest(token),
        replaced_hash=_digest_or_none(replaces),
        device=device,
        lifetime=lifetime,
        confirmed=confirmed,
    )
    return token if opened else None


def session_account(connection: Connection, *, session: str) -> Account | None:
    """The account that is signed in with this session token."""
    account_id = accounts.session_owner(connection, token_hash=digest(session))
    if account_id is None:
        return None
    accounts.touch_session(connection, token_hash=digest(session))
    return by_id(connection, id=account_id)


def is_confirmed(connection: Connection, *, session: str) -> bool:
    """Whether the person of this session showed within CONFIRMED_FOR who they are: a mailed secret, or credentials."""
    return accounts.session_is_confirmed(connection, token_hash=digest(session), within=CONFIRMED_FOR)


def confirm_by_code(connection: Connection, *, account_id: int, session: str, code: str, browser: str) -> bool:
    """Confirm a session by a typed code that was mailed to its account; returns False when it is wrong."""
    if account_of_code(connection, code=code, browser=browser) != account_id:
        return False
    return accounts.confirm_session(connection, token_hash=digest(session), account_id=account_id)


def sign_out(connection: Connection, *, session: str) -> None:
    """Sign out."""
    accounts.close_session(connection, token_hash=digest(session))


def list_sessions(connection: Connection, *, account_id: int, session: str) -> list[accounts.BrowserSession]:
    """The browsers in which a person is signed in, starting with the browser of `session`."""
    return accounts.list_sessions(
        connection, account_id=account_id, token_hash=digest(session), max_sessions=MAX_LISTED_SESSIONS
    )


def end_session(connection: Connection, *, account_id: int, id: int) -> bool:
    """End one session of a person. Returns False when there is none (any more)."""
    return accounts.end_session(connection, id=id, account_id=account_id)


def end_everywhere(
    connection: Connection, *, account_id: int, kept: str | None, tokens: bool = False, feeds: bool = False
) -> int:
    """End all sessions of a person except `kept`, and pending sign-ins; with `tokens` also the API tokens, with `feeds`
    the addresses of feeds. Returns how many sessions were ended."""
    kept_hash = _digest_or_none(kept)
    return accounts.end_everywhere(connection, account_id=account_id, kept_hash=kept_hash, tokens=tokens, feeds=feeds)


def browsers_forgotten(connection: Connection, *, email: str) -> int:
    """How often this person signed out everywhere; 0 for an address without an account. Raises InvalidAddress."""
    count = select(Account.browsers_forgotten).where(Account.email == normalize(email))
    return connection.execute(count).scalar_one_or_none() or 0


def account_of_code(connection: Connection, *, code: str, browser: str, address: str | None = None) -> int | None:
    """The account that a typed code signs in to, or for which it verifies this address; None if it is wrong."""
    digits = re.sub(r"[\s-]", "", code)
    code_hash, browser_hash = digest(f"{browser} {digits}"), digest(browser)
    return accounts.try_code(connection, code_hash=code_hash, browser_hash=browser_hash, address=address)


def _digest_or_none(secret: str | None) -> str | None:
    return None if secret is None else digest(secret)


def by_id(connection: Connection, *, id: int) -> Account | None:
    """The account of an id, open or closed."""
    with Session(bind=connection, expire_on_commit=False) as session:
        return session.execute(select(Account).where(Account.id == id)).scalar_one_or_none()
