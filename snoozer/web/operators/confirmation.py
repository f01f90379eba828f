"""Asking again who one is, before an act that changes who may do what, shows an address or closes many cases."""

import secrets

from flask import Blueprint, abort, g, make_response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from snoozer.db.models import Account
from snoozer.people import accounts
from snoozer.telemetry import security_log
from snoozer.translations import language_of, speaking
from snoozer.web import auth, context
from snoozer.web.auth import viewer_required
from snoozer.web.context import flash
from snoozer.web.operators import unconfirmed_act
from snoozer.web.people.sign_in.mailing import send_invitation

blueprint = Blueprint("admin_confirmation", __name__, url_prefix="/admin/confirm")

BROWSER_DAYS = 1
MAX_CODE_LENGTH = 40


@blueprint.get("")
@viewer_required
def ask(account: Account) -> ResponseReturnValue:
    """Ways to show who one is; with `sent` the field for the mailed code."""
    return _page(account, sent="sent" in request.args)


@blueprint.post("/mail")
@viewer_required
def mail_code(account: Account) -> ResponseReturnValue:
    """Mails a code to the account's own address, at most five an hour; 404 where sign-ins by mail are off."""
    if context.settings().mail_sign_in == "off":
        abort(404)
    browser = auth.get_cookie("browser") or secrets.token_urlsafe(32)
    with context.transaction() as connection:
        known = auth.trusted_browser(account.email, forgotten=account.browsers_forgotten)
        invitation = accounts.request_sign_in(connection, email=account.email, browser=browser, known=known)
    if invitation is None:
        return _page(account, sent=True, error="Five codes were mailed within the hour. Wait a little."), 429
    with speaking(language_of(g.locale)):
        send_invitation(invitation, settings=context.settings(), template="confirmation")
    response = make_response(redirect(url_for(".ask", sent="1", next=_next()), code=303))
    auth.set_cookie(response, "browser", browser, days=BROWSER_DAYS)
    return response


@blueprint.post("")
@viewer_required
def confirm(account: Account) -> ResponseReturnValue:
    """Confirms the session by the mailed code, and leads back."""
    browser, own = auth.get_cookie("browser"), auth.get_cookie("session")
    code, confirmed = request.form.get("code", "")[:MAX_CODE_LENGTH], False
    if browser and own:
        with context.transaction() as connection:
            confirmed = accounts.confirm_by_code(
                connection, account_id=account.id, session=own, code=code, browser=browser
            )
    if not confirmed:
        security_log.record("confirmation_refused", account=account.id)
        return _page(account, sent=True, error="That code does not fit. It has eight digits and works once."), 422
    security_log.record("confirmed", account=account.id)
    if unconfirmed_act.kept(account) is not None:
        return redirect(url_for(".go_on"), code=303)
    flash("It is you. Do it again now; you are not asked for ten minutes.")
    return redirect(_next(), code=303)


@blueprint.get("/act")
@viewer_required
def go_on(account: Account) -> ResponseReturnValue:
    """The form of the act that was to be confirmed, as it was filled in."""
    act = unconfirmed_act.kept(account)
    if act is None:
        return redirect(url_for("admin.overview"), code=303)
    return render_template("operators/confirmed.html", act=act)


def _next() -> str:
    path = auth.local_path(request.values.get("next"))
    return path if path != "/" else url_for("admin.overview")


def _page(account: Account, *, sent: bool, error: str | None = None) -> str:
    act = unconfirmed_act.kept(account)
    return render_template(
        "operators/confirm.html",
        next=_next(),
        onward=url_for(".go_on") if act else _next(),
        act=act,
        email=account.email,
        sent=sent,
        error=error,
    )
