"""Signing in by a mailed link or the code beside it; the answer never tells whether an account exists."""

import secrets
import time

from flask import Blueprint, abort, make_response, redirect, render_template, request, session, url_for
from flask.typing import ResponseReturnValue

from snoozer import accounts
from snoozer.db import accounts as people
from snoozer.timephrase.zones import canonical
from snoozer.web import auth, context, flash, trusted_browser
from snoozer.web.sign_in import mail

blueprint = Blueprint("sign_in", __name__)

BROWSER_DAYS = 1
LONGEST_TOKEN = 100
# Writing a sign-in down and starting its mail takes some milliseconds that an address without an account does not.
EVEN_SECONDS = 0.1


@blueprint.get("/sign-in")
def ask() -> ResponseReturnValue:
    """Where a person types their address."""
    if auth.account() is not None:
        return redirect(auth.local_path(request.args.get("next")), code=303)
    return render_template("sign_in/ask.html", email="", error=None, next=auth.local_path(request.args.get("next")))


@blueprint.post("/sign-in")
def asked() -> ResponseReturnValue:
    """A link is on its way if the address has an account; the page that follows is the same if it has none."""
    email, onward = request.form.get("email", ""), auth.local_path(request.form.get("next"))
    browser = auth.cookie("browser") or secrets.token_urlsafe(32)
    even = time.monotonic() + EVEN_SECONDS
    try:
        with context.transaction() as connection:
            invitation = accounts.request_sign_in(
                connection, email=email, browser=browser, known=trusted_browser.mark(accounts.normalize(email))
            )
    except accounts.InvalidAddress as refused:
        return render_template("sign_in/ask.html", email=email, error=str(refused), next=onward), 422
    if invitation is not None:
        mail.send_invitation(invitation, settings=context.settings())
    session["asked_for"] = accounts.normalize(email)
    session["onward"] = onward
    response = make_response(redirect(url_for("sign_in.sent"), code=303))
    auth.set_cookie(response, "browser", browser, days=BROWSER_DAYS)
    time.sleep(max(0.0, even - time.monotonic()))
    return response


@blueprint.get("/sign-in/code")
def sent() -> ResponseReturnValue:
    """What to do now that the mail is on its way."""
    if "asked_for" not in session:
        return redirect(url_for("sign_in.ask"), code=303)
    return render_template("sign_in/sent.html", email=session["asked_for"], error=None)


@blueprint.post("/sign-in/code")
def code() -> ResponseReturnValue:
    """The typed code, in the browser that asked."""
    browser = auth.cookie("browser")
    token = None
    if browser:
        with context.transaction() as connection:
            token = accounts.sign_in_by_code(connection, code=request.form.get("code", "")[:40], browser=browser)
    if token is None:
        error = "That code does not fit. It has eight digits, works for ten minutes, and a newer mail replaces it."
        return render_template("sign_in/sent.html", email=session.get("asked_for"), error=error), 422
    return _welcome(token)


@blueprint.get("/sign-in/<token>")
def look(token: str) -> ResponseReturnValue:
    """A button; following the link, or having it followed by a scanner, uses nothing up."""
    with context.transaction() as connection:
        worth = accounts.link_state(connection, token=token[:LONGEST_TOKEN], browser=auth.cookie("browser"))
    status = {"good": 200, "unknown": 404, "used": 410, "expired": 410, "other browser": 403}[worth]
    return render_template("sign_in/link.html", worth=worth, token=token, signed_in=auth.account() is not None), status


@blueprint.post("/sign-in/<token>")
def enter(token: str) -> ResponseReturnValue:
    """Sign in, once."""
    with context.transaction() as connection:
        opened = accounts.sign_in_by_link(connection, token=token[:LONGEST_TOKEN], browser=auth.cookie("browser"))
    if opened is None:
        return look(token)
    return _welcome(opened)


@blueprint.post("/sign-out")
def leave() -> ResponseReturnValue:
    """End this browser's session."""
    token = auth.cookie("session")
    if token:
        with context.transaction() as connection:
            accounts.sign_out(connection, session=token)
    session.clear()
    flash.say("You are signed out.")
    response = make_response(redirect(url_for("sign_in.ask"), code=303))
    auth.forget_cookie(response, "session")
    return response


def _welcome(token: str) -> ResponseReturnValue:
    with context.transaction() as connection:
        account = accounts.session_account(connection, session=token)
        if account is None:
            abort(403)
        zone = request.form.get("zone", "")
        if canonical(zone) == zone:
            people.set_first_zone(connection, id=account.id, zone=zone)
    onward = auth.local_path(session.get("onward"))
    session.clear()
    response = make_response(redirect(onward, code=303))
    auth.set_cookie(response, "session", token, days=accounts.SESSION_LIFETIME.days)
    auth.forget_cookie(response, "browser")
    trusted_browser.remember(response, email=account.email)
    return response
