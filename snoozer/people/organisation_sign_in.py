"""USE CASE of signing in at an organisation's provider: find the account, and apply the role of the person's groups.

A person is known by the provider's subject, which is never reassigned. The first sign-in uses the account of the
address that the provider verified, and creates it if there is none.
"""

from collections.abc import Mapping
from typing import Literal

from sqlalchemy import Connection

from snoozer.db import accounts, audit
from snoozer.db.audit import Entry
from snoozer.db.roles import GROUP_ROLE_LIFETIME, Role, role_of_groups
from snoozer.people import accounts as sign_ins
from snoozer.people.oidc.claims import Claims
from snoozer.runtime.secret_keys import digest

# The provider is asked again after a day: a person who left the organisation is then signed out and loses its role.
SESSION_LIFETIME = GROUP_ROLE_LIFETIME

Why = Literal["no_address", "closed", "another_identity"]


class NotSignedIn(Exception):
    """The provider knows the person, but they have no account. `why` is for programs."""

    def __init__(self, why: Why) -> None:
        super().__init__(why)
        self.why = why


def sign_in(
    connection: Connection, claims: Claims, *, roles: Mapping[str, Role], replaces: str | None, device: str | None
) -> str:
    """Open a session; returns its token. The role by groups is set from their current groups, None if these have no
    role. Raises NotSignedIn."""
    account_id = accounts.identity_owner(connection, issuer=claims.issuer, subject=claims.subject)
    if account_id is None:
        account_id = _first_time(connection, claims)
    role = role_of_groups(claims.groups, roles)
    role_before = accounts.set_group_role(connection, id=account_id, role=role)
    token = sign_ins.open_session(
        connection,
        account_id=account_id,
        replaces=replaces,
        device=device,
        confirmed=claims.is_fresh,
        lifetime=SESSION_LIFETIME,
    )
    if token is None:
        raise NotSignedIn("closed")
    if role != role_before:
        entry = Entry(target=f"account:{account_id}", before={"role": role_before}, after={"role": role})
        audit.append(connection, actor="provider", act="change_group_role", entries=[entry])
    return token


def confirm(connection: Connection, claims: Claims, *, account_id: int, session: str) -> bool:
    """Confirm a session by a fresh sign-in; returns False if another person signed in."""
    if accounts.identity_owner(connection, issuer=claims.issuer, subject=claims.subject) != account_id:
        return False
    return accounts.confirm_session(connection, token_hash=digest(session), account_id=account_id)


def unlink(connection: Connection, *, account_id: int) -> int:
    """Let the next person at the provider who has the account's address sign in to it; returns how many identities were
    removed. Use it after an address was given to another person."""
    return accounts.remove_identities(connection, account_id=account_id)


def _first_time(connection: Connection, claims: Claims) -> int:
    if claims.email is None:
        raise NotSignedIn("no_address")
    try:
        email = sign_ins.normalize(claims.email)
    except sign_ins.InvalidAddress:
        raise NotSignedIn("no_address") from None
    accounts.lock_sign_in(connection, email=email)
    known = accounts.identity_owner(connection, issuer=claims.issuer, subject=claims.subject)
    if known is not None:
        return known
    if sign_ins.is_closed(connection, email=email):
        raise NotSignedIn("closed")
    account_id = sign_ins.id_of(connection, email=email)
    if account_id is None:
        if sign_ins.is_added(connection, email=email):
            raise NotSignedIn("another_identity")
        account_id = accounts.create(connection, email=email, role=None, zone="UTC").id
    added = accounts.add_identity(connection, issuer=claims.issuer, subject=claims.subject, account_id=account_id)
    if not added:
        raise NotSignedIn("another_identity")
    return account_id
