"""Signing in at the organisation's provider: a POST begins, the provider sends the browser back, a POST signs in.

The provider's redirect is a GET and changes nothing. The state of the sign-in is in this browser's signed cookie: a
code is refused if another browser began the sign-in.
"""

import hmac
import time
from dataclasses import asdict, dataclass

from flask import Blueprint, Response, abort, redirect, render_template, request, session, url_for
from flask.typing import ResponseReturnValue

from snoozer.people import organisation_sign_in, quotas
from snoozer.people.oidc.claims import Claims, OidcError
from snoozer.people.organisation_sign_in import SESSION_LIFETIME, NotSignedIn
from snoozer.telemetry import security_log
from snoozer.translations import N_
from snoozer.translations import gettext as _
from snoozer.web import auth, context
from snoozer.web.network import network_id
from snoozer.web.people.sign_in.session import signed_in

blueprint = Blueprint("organisation_sign_in", __name__, url_prefix="/sign-in/organisation")

# As registered at the provider.
CALLBACK = "/sign-in/organisation"
PENDING_SECONDS = 900
MAX_CODE_LENGTH = 4_000
MAX_STATE_LENGTH = 200

_KEY = "organisation_sign_in"

_SENTENCES = {
    "over": N_("This sign-in is over. It was begun in another browser, took too long, or was used already."),
    "denied": N_("Your organisation did not sign you in."),
    "away": N_("Your organisation’s sign-in does not answer. Try again in a minute."),
    "configuration": N_("Your organisation’s sign-in does not accept this Snoozer. An operator has to look at it."),
    "refused": N_("This sign-in is over. It was begun in another browser, took too long, or was used already."),
    "token": N_("What your organisation’s sign-in answered cannot be trusted, so there was no sign-in."),
    "no_address": N_("Your organisation names no verified mail address for you, and reminders need one."),
    "closed": N_("Your account here is closed. An operator of this Snoozer can open it."),
    "another_identity": N_(
        "The account with your mail address belongs to another person of your organisation. An operator of this "
        "Snoozer can change that."
    ),
    "not_you": N_("That was another account than the one you are signed in with."),
}


@dataclass(frozen=True, kw_only=True)
class Pending:
    """A sign-in that began in this browser. If it `confirms`, it only confirms the existing session."""

    state: str
    nonce: str
    verifier: str
    began: int
    confirms: bool


@blueprint.post("")
def begin() -> ResponseReturnValue:
    """Redirects to the provider; with the purpose "confirm", the provider asks for the credentials again."""
    provider, confirms = context.oidc_provider() or abort(404), request.form.get("purpose") == "confirm"
    if confirms and auth.current_account() is None:
        return auth.redirect_to_sign_in()
    with context.transaction() as connection:
        quotas.spend_sign_in(connection, context.settings().limits, network=network_id())
    try:
        begun = provider.begin(redirect_uri=_callback(), fresh=confirms)
    except OidcError as error:
        return _failed(error.code, str(error))
    pending = Pending(
        state=begun.state, nonce=begun.nonce, verifier=begun.verifier, began=int(time.time()), confirms=confirms
    )
    session[_KEY], session["onward"] = asdict(pending), auth.local_path(request.form.get("next"))
    response = Response(render_template("people/sign_in/leave.html", url=begun.url))
    # A redirect would not work: see web/mailboxes/connected/sign_in.py.
    response.headers["Refresh"] = f"0; url={begun.url}"
    return response


@blueprint.get("")
def come_back() -> ResponseReturnValue:
    """The provider's redirect, with a code or an error. Changes nothing, and does not ask the provider."""
    if context.oidc_provider() is None:
        abort(404)
    state, code = request.args.get("state", ""), request.args.get("code", "")
    pending = _pending(state)
    if pending is None or len(code) > MAX_CODE_LENGTH:
        return _failed("over")
    if not code:
        return _failed("denied")
    return render_template(
        "people/sign_in/organisation.html", code=code, state=state, error=None, confirms=pending.confirms
    )


@blueprint.post("/finish")
def finish() -> ResponseReturnValue:
    """Has the provider exchange the code, and signs the named person in, or confirms the session."""
    provider = context.oidc_provider() or abort(404)
    pending, code = _pending(request.form.get("state", "")), request.form.get("code", "")
    session.pop(_KEY, None)
    if pending is None or not 0 < len(code) <= MAX_CODE_LENGTH:
        return _failed("over")
    try:
        claims = provider.finish(
            code=code,
            verifier=pending.verifier,
            nonce=pending.nonce,
            redirect_uri=_callback(),
            fresh=pending.confirms,
        )
        return _confirmed(claims) if pending.confirms else _signed_in(claims)
    except OidcError as error:
        return _failed(error.code, str(error))
    except NotSignedIn as error:
        return _failed(error.why)


def _signed_in(claims: Claims) -> ResponseReturnValue:
    with context.transaction() as connection:
        token = organisation_sign_in.sign_in(
            connection, claims, roles=context.settings().oidc_roles, **auth.new_session()
        )
    return signed_in(token, lifetime=SESSION_LIFETIME)


def _confirmed(claims: Claims) -> ResponseReturnValue:
    account, own = auth.current_account(), auth.get_cookie("session")
    if account is None or own is None:
        return auth.redirect_to_sign_in()
    with context.transaction() as connection:
        confirmed = organisation_sign_in.confirm(connection, claims, account_id=account.id, session=own)
    if not confirmed:
        security_log.record("confirmation_refused", account=account.id)
        return _failed("not_you")
    security_log.record("confirmed", account=account.id)
    onward = auth.local_path(session.pop("onward", None))
    return redirect(onward if onward != "/" else url_for("admin.overview"), code=303)


def _pending(state: str) -> Pending | None:
    """The sign-in that this browser began with this state, at most a quarter of an hour ago."""
    kept = session.get(_KEY)
    if not isinstance(kept, dict) or not 0 < len(state) <= MAX_STATE_LENGTH:
        return None
    pending = Pending(**kept)
    known = hmac.compare_digest(pending.state.encode(), state.encode("utf-8", "surrogatepass"))
    return pending if known and 0 <= time.time() - pending.began < PENDING_SECONDS else None


def _callback() -> str:
    return context.settings().base_url + CALLBACK


def _failed(why: str, problem: str | None = None) -> ResponseReturnValue:
    """A page with the reason; the log has more details."""
    word = (problem or why).replace(" ", "_")
    security_log.record("organisation_sign_in_refused", why=word, network=network_id())
    page = render_template(
        "people/sign_in/organisation.html", code=None, state=None, error=_(_SENTENCES[why]), confirms=False
    )
    return page, {"away": 503, "closed": 403, "another_identity": 403, "no_address": 403}.get(why, 422)
