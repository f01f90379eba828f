"""USE CASE of a person's addresses: more than that of the account, each verified by a mailed code.

Mail from and to each of them is the person's, and they choose the one to which Snoozer's mail goes. Sign-in links and
notices about the account go to that of the account. An address belongs to one account. Only a person who can read its
mail learns whether it belongs to another one.
"""

import secrets
from typing import Literal

from sqlalchemy import Connection

from snoozer.db import accounts, addresses
from snoozer.db.addresses import Address
from snoozer.people.accounts import LINK_LIFETIME, MAX_LINKS_PER_HOUR, Invitation, account_of_code, normalize
from snoozer.runtime.secret_keys import digest

MAX_ADDRESSES = 10

Verdict = Literal["added", "wrong_code", "taken"]


def list_all(connection: Connection, *, account_id: int) -> list[Address]:
    """The verified addresses of a person, that of the account first."""
    return addresses.list_all(connection, account_id=account_id)


def request_code(connection: Connection, *, account_id: int, email: str, session: str) -> Invitation | None:
    """A code to be mailed to an address, valid in this session only; None if there were too many in this hour. Raises
    InvalidAddress."""
    email, token, code = normalize(email), secrets.token_urlsafe(32), f"{secrets.randbelow(10**8):08d}"
    accounts.lock_sign_in(connection, email=email)
    was_entered = addresses.request_code(
        connection,
        account_id=account_id,
        email=email,
        email_hash=digest(f"address {email}"),
        token_hash=digest(token),
        code_hash=digest(f"{session} {code}"),
        browser_hash=digest(session),
        lifetime=LINK_LIFETIME,
        max_per_hour=MAX_LINKS_PER_HOUR,
    )
    return Invitation(account_id=account_id, email=email, token=token, code=code) if was_entered else None


def add(connection: Connection, *, account_id: int, email: str, code: str, session: str) -> Verdict:
    """Add the address if this code was mailed to it. It is "taken" if it belongs to an account, or this
    one has MAX_ADDRESSES. Raises InvalidAddress."""
    email = normalize(email)
    accounts.lock_sign_in(connection, email=email)
    if account_of_code(connection, code=code, browser=session, address=email) != account_id:
        return "wrong_code"
    return "added" if vouch(connection, account_id=account_id, email=email) else "taken"


def vouch(connection: Connection, *, account_id: int, email: str) -> bool:
    """Add an address for which the caller vouches. Returns False if it belongs to an account, or this one has
    MAX_ADDRESSES. Raises InvalidAddress."""
    email = normalize(email)
    accounts.lock_sign_in(connection, email=email)
    return addresses.add(connection, account_id=account_id, email=email, most=MAX_ADDRESSES - 1)


def choose(connection: Connection, *, account_id: int, email: str) -> bool:
    """Send the person's mail to this address. Returns False if it is none of theirs."""
    if email not in {own.email for own in list_all(connection, account_id=account_id)}:
        return False
    addresses.choose(connection, account_id=account_id, email=email)
    return True


def remove(connection: Connection, *, account_id: int, email: str) -> bool:
    """Forget an address; mail to it is no longer the person's. Returns False if it is none of theirs, or that of the
    account."""
    return addresses.remove(connection, account_id=account_id, email=email)
