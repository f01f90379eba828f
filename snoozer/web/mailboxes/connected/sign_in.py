"""Signing in to a mailbox at its provider: a POST begins, the provider sends the browser back, a POST connects.

The provider's redirect is a GET and changes nothing: it shows which mailbox will be connected. Its code is used by the
POST, once, in the session that began.
"""

from flask import Blueprint, Response, render_template, request, url_for
from flask import redirect as redirect_to
from flask.typing import ResponseReturnValue
from sqlalchemy import Connection

from snoozer.db.mailbox_sign_ins import PendingSignIn
from snoozer.db.models import Account
from snoozer.db.queries import mailboxes as connected_mailboxes
from snoozer.mailboxes import mail_providers, registry, sign_in
from snoozer.mailboxes.imap.connection import Login, Server
from snoozer.mailboxes.problems import Problem, explain
from snoozer.mailboxes.registry import NotConnected, RefreshToken
from snoozer.mailboxes.sign_in import MAX_CODE_LENGTH, MAX_STATE_LENGTH, Session
from snoozer.people import accounts, quotas
from snoozer.runtime import secret_keys
from snoozer.runtime.oauth import Grant, OAuthError
from snoozer.runtime.oauth_clients import Client
from snoozer.telemetry import security_log
from snoozer.translations import N_
from snoozer.translations import gettext as _
from snoozer.web import context
from snoozer.web.auth import get_cookie, login_required
from snoozer.web.context import flash, found_or_404
from snoozer.web.mailboxes.connected import checks

blueprint = Blueprint("mailbox_sign_in", __name__, url_prefix="/settings/mailboxes")

# As registered at the providers.
CALLBACK = "/settings/mailboxes/sign-in"

_OVER = Problem(
    code="over",
    what=N_("This sign-in is over."),
    remedy=N_(
        "It was begun in another browser, took longer than a quarter of an hour, or was used already. Begin again."
    ),
)
_NOT_ALLOWED = Problem(
    code="not_allowed",
    what=N_("The provider gave Snoozer no access to the mailbox."),
    remedy=N_("Either the request was declined, or an administrator at the provider has to allow Snoozer first."),
)
_PROBLEMS = {"client": "oauth_client", "away": "oauth_away", "no_refresh_token": "no_refresh_token"}


@blueprint.post("/sign-in")
@login_required
def begin(account: Account) -> ResponseReturnValue:
    """Begins for an address that is to be connected."""
    client = found_or_404(context.settings().oauth_providers.find(request.form.get("provider")))
    address = request.form.get("address", "").strip()
    try:
        accounts.normalize(address)
    except accounts.InvalidAddress as error:
        return _failed(client, Problem(code="address", what=str(error), remedy=""))
    with context.transaction() as connection:
        server = Server(client.host, client.port, client.security)
        if not registry.has_room(connection, account_id=account.id, server=server, username=address):
            return _failed(client, Problem(code="refused", what=registry.no_room(), remedy=""))
    return _leave(account, client, address=address, mailbox_id=None)


@blueprint.post("/<row:id>/sign-in")
@login_required
def begin_again(account: Account, id: int) -> ResponseReturnValue:
    """Begins for a mailbox that is connected."""
    with context.transaction() as connection:
        row = found_or_404(connected_mailboxes.find(connection, id=id, account_id=account.id))
    client = found_or_404(client_of(row.host, row.login_method))
    return _leave(account, client, address=row.username, mailbox_id=id)


@blueprint.get("/sign-in")
@login_required
def come_back(account: Account) -> ResponseReturnValue:
    """The provider's redirect, with a code or an error. Changes nothing, and does not ask the provider."""
    state, code = request.args.get("state", ""), request.args.get("code", "")
    if len(state) > MAX_STATE_LENGTH or len(code) > MAX_CODE_LENGTH:
        return _failed(None, _translated(_OVER))
    with context.transaction() as connection:
        pending = sign_in.find(connection, _session(account), state=state)
    client = context.settings().oauth_providers.find(pending.provider) if pending is not None else None
    if pending is None or client is None:
        return _failed(None, _translated(_OVER))
    if not code:
        return _failed(client, _translated(_NOT_ALLOWED))
    return render_template(
        "mailboxes/connected/sign_in.html", client=client, problem=None, pending=pending, code=code, state=state
    )


@blueprint.post("/sign-in/finish")
@login_required
def finish(account: Account) -> ResponseReturnValue:
    """Has the provider exchange the code, checks the mailbox, and connects it or has it watched again."""
    state, code = request.form.get("state", ""), request.form.get("code", "")
    with context.transaction() as connection:
        pending = sign_in.take(connection, _session(account), state=state)
    client = context.settings().oauth_providers.find(pending.provider) if pending is not None else None
    if pending is None or client is None or not 0 < len(code) <= MAX_CODE_LENGTH:
        return _failed(client, _translated(_OVER))
    server = Server(client.host, client.port, client.security)
    if pending.mailbox_id is not None:
        with context.transaction() as connection:
            row = found_or_404(connected_mailboxes.find(connection, id=pending.mailbox_id, account_id=account.id))
        server = Server(row.host, row.port, row.security)
    try:
        with checks.one_check(account):
            grant = _exchanged(pending, code)
            if grant is None:
                return _failed(client, _translated(_OVER))
            login = Login(pending.address, access_token=grant.access_token)
            report = checks.look(account, server, login)
    except checks.Busy:
        return _failed(client, explain("busy", host=server.host, port=server.port))
    except OAuthError as error:
        is_over = error.code == "sign_in"
        return _failed(
            client,
            _translated(_OVER) if is_over else explain(_PROBLEMS[error.code], host=server.host, port=server.port),
        )
    if report.problem is not None:
        return _failed(client, report.problem)
    try:
        with context.transaction() as connection:
            id = _connect(connection, account, pending, server, grant)
    except NotConnected as error:
        return _failed(client, Problem(code="refused", what=str(error), remedy=""))
    if pending.mailbox_id is None:
        security_log.record("mailbox_connected", account=account.id, mailbox=id)
        flash(" ".join(filter(None, (_("The mailbox is connected."), checks.in_words(report)))))
    else:
        security_log.record("mailbox_signed_in", account=account.id, mailbox=id)
        flash(_("The sign-in works. The mailbox is watched again."))
    return redirect_to(url_for("mailboxes.show", id=id), code=303)


def client_of(host: str, login_method: str = "password") -> Client | None:
    """The sign-in of a mailbox, if it is configured: the method of its connection, or its server's."""
    provider = mail_providers.of_server(host)
    name = provider.oauth if login_method == "password" and provider is not None else login_method
    return context.settings().oauth_providers.find(name)


def _leave(account: Account, client: Client, *, address: str, mailbox_id: int | None) -> ResponseReturnValue:
    """A page that leads to the provider at once. A redirect would not work: browsers also apply the
    Content-Security-Policy's `form-action` to redirects after a form, and a provider redirects to further hosts."""
    settings = context.settings()
    with context.transaction() as connection:
        quotas.spend_mailbox_check(connection, settings.limits, user_email=account.email)
        url = sign_in.begin(
            connection,
            _session(account),
            provider=client.name,
            address=address,
            mailbox_id=mailbox_id,
            redirect_uri=_callback(),
            providers=settings.oauth_providers,
            key_ring=settings.keys,
        )
    response = Response(render_template("mailboxes/connected/leave.html", client=client, address=address, url=url))
    response.headers["Refresh"] = f"0; url={url}"
    return response


def _exchanged(pending: PendingSignIn, code: str) -> Grant | None:
    settings = context.settings()
    return sign_in.exchange(
        pending, code=code, redirect_uri=_callback(), providers=settings.oauth_providers, key_ring=settings.keys
    )


def _connect(connection: Connection, account: Account, pending: PendingSignIn, server: Server, grant: Grant) -> int:
    """Returns the mailbox's id. Raises NotConnected."""
    ring, token = context.settings().keys, RefreshToken(provider=pending.provider, text=grant.refresh_token)
    if pending.mailbox_id is not None:
        id = pending.mailbox_id
        known = registry.sign_in_again(connection, id=id, account_id=account.id, refresh_token=token, key_ring=ring)
        return found_or_404(id if known else None)
    return registry.connect(
        connection,
        account_id=account.id,
        address=pending.address,
        server=server,
        login=Login(pending.address),
        key_ring=ring,
        refresh_token=token,
    )


def _session(account: Account) -> Session:
    return Session(account_id=account.id, token_hash=secret_keys.digest(get_cookie("session") or ""))


def _callback() -> str:
    return context.settings().base_url + CALLBACK


def _translated(problem: Problem) -> Problem:
    return Problem(code=problem.code, what=_(problem.what), remedy=_(problem.remedy))


def _failed(client: Client | None, problem: Problem) -> ResponseReturnValue:
    page = render_template(
        "mailboxes/connected/sign_in.html", client=client, problem=problem, pending=None, code=None, state=None
    )
    return page, 422
