"""Error pages: what happened, what it means, what to do. Failures are logged without the contents of rows or paths."""

import logging
import traceback

from flask import Flask, Response, g, make_response, render_template, request
from flask.globals import request_ctx
from flask_wtf.csrf import CSRFError
from sqlalchemy.exc import DBAPIError, TimeoutError
from werkzeug.exceptions import HTTPException, InternalServerError, ServiceUnavailable

from snoozer.db import schema
from snoozer.db.errors import error_text, is_of_schema, is_transient
from snoozer.translations import N_
from snoozer.translations import gettext as _
from snoozer.web import api, auth, body_limits, context
from snoozer.web.api.problems import OtherSchema

log = logging.getLogger("snoozer.web")

# The title and the explanation of each status.
TEXTS = {
    400: (N_("That request cannot be read"), N_("Something in it is missing or broken. Go back and try it once more.")),
    403: (
        N_("This page is not for your account"),
        N_("It needs another role. Ask an operator of this Snoozer for it."),
    ),
    404: (
        N_("There is nothing at this address"),
        N_("The link may be old, or the message belongs to another account. Your snoozes are where you left them."),
    ),
    405: (N_("That cannot be done here"), N_("This address takes other requests. Nothing was changed.")),
    413: (
        N_("That message is too large"),
        N_(
            "Snoozer keeps messages of up to %(largest)s MB. Nothing was saved. "
            "You can still be reminded of it: fill in its subject by hand on the Add page."
        ),
    ),
    421: (
        N_("This is not Snoozer's address"),
        N_(
            "This Snoozer is at %(base_url)s and under no other name, so nothing was done. That address is set by "
            "BASE_URL where it runs, and a proxy in front of it must pass the Host header on."
        ),
    ),
    500: (
        N_("Something broke on our side"),
        N_(
            "It was written to the log. What you did last was not saved; everything saved before is still there. "
            "Try it once more, and tell an operator of this Snoozer if it happens again."
        ),
    ),
    503: (
        N_("The database cannot be reached"),
        N_(
            "Nothing can be read or saved until it is back. Everything that was snoozed is kept, and its reminders go "
            "out as soon as the database answers. Try again in a minute."
        ),
    ),
}
# Pages without navigation: it would lead to the pages of a name that is not Snoozer's, or to a database that is away.
NO_ACCOUNT = frozenset({421, 503})
OTHER_SCHEMA_TEXT = (
    N_("Snoozer is being upgraded"),
    N_(
        "This page cannot be made until the upgrade has ended. What you did last was not saved; everything saved "
        "before is kept, and reminders go out. Try again in a minute."
    ),
)
FORM_TOO_LARGE_TEXT = (
    N_("That is too much at once"),
    N_("A form holds up to %(form)s kB. Nothing was saved. Go back, shorten what you typed, and send it again."),
)
CSRF_TEXT = (
    N_("This form was open for too long"),
    N_("It belongs to an earlier visit, so nothing was changed. Go back, reload the page and send it again."),
)


def init_app(app: Flask) -> None:
    app.register_error_handler(HTTPException, _handle_http_error)
    app.register_error_handler(DBAPIError, _handle_database_error)
    app.register_error_handler(TimeoutError, _handle_database_error)
    app.register_error_handler(Exception, _handle_exception)


def _handle_http_error(error: HTTPException) -> Response:
    if request.path.startswith("/api/"):
        return api.problem_of(error)
    code = error.code or 500
    known = TEXTS.get(code, TEXTS[400 if code < 500 else 500])
    if isinstance(error, CSRFError):
        known = CSRF_TEXT
    elif isinstance(error, OtherSchema):
        known = OTHER_SCHEMA_TEXT
    elif code == 413 and not body_limits.is_upload():
        known = FORM_TOO_LARGE_TEXT
    if code not in NO_ACCOUNT and request_ctx.url_adapter is not None:
        # First, because the page is in the language of the account.
        _look_up_account()
    title, explanation = known
    largest, form = context.settings().largest_message // (1024 * 1024), body_limits.MAX_BODY_BYTES // 1024
    title = _(title)
    explanation = _(explanation, largest=largest, form=form, base_url=context.settings().base_url)
    if request_ctx.url_adapter is None:
        # The Host header holds a name that none can be (RFC 1035, 2.3.4), so Flask makes no URLs, and a page has some.
        return Response(f"{title}. {explanation}\n", code, mimetype="text/plain")
    kept = _typed() if code == 503 else []
    page = render_template("errors/error.html", code=code, title=title, explanation=explanation, kept=kept)
    response = make_response(page, code)
    if code == 405:
        response.headers["Allow"] = ", ".join(getattr(error, "valid_methods", None) or ())
    if code == 503:
        response.headers["Retry-After"] = "30"
    return response


def _typed() -> list[tuple[str, str]]:
    """The fields of a form that could not be saved, to be sent again. Empty if one is a file or a password: no page
    holds those."""
    if request.method != "POST" or request.files or "password" in request.form:
        return []
    return list(request.form.items(multi=True))


def _look_up_account() -> None:
    """For the navigation of a person who is signed in; most errors come before a view has looked it up. An error
    page needs no database: without one it has no navigation."""
    try:
        auth.current_account()
    except (DBAPIError, TimeoutError) as error:
        log.error("The account of an error page is not known: %s", error_text(error))
        g.account = g.times = None


def _handle_database_error(error: DBAPIError | TimeoutError) -> Response:
    if isinstance(error, DBAPIError) and is_of_schema(error) and (sentence := _schema_problem()):
        log.error("%s %s needs another schema: %s; %s", request.method, request.endpoint, error_text(error), sentence)
        g.account = g.times = None
        return _handle_http_error(OtherSchema())
    if isinstance(error, DBAPIError) and not is_transient(error):
        return _handle_exception(error)
    log.error("The database is unavailable: %s", error_text(error))
    g.account = g.times = None
    return _handle_http_error(ServiceUnavailable())


def _schema_problem() -> str:
    """Why a statement may not fit the database's schema; empty if this release expects this schema."""
    try:
        with context.engine().connect() as connection:
            status = schema.status(connection)
    except (DBAPIError, TimeoutError) as error:
        return error_text(error)
    return "" if status.where == "at head" else status.message


def _handle_exception(error: Exception) -> Response:
    if isinstance(error, DBAPIError):
        # The message of the error names rows: "Key (user_email, message_id)=(…) already exists".
        frames = "".join(traceback.format_tb(error.__traceback__))
        log.error("%s %s failed: %s\n%s", request.method, request.endpoint, error_text(error), frames)
    else:
        log.error("%s %s failed", request.method, request.endpoint, exc_info=error)
    return _handle_http_error(InternalServerError())
