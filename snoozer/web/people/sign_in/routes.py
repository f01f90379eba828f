"""Signing in by a mailed link or the code next to it. No response reveals whether an account exists."""

import secrets
import time

from flask import Blueprint, abort, make_response, redirect, render_template, request, session, url_for
from flask.typing import ResponseReturnValue

from snoozer.mail.headers import MAX_ADDRESS_LENGTH
from snoozer.people import accounts, quotas
from snoozer.telemetry import security_log
from snoozer.translations import gettext as _
from snoozer.web import auth, context, language
from snoozer.web.network import network_id
from snoozer.web.people.sign_in.mailing import send_invitation
from snoozer.web.people.sign_in.session import signed_in

blueprint = Blueprint("sign_in", __name__)

BROWSER_DAYS = 1
MAX_TOKEN_LENGTH = 100
# Creating a sign-in takes some milliseconds that an address without an account does not; both take this long.
RESPONSE_SECONDS = 0.1


@blueprint.get("/sign-in")
def request_page() -> ResponseReturnValue:
    """The field for the mail address, which a front door fills in; redirects people who are already signed in."""
    next_path = auth.local_path(request.args.get("next"))
    if auth.current_account() is not None:
        return redirect(next_path, code=303)
    return _ask(request.args.get("email", "")[:MAX_ADDRESS_LENGTH], next_path=next_path)


@blueprint.post("/sign-in")
def request_link() -> ResponseReturnValue:
    """Mails a link if the address has an account; the response is the same, and as fast, if it has none."""
    _need_mail_sign_in()
    email, next_path = request.form.get("email", ""), auth.local_path(request.form.get("next"))
    browser = auth.get_cookie("browser") or secrets.token_urlsafe(32)
    deadline = time.monotonic() + RESPONSE_SECONDS
    try:
        with context.transaction() as connection:
            forgotten = accounts.browsers_forgotten(connection, email=email)
            known = auth.trusted_browser(accounts.normalize(email), forgotten=forgotten)
            # Strangers behind the same proxy must not lock out browsers that signed in before.
            if known is None:
                quotas.spend_sign_in(connection, context.settings().limits, network=network_id())
            invitation = accounts.request_sign_in(connection, email=email, browser=browser, known=known)
    except accounts.InvalidAddress as error:
        return _ask(email, next_path=next_path, error=str(error)), 422
    asked_for = None if invitation is None else invitation.account_id
    security_log.record("sign_in_asked", account=asked_for, network=network_id())
    if invitation is not None:
        send_invitation(invitation, settings=context.settings())
    session["asked_for"] = accounts.normalize(email)
    session["onward"] = next_path
    response = make_response(redirect(url_for("sign_in.code_page"), code=303))
    auth.set_cookie(response, "browser", browser, days=BROWSER_DAYS)
    time.sleep(max(0.0, deadline - time.monotonic()))
    return response


@blueprint.get("/sign-in/code")
def code_page() -> ResponseReturnValue:
    """The page with instructions and the field for the code in the mail."""
    _need_mail_sign_in()
    if "asked_for" not in session:
        return redirect(url_for("sign_in.request_page"), code=303)
    return render_template("people/sign_in/code.html", email=session["asked_for"], error=None)


@blueprint.post("/sign-in/code")
def use_code() -> ResponseReturnValue:
    """Signs in with the code, only in the browser that requested it."""
    _need_mail_sign_in()
    browser = auth.get_cookie("browser")
    code, token = request.form.get("code", "")[:40], None
    if browser:
        with context.transaction() as connection:
            token = accounts.sign_in_by_code(connection, code=code, browser=browser, **auth.new_session())
    if token is None:
        security_log.record("code_refused", network=network_id())
        error = _("That code does not fit. It has eight digits, works for ten minutes, and a newer mail replaces it.")
        return render_template("people/sign_in/code.html", email=session.get("asked_for"), error=error), 422
    return signed_in(token)


@blueprint.get("/sign-in/<token>")
def link_page(token: str) -> ResponseReturnValue:
    """Shows a button: opening the link, which mail scanners do too, does not use it up."""
    with context.transaction() as connection:
        state = accounts.link_state(connection, token=token[:MAX_TOKEN_LENGTH], browser=auth.get_cookie("browser"))
    status = {"good": 200, "unknown": 404, "used": 410, "expired": 410, "other browser": 403}[state]
    signed_in = auth.current_account() is not None
    return render_template("people/sign_in/link.html", state=state, token=token, signed_in=signed_in), status


@blueprint.post("/sign-in/<token>")
def use_link(token: str) -> ResponseReturnValue:
    """Signs in, once."""
    browser = auth.get_cookie("browser")
    with context.transaction() as connection:
        session_token = accounts.sign_in_by_link(
            connection, token=token[:MAX_TOKEN_LENGTH], browser=browser, **auth.new_session()
        )
        state = accounts.link_state(connection, token=token[:MAX_TOKEN_LENGTH], browser=browser)
    if session_token is None:
        security_log.record("link_refused", link=state.replace(" ", "_"), network=network_id())
        return link_page(token)
    return signed_in(session_token)


@blueprint.post("/sign-out")
def sign_out() -> ResponseReturnValue:
    """Ends this browser's session."""
    token = auth.get_cookie("session")
    account = auth.current_account()
    if token:
        with context.transaction() as connection:
            accounts.sign_out(connection, session=token)
    if account is not None:
        security_log.record("signed_out", account=account.id)
    session.clear()
    # The message stands on the page of a stranger.
    language.use_requested()
    context.flash(_("You are signed out."))
    response = make_response(redirect(url_for("sign_in.request_page"), code=303))
    auth.delete_cookie(response, "session")
    return response


def _ask(email: str, *, next_path: str, error: str | None = None) -> str:
    return render_template(
        "people/sign_in/request.html",
        email=email,
        error=error,
        next=next_path,
        front_door_url=context.settings().front_door_url,
    )


def _need_mail_sign_in() -> None:
    """404 if mailed links are switched off. A link printed on the console still signs in."""
    if context.settings().mail_sign_in == "off":
        abort(404)
