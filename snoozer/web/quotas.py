"""A quota that is reached: status 429 with Retry-After, a page or problem details; nothing of the request is saved."""

from datetime import timedelta

from flask import Flask, Response, g, make_response, render_template, request

from snoozer.people.quotas import QuotaReached
from snoozer.telemetry import security_log
from snoozer.timephrase.describe import span_in_words
from snoozer.translations import N_
from snoozer.translations import gettext as _
from snoozer.web.api import rate_limits
from snoozer.web.api.problems import Refused, response_of
from snoozer.web.network import network_id

TITLE = N_("That was a lot at once")


def init_app(app: Flask) -> None:
    app.register_error_handler(QuotaReached, _response)


def _response(reached: QuotaReached) -> Response:
    account = g.get("account")
    security_log.record(
        "quota_reached", quota=reached.name, account=account.id if account else None, network=network_id()
    )
    headers = {"Retry-After": str(reached.retry_after)}
    wait = span_in_words(timedelta(seconds=reached.retry_after), after=True)
    text = f"{reached} " + _("Nothing was saved. Try again in %(span)s.", span=wait)
    if request.path.startswith("/api/"):
        rate_limits.note([reached.standing])
        return response_of(Refused(429, "quota_reached", text, headers=headers, quota=reached.name))
    still = _("Everything that was saved before is still there; an operator of this Snoozer can raise the limit.")
    explanation = f"{text} {still}"
    return make_response(
        render_template("errors/error.html", code=429, title=_(TITLE), explanation=explanation), 429, headers
    )
