"""The first account: the printed link opens a page that sends a test mail and makes the admin. A GET changes nothing.

The link in the test mail opens the same page, only in the browser that had it sent: so a typed address that is another
person's gives that person nothing.
"""

import hmac
import secrets
from dataclasses import dataclass
from datetime import timedelta

from flask import Blueprint, abort, render_template, request, session, url_for
from flask.typing import ResponseReturnValue

from snoozer.db import health_checks, schema
from snoozer.people import accounts, quotas, setup
from snoozer.runtime.secret_keys import digest
from snoozer.telemetry import security_log
from snoozer.web import auth, context
from snoozer.web.network import network_id
from snoozer.web.people.setup import mail_server
from snoozer.web.people.setup.mail_server import Finding
from snoozer.web.people.sign_in.session import signed_in

blueprint = Blueprint("setup", __name__, url_prefix="/setup")

_KEY = "setup"


@dataclass(frozen=True, kw_only=True)
class Opened:
    """An opened link: the printed one, or with `came_by_mail` that of the test mail to `email`."""

    token: str
    email: str
    came_by_mail: bool


@blueprint.get("/<token>")
def show(token: str) -> ResponseReturnValue:
    """The page, with the state of what Snoozer needs; 404 for an invalid link and once there is an account."""
    opened = _opened(token)
    return _page(opened, email=opened.email)


@blueprint.post("/<token>")
def act(token: str) -> ResponseReturnValue:
    """Sends the test mail (`act` is "mail"), or creates the admin and signs in."""
    opened = _opened(token)
    email = opened.email if opened.came_by_mail else request.form.get("email", "")
    try:
        if request.form.get("act") == "mail" and not opened.came_by_mail:
            return _send(opened, accounts.normalize(email))
        with context.transaction() as connection:
            account = setup.create_admin(connection, email=email)
            new = accounts.open_session(connection, account_id=account, confirmed=True, **auth.new_session())
    except accounts.InvalidAddress as error:
        return _page(opened, email=email, error=str(error)), 422
    if new is None:
        abort(404)
    security_log.record("account_created", account=account, role="admin")
    return signed_in(new)


def _send(opened: Opened, email: str) -> ResponseReturnValue:
    with context.transaction() as connection:
        quotas.spend_sign_in(connection, context.settings().limits, network=network_id())
    secret = secrets.token_urlsafe(32)
    session[_KEY] = {"token": opened.token, "email": email, "mailed": digest(secret)}
    link = context.settings().base_url + url_for("setup.show", token=secret)
    return _page(opened, email=email, test=mail_server.send_test_mail(context.settings(), to=email, link=link))


def _opened(token: str) -> Opened:
    """404 unless the link is valid."""
    kept = session.get(_KEY) or {"token": "", "email": "", "mailed": ""}
    came_by_mail = hmac.compare_digest(digest(token), kept["mailed"])
    printed = kept["token"] if came_by_mail else token
    with context.transaction() as connection:
        if not setup.is_valid(connection, printed, keys=context.settings().keys):
            abort(404)
    return Opened(token=printed, email=kept["email"], came_by_mail=came_by_mail)


def _page(opened: Opened, *, email: str, error: str | None = None, test: Finding | None = None) -> str:
    dead_after = timedelta(seconds=context.settings().worker_dead)
    with context.transaction() as connection:
        server, status = health_checks.server(connection), schema.status(connection)
        workers = health_checks.liveness(connection, dead_after=dead_after).workers
    return render_template(
        "people/setup/page.html",
        opened=opened,
        email=email,
        error=error,
        test=test,
        version=server.version,
        schema=status,
        has_worker=bool(workers),
        mail=mail_server.check(context.settings()) if test is None else None,
        minutes=int(setup.LINK_LIFETIME.total_seconds() // 60),
    )
