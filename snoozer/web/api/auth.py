"""Bearer tokens (RFC 6750)."""

from collections.abc import Iterator
from contextlib import contextmanager

from flask import request
from sqlalchemy import Connection

from snoozer import accounts
from snoozer.db.models import Account
from snoozer.web import context
from snoozer.web.api.problems import Refused


@contextmanager
def caller(*, verified: bool = False) -> Iterator[tuple[Connection, Account]]:
    """One transaction for the account of `Authorization: Bearer`. Raises Refused with 401 without a valid token, and
    with 403 when `verified` is asked for and the address, which then gets no reminders, is not."""
    given = request.authorization
    token = given.token if given is not None and given.type == "bearer" else None
    with context.transaction() as connection:
        if not token:
            detail = "Send a token of yours as Authorization: Bearer <token>. `snoozer token create` makes one."
            raise Refused(401, "no_token", detail, headers={"WWW-Authenticate": 'Bearer realm="snoozer"'})
        account = accounts.token_account(connection, token=token)
        if account is None:
            detail = "This token is unknown, revoked, or belongs to a closed account."
            challenge = 'Bearer realm="snoozer", error="invalid_token"'
            raise Refused(401, "bad_token", detail, headers={"WWW-Authenticate": challenge})
        if verified and account.verified_at is None:
            raise Refused(403, "unverified", "Reminders go to verified addresses only. Sign in by mail once.")
        yield connection, account
