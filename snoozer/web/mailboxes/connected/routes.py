"""Connected mailboxes in the settings: connect by address, see the state of each, change its password, disconnect."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from snoozer.db.models import Account
from snoozer.db.queries import mailboxes as connected_mailboxes
from snoozer.db.statements import database_time
from snoozer.mailboxes import folder_times, mail_providers, registry
from snoozer.mailboxes.imap.connection import Login, Server
from snoozer.mailboxes.mail_providers import Provider
from snoozer.mailboxes.problems import Problem, explain
from snoozer.mailboxes.registry import NotConnected
from snoozer.people import accounts
from snoozer.telemetry import security_log
from snoozer.translations import gettext as _
from snoozer.web import context
from snoozer.web.auth import login_required
from snoozer.web.context import flash, found_or_404
from snoozer.web.mailboxes.connected import checks, dry_run
from snoozer.web.mailboxes.connected.choices import TOMORROW, ChoicesForm
from snoozer.web.mailboxes.connected.forms import SECURITIES, ServerForm, password_error
from snoozer.web.mailboxes.connected.sign_in import client_of

blueprint = Blueprint("mailboxes", __name__, url_prefix="/settings/mailboxes")


@blueprint.get("")
@login_required
def index(account: Account) -> ResponseReturnValue:
    with context.transaction() as connection:
        rows = connected_mailboxes.connected(connection, account_id=account.id)
    return render_template("mailboxes/connected/list.html", mailboxes=rows, max_mailboxes=registry.MAX_MAILBOXES)


@blueprint.get("/connect")
@login_required
def ask_address(account: Account) -> ResponseReturnValue:
    """The first step: the address."""
    return render_template("mailboxes/connected/address.html", address="", error=None)


@blueprint.post("/find")
@login_required
def find_server(account: Account) -> ResponseReturnValue:
    """The second step: the server that was found, editable by hand, and the password."""
    # Imported here, because it needs a DNS library, for a page that few people open, once.
    from snoozer.mailboxes import discovery

    address = request.form.get("address", "").strip()
    try:
        domain = accounts.normalize(address).rpartition("@")[2]
    except accounts.InvalidAddress as error:
        return render_template("mailboxes/connected/address.html", address=address, error=str(error)), 422
    try:
        with checks.one_check(account):
            found = discovery.find_server(domain, allow_private=context.settings().allow_private_mailboxes)
    except checks.Busy:
        busy = explain("busy", host=domain, port=0)
        return render_template(
            "mailboxes/connected/address.html", address=address, error=f"{busy.what} {busy.remedy}"
        ), 503
    return _server_page(ServerForm.for_address(address, found), provider=found.provider, note=found.note)


@blueprint.post("/connect")
@login_required
def connect(account: Account) -> ResponseReturnValue:
    """Checks the server and the login, and connects the mailbox if both are right."""
    form, password = ServerForm.read(request.form), request.form.get("password", "")
    if form.errors:
        return _server_page(form), 422
    with context.transaction() as connection:
        has_room = registry.has_room(connection, account_id=account.id, server=form.server, username=form.username)
    if not has_room:
        return _server_page(form, problem=_refused(registry.no_room())), 422
    report = checks.check(account, form.server, form.login(password))
    if report.problem is not None:
        return _server_page(form, problem=report.problem), 422
    try:
        with context.transaction() as connection:
            id = registry.connect(
                connection,
                account_id=account.id,
                address=form.address,
                server=form.server,
                login=form.login(password),
                key_ring=context.settings().keys,
            )
    except NotConnected as error:
        return _server_page(form, problem=_refused(str(error))), 422
    security_log.record("mailbox_connected", account=account.id, mailbox=id)
    flash(" ".join(filter(None, (_("The mailbox is connected."), checks.in_words(report)))))
    return redirect(url_for(".show", id=id), code=303)


@blueprint.get("/<row:id>")
@login_required
def show(account: Account, id: int) -> ResponseReturnValue:
    return _mailbox_page(account, id)


@blueprint.post("/<row:id>/password")
@login_required
def change_password(account: Account, id: int) -> ResponseReturnValue:
    """Checks the new password at the server and stores it; the mailbox is watched again."""
    with context.transaction() as connection:
        row = found_or_404(connected_mailboxes.find(connection, id=id, account_id=account.id))
    found_or_404(row if row.login_method == "password" else None)
    password = request.form.get("password", "")
    if wrong := password_error(password):
        return _mailbox_page(account, id, error=wrong), 422
    report = checks.check(account, Server(row.host, row.port, row.security), Login(row.username, password))
    if report.problem is not None:
        return _mailbox_page(account, id, error=f"{report.problem.what} {report.problem.remedy}"), 422
    with context.transaction() as connection:
        found_or_404(
            registry.change_password(
                connection, id=id, account_id=account.id, password=password, key_ring=context.settings().keys
            )
            or None
        )
    security_log.record("mailbox_password_changed", account=account.id, mailbox=id)
    flash(_("The new password works. The mailbox is watched again."))
    return redirect(url_for(".show", id=id), code=303)


@blueprint.post("/<row:id>/choices")
@login_required
def choose(account: Account, id: int) -> ResponseReturnValue:
    """Sets which event brings messages back, and whether a star or a keyword snoozes."""
    with context.transaction() as connection:
        row = found_or_404(connected_mailboxes.find(connection, id=id, account_id=account.id))
    labels = [label for label, _ in checks.presets(account)]
    form = ChoicesForm.read(request.form, times=[*labels, row.snooze_flag_time or labels[0]])
    if form.errors:
        return _mailbox_page(account, id, form=form), 422
    with context.transaction() as connection:
        found_or_404(registry.choose(connection, id=id, account_id=account.id, choices=form.choices) or None)
    flash(_("Saved."))
    return redirect(url_for(".show", id=id), code=303)


@blueprint.post("/<row:id>/disconnect")
@login_required
def disconnect(account: Account, id: int) -> ResponseReturnValue:
    with context.transaction() as connection:
        found_or_404(registry.disconnect(connection, id=id, account_id=account.id) or None)
    security_log.record("mailbox_disconnected", account=account.id, mailbox=id)
    flash(_("The mailbox is being disconnected: what is snoozed in it goes back first."))
    return redirect(url_for(".index"), code=303)


@blueprint.post("/<row:id>/forget")
@login_required
def forget(account: Account, id: int) -> ResponseReturnValue:
    """Ends disconnecting a mailbox whose server cannot be reached any more."""
    with context.transaction() as connection:
        found_or_404(registry.forget(connection, id=id, account_id=account.id) or None)
    security_log.record("mailbox_forgotten", account=account.id, mailbox=id)
    flash(_("The mailbox and its password are forgotten. What was snoozed in it lies in its folder Snoozed."))
    return redirect(url_for(".index"), code=303)


def _refused(sentence: str) -> Problem:
    return Problem(code="refused", what=sentence, remedy="")


def _server_page(
    form: ServerForm, *, problem: Problem | None = None, provider: Provider | None = None, note: str | None = None
) -> str:
    allow_plain = context.settings().allow_private_mailboxes
    provider = provider or mail_providers.of_server(form.host)
    sign_in = context.settings().oauth_providers.find(provider.oauth) if provider is not None else None
    return render_template(
        "mailboxes/connected/server.html",
        form=form,
        problem=problem,
        provider=provider,
        sign_in=sign_in,
        note=note,
        securities={value: name for value, name in SECURITIES.items() if allow_plain or value != "plain"},
    )


def _mailbox_page(account: Account, id: int, *, error: str | None = None, form: ChoicesForm | None = None) -> str:
    with context.transaction() as connection:
        row = found_or_404(connected_mailboxes.find(connection, id=id, account_id=account.id))
        left = connected_mailboxes.count_left_flagged(connection, id=id)
        times, now = folder_times.personal_times(connection, account_id=account.id), database_time(connection)
    presets = checks.presets(account)
    labels = [label for label, _ in presets]
    form = form or ChoicesForm.of(row, presets)
    return render_template(
        "mailboxes/connected/show.html",
        mailbox=row,
        sign_in=client_of(row.host, row.login_method),
        error=error,
        example=next((label for label, phrase in presets if phrase in TOMORROW), labels[0]),
        form=form,
        # The chosen time stays an option even if its preset is gone.
        times_of_folders=labels if form.flag_time in labels or form.errors else [form.flag_time, *labels],
        left=left,
        folder=dry_run.of_folder(request.args.get("folder"), times, now=now),
        flag_means=dry_run.of_flag(row.snooze_flag_time, times, now=now),
    )
