"""Bearer tokens (RFC 6750)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from flask import request
from sqlalchemy import Connection

from snoozer import accounts, quotas, security_log
from snoozer.db.models import Account
from snoozer.web import context
from snoozer.web.api.problems import Refused
from snoozer.web.network import network_id


@contextmanager
def caller(*, verified: bool = False) -> Iterator[tuple[Connection, Account]]:
    """One transaction for the account of `Authorization: Bearer`. Raises Refused with 401 without a valid token, and
    with 403 when `verified` is asked for and the address, which then gets no reminders, is not."""
    token = bearer_token()
    if not token:
        detail = "Send a token of yours as Authorization: Bearer <token>. `snoozer token create` makes one."
        raise Refused(401, "no_token", detail, headers={"WWW-Authenticate": 'Bearer realm="snoozer"'})
    with context.transaction() as connection:
        account = accounts.token_account(connection, token=token)
        if account is not None:
            if verified and account.verified_at is None:
                raise Refused(403, "unverified", "Reminders go to verified addresses only. Sign in by mail once.")
            yield connection, account
            return
    _refuse_token()


def bearer_token() -> str | None:
    """Returns the token of this request, valid or not."""
    given = request.authorization
    return given.token if given is not None and given.type == "bearer" else None


def _refuse_token() -> NoReturn:
    """Raises Refused, or QuotaReached for a network with many of them; valid tokens still work from there."""
    network = network_id()
    security_log.record("token_refused", network=network)
    with context.transaction() as connection:
        quotas.spend_failed_token(connection, context.settings().limits, network=network)
    detail = "This token is unknown, revoked, or belongs to a closed account."
    challenge = 'Bearer realm="snoozer", error="invalid_token"'
    raise Refused(401, "bad_token", detail, headers={"WWW-Authenticate": challenge})
