"""USE CASE of the first account: a link leads the person who installed Snoozer to it.

The link is signed by the secret key. It works for an hour, by the database's clock, and only while there is no account;
nothing of it is stored. So the first account ends all links, of every process and host.
"""

import hmac
from collections.abc import Sequence
from datetime import timedelta
from functools import partial

from sqlalchemy import Connection

from snoozer.db import accounts as rows
from snoozer.db import audit
from snoozer.db.audit import Entry
from snoozer.db.statements import database_time
from snoozer.people import accounts
from snoozer.runtime.secret_keys import derive

LINK_LIFETIME = timedelta(hours=1)

_MAC_BYTES = 16
_key = partial(derive, purpose=b"snoozer setup link")


def make_token(connection: Connection, *, keys: Sequence[str]) -> str | None:
    """The token of a link, signed by the newest (first) key; None if there is an account."""
    if rows.has_any(connection):
        return None
    return _signed(str(int((database_time(connection) + LINK_LIFETIME).timestamp())), key=keys[0])


def is_valid(connection: Connection, token: str, *, keys: Sequence[str]) -> bool:
    """Whether the token was signed by a key of the ring, its hour has not passed, and there is no account."""
    if not token.isascii():
        return False
    until = token.partition("-")[0]
    genuine = [hmac.compare_digest(_signed(until, key=key), token) for key in keys]
    return any(genuine) and int(until) > database_time(connection).timestamp() and not rows.has_any(connection)


def create_admin(connection: Connection, *, email: str) -> int | None:
    """Create the first account, with the role admin, and return its id; None if there is an account. Raises
    InvalidAddress."""
    rows.lock_roles(connection)
    if rows.has_any(connection):
        return None
    account = accounts.create(connection, email=email, role="admin")
    entry = Entry(target=f"account:{account.id}", before={"role": None}, after={"role": account.role})
    audit.append(connection, actor=f"operator:{account.id}", act="change_role", reason="Setup", entries=[entry])
    return account.id


def _signed(until: str, *, key: str) -> str:
    return f"{until}-{hmac.digest(_key(key), until.encode(), 'sha256')[:_MAC_BYTES].hex()}"
