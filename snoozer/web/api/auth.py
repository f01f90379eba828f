"""Bearer tokens (RFC 6750), and the scope that each operation asks for."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from flask import current_app, g, request
from sqlalchemy import Connection

from snoozer.db.models import Account
from snoozer.db.scopes import Scope
from snoozer.people import api_tokens, quotas
from snoozer.people.api_tokens import Grant, TokenExpired
from snoozer.snoozes.acts import By
from snoozer.telemetry import security_log
from snoozer.web import context
from snoozer.web.api import rate_limits
from snoozer.web.api.blueprint import ROUTE
from snoozer.web.api.openapi import scope_of
from snoozer.web.api.problems import Refused
from snoozer.web.network import network_id

REALM = 'Bearer realm="snoozer"'
UNKNOWN = "bad_token", "This token is unknown, revoked, or belongs to a closed account."


@contextmanager
def caller(*, verified: bool = False) -> Iterator[tuple[Connection, Account]]:
    """One transaction for the account of `Authorization: Bearer`. Raises Refused with 401 without a valid token, with
    403 if the token lacks the scope that the route's `@operation` names, and with 403 if `verified` is required and the
    address, which then gets no reminders, is not. The request is counted even if it is refused later."""
    token = bearer_token()
    if not token:
        detail = "Send a token of yours as Authorization: Bearer <token>. Settings, Programs makes one."
        raise Refused(401, "no_token", detail, headers={"WWW-Authenticate": REALM})
    try:
        if not rate_limits.spend_request(token):
            _refuse_token(*UNKNOWN)
        with context.transaction() as connection:
            grant = api_tokens.find(connection, secret=token)
            if grant is not None:
                _check(grant, verified=verified)
                g.token_id = grant.id
                yield connection, grant.account
                return
    except TokenExpired:
        _refuse_token("token_expired", "This token has expired. Make a new one in Settings, Programs.")
    _refuse_token(*UNKNOWN)


def by_program(account: Account) -> By:
    """The actor of this request: the account's owner, by the program with this token."""
    return By(account.email, ROUTE, token_id=g.token_id)


def bearer_token() -> str | None:
    """Returns the token of this request, valid or not."""
    given = request.authorization
    return given.token if given is not None and given.type == "bearer" else None


def _check(grant: Grant, *, verified: bool) -> None:
    """Raises Refused with 403."""
    scope = _asked_scope()
    if scope not in grant.scopes:
        challenge = f'{REALM}, error="insufficient_scope", scope="{scope}"'
        detail = f"This token does not have the scope {scope}. Its owner can make one that has."
        raise Refused(403, "insufficient_scope", detail, headers={"WWW-Authenticate": challenge}, scope=scope)
    if verified and grant.account.verified_at is None:
        raise Refused(403, "unverified", "Reminders go to verified addresses only. Sign in by mail once.")


def _asked_scope() -> Scope:
    """The scope in the `@operation` of this request's route, so that the description and the check cannot differ."""
    return scope_of(current_app.view_functions[request.endpoint or ""])


def _refuse_token(code: str, detail: str) -> NoReturn:
    """Raises Refused, or QuotaReached for a network that sent many invalid tokens; valid ones still work from there."""
    network = network_id()
    security_log.record("token_refused", network=network)
    with context.transaction() as connection:
        quotas.spend_failed_token(connection, context.settings().limits, network=network)
    challenge = f'{REALM}, error="invalid_token"'
    raise Refused(401, code, detail, headers={"WWW-Authenticate": challenge})
