"""Signing in by a mailed link or the code beside it; the answer never tells whether an account exists."""

import secrets
import time

from flask import Blueprint, abort, make_response, redirect, render_template, request, session, url_for
from flask.typing import ResponseReturnValue

from snoozer import accounts
from snoozer.domain.times.zones import canonical
from snoozer.postgres import people
from snoozer.web import current, known, post, toast, visitor

blueprint = Blueprint("sign_in", __name__)

BROWSER_DAYS = 1
LONGEST_TOKEN = 100
# Writing a sign-in down and starting its mail takes some milliseconds that an address without an account does not.
EVEN_SECONDS = 0.1


@blueprint.get("/sign-in")
def ask() -> ResponseReturnValue:
    """Where a person types their address."""
    if visitor.account() is not None:
        return redirect(visitor.local_path(request.args.get("next")), code=303)
    return render_template("sign_in/ask.html", email="", error=None, next=visitor.local_path(request.args.get("next")))


@blueprint.post("/sign-in")
def asked() -> ResponseReturnValue:
    """A link is on its way if the address has an account; the page that follows is the same if it has none."""
    email, onward = request.form.get("email", ""), visitor.local_path(request.form.get("next"))
    browser = visitor.cookie("browser") or secrets.token_urlsafe(32)
    even = time.monotonic() + EVEN_SECONDS
    try:
        with current.transaction() as connection:
            invitation = accounts.ask(connection, email=email, browser=browser, known=known.mark(accounts.fold(email)))
    except accounts.BadAddress as refused:
        return render_template("sign_in/ask.html", email=email, error=str(refused), next=onward), 422
    if invitation is not None:
        post.send_invitation(invitation, settings=current.settings())
    session["asked_for"] = accounts.fold(email)
    session["onward"] = onward
    response = make_response(redirect(url_for("sign_in.sent"), code=303))
    visitor.set_cookie(response, "browser", browser, days=BROWSER_DAYS)
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
    browser = visitor.cookie("browser")
    token = None
    if browser:
        with current.transaction() as connection:
            token = accounts.enter_code(connection, code=request.form.get("code", "")[:40], browser=browser)
    if token is None:
        error = "That code does not fit. It has eight digits, works for ten minutes, and a newer mail replaces it."
        return render_template("sign_in/sent.html", email=session.get("asked_for"), error=error), 422
    return _welcome(token)


@blueprint.get("/sign-in/<token>")
def look(token: str) -> ResponseReturnValue:
    """A button; following the link, or having it followed by a scanner, uses nothing up."""
    with current.transaction() as connection:
        worth = accounts.worth(connection, token=token[:LONGEST_TOKEN], browser=visitor.cookie("browser"))
    status = {"good": 200, "unknown": 404, "used": 410, "expired": 410, "other browser": 403}[worth]
    return render_template(
        "sign_in/link.html", worth=worth, token=token, signed_in=visitor.account() is not None
    ), status


@blueprint.post("/sign-in/<token>")
def enter(token: str) -> ResponseReturnValue:
    """Sign in, once."""
    with current.transaction() as connection:
        opened = accounts.enter(connection, token=token[:LONGEST_TOKEN], browser=visitor.cookie("browser"))
    if opened is None:
        return look(token)
    return _welcome(opened)


@blueprint.post("/sign-out")
def leave() -> ResponseReturnValue:
    """End this browser's session."""
    token = visitor.cookie("session")
    if token:
        with current.transaction() as connection:
            accounts.leave(connection, session=token)
    session.clear()
    toast.say("You are signed out.")
    response = make_response(redirect(url_for("sign_in.ask"), code=303))
    visitor.forget_cookie(response, "session")
    return response


def _welcome(token: str) -> ResponseReturnValue:
    with current.transaction() as connection:
        account = accounts.who(connection, session=token)
        if account is None:
            abort(403)
        zone = request.form.get("zone", "")
        if canonical(zone) == zone:
            people.first_zone(connection, id=account.id, zone=zone)
    onward = visitor.local_path(session.get("onward"))
    session.clear()
    response = make_response(redirect(onward, code=303))
    visitor.set_cookie(response, "session", token, days=accounts.SESSION_LIFETIME.days)
    visitor.forget_cookie(response, "browser")
    known.remember(response, email=account.email)
    return response
