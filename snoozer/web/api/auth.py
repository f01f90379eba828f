"""Whose token a request carries (RFC 6750)."""

from flask import request
from sqlalchemy import Connection

from snoozer import accounts
from snoozer.db.models import Account
from snoozer.web.api.problems import Refused


def caller(connection: Connection) -> Account:
    """The account behind `Authorization: Bearer`. Refused with 401 when there is none, it is revoked or disabled."""
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


def verified(connection: Connection) -> Account:
    """The caller, who may make reminders: their address is known to be theirs."""
    account = caller(connection)
    if account.verified_at is None:
        raise Refused(403, "unverified", "Reminders go to verified addresses only. Sign in by mail once.")
    return account
