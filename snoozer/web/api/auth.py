"""Bearer tokens (RFC 6750)."""

from flask import request
from sqlalchemy import Connection

from snoozer import accounts
from snoozer.db.models import Account
from snoozer.web.api.problems import Refused


def caller(connection: Connection) -> Account:
    """The account of `Authorization: Bearer`. Raises Refused with 401 without a token or with one that is not valid."""
    given = request.authorization
    token = given.token if given is not None and given.type == "bearer" else None
    if not token:
        raise Refused(
            401,
            "no_token",
            "Send a token of yours as Authorization: Bearer <token>. `snoozer token create` makes one.",
            headers={"WWW-Authenticate": 'Bearer realm="snoozer"'},
        )
    account = accounts.token_account(connection, token=token)
    if account is None:
        raise Refused(
            401,
            "bad_token",
            "This token is unknown, revoked, or belongs to a closed account.",
            headers={"WWW-Authenticate": 'Bearer realm="snoozer", error="invalid_token"'},
        )
    return account


def verified_caller(connection: Connection) -> Account:
    """The caller. Raises Refused with 403 when the address is not verified: it gets no reminders."""
    account = caller(connection)
    if account.verified_at is None:
        raise Refused(403, "unverified", "Reminders go to verified addresses only. Sign in by mail once.")
    return account
