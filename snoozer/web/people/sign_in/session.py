"""The end of each sign-in: the session's cookie, the browser's first language and zone, and the way onward."""

from datetime import timedelta

from flask import abort, make_response, redirect, request, session, url_for
from flask.typing import ResponseReturnValue

from snoozer.db.accounts import set_first_locale, set_first_zone
from snoozer.people import accounts
from snoozer.telemetry import security_log
from snoozer.timephrase.zones import canonical
from snoozer.web import auth, context, language
from snoozer.web.network import network_id


def signed_in(token: str, *, lifetime: timedelta = accounts.SESSION_LIFETIME) -> ResponseReturnValue:
    """Leads the browser of a new session onward."""
    with context.transaction() as connection:
        account = accounts.session_account(connection, session=token)
        if account is None:
            abort(403)
        locale = language.requested()
        if locale is not None:
            set_first_locale(connection, id=account.id, locale=locale)
        zone = request.form.get("zone", "")
        if canonical(zone) == zone:
            set_first_zone(connection, id=account.id, zone=zone)
    security_log.record("signed_in", account=account.id, network=network_id())
    onward = auth.local_path(session.get("onward"))
    response = make_response(redirect(url_for("mailbox.browse") if onward == "/" else onward, code=303))
    kept = session.get(auth.KEPT_ACT)
    session.clear()
    if kept is not None and kept["account"] == account.id:
        session[auth.KEPT_ACT] = kept
    auth.set_cookie(response, "session", token, days=lifetime.days)
    auth.delete_cookie(response, "browser")
    auth.trust_browser(response, email=account.email, forgotten=account.browsers_forgotten)
    return response
