"""Refusals and failures as pages: what happened, what it means, what to do."""

import logging
import time
import traceback
from dataclasses import dataclass

from flask import Flask, Response, g, make_response, render_template, request
from flask_wtf.csrf import CSRFError
from sqlalchemy.exc import DBAPIError, TimeoutError
from werkzeug.exceptions import HTTPException, InternalServerError, ServiceUnavailable

from snoozer.db.errors import error_text, is_transient
from snoozer.web import api, context

log = logging.getLogger("snoozer.web")

# A browser that is still sending when the answer comes shows a broken connection instead of the answer.
DRAIN_BYTES = 256 * 1024 * 1024
DRAIN_SECONDS = 30


@dataclass(frozen=True)
class Words:
    """The page for one status."""

    title: str
    means: str


WORDS = {
    400: Words("That request cannot be read", "Something in it is missing or broken. Go back and try it once more."),
    403: Words("This page is not for your account", "It needs another role. Ask whoever runs this Snoozer for it."),
    404: Words(
        "There is nothing at this address",
        "The link may be old, or the message belongs to another account. Your snoozes are where you left them.",
    ),
    405: Words("That cannot be done here", "This address takes other requests. Nothing was changed."),
    413: Words(
        "That message is too large",
        "Snoozer keeps messages of up to {largest} MB. Nothing was saved. "
        "You can still be reminded of it: fill in its subject by hand on the Add page.",
    ),
    500: Words(
        "Something broke on our side",
        "It was written to the log. What you did last was not saved; everything saved before is still there. "
        "Try it once more, and tell whoever runs this Snoozer if it happens again.",
    ),
    503: Words(
        "The database cannot be reached",
        "Nothing can be read or saved until it is back. Everything that was snoozed is kept, and its reminders go out "
        "as soon as the database answers. Try again in a minute.",
    ),
}
STALE_FORM = Words(
    "This form was open for too long",
    "It belongs to an earlier visit, so nothing was changed. Go back, reload the page and send it again.",
)


def init_app(app: Flask) -> None:
    app.register_error_handler(HTTPException, _refused)
    app.register_error_handler(DBAPIError, _database)
    app.register_error_handler(TimeoutError, _database)
    app.register_error_handler(Exception, _broken)


def _refused(error: HTTPException) -> Response:
    if error.response is not None and (error.code or 500) < 400:
        return error.response  # type: ignore[return-value]
    if error.code == 413:
        _drain()
    if request.path.startswith("/api/"):
        return api.problem_of(error)
    code = error.code or 500
    words = STALE_FORM if isinstance(error, CSRFError) else WORDS.get(code, WORDS[400 if code < 500 else 500])
    return page(code, words, error=error)


def _database(error: DBAPIError | TimeoutError) -> Response:
    if isinstance(error, DBAPIError) and not is_transient(error):
        return _broken(error)
    log.error("The database is away: %s", error_text(error))
    g.account = g.clock = None
    return _refused(ServiceUnavailable())


def _broken(error: Exception) -> Response:
    if isinstance(error, DBAPIError):
        # Its own words name rows: "Key (user_email, message_id)=(…) already exists".
        frames = "".join(traceback.format_tb(error.__traceback__))
        log.error("%s %s failed: %s\n%s", request.method, request.endpoint, error_text(error), frames)
    else:
        log.error("%s %s failed", request.method, request.endpoint, exc_info=error)
    return _refused(InternalServerError())


def page(code: int, words: Words, *, error: HTTPException | None = None) -> Response:
    """The designed page for a status."""
    means = words.means.format(largest=_largest_in_megabytes())
    response = make_response(render_template("errors/error.html", code=code, title=words.title, means=means), code)
    if error is not None and code == 405:
        response.headers["Allow"] = ", ".join(getattr(error, "valid_methods", None) or ())
    if code == 503:
        response.headers["Retry-After"] = "30"
    return response


def _largest_in_megabytes() -> int:
    return context.settings().largest_message // (1024 * 1024)


def _drain() -> None:
    """Take in the rest of what is too large and throw it away; of what has no end in sight, nothing."""
    stream, taken, until = request.environ["wsgi.input"], 0, time.monotonic() + DRAIN_SECONDS
    wanted = request.content_length or 0
    if wanted > DRAIN_BYTES:
        return
    while taken < wanted and time.monotonic() < until:
        chunk = stream.read(min(65_536, wanted - taken))
        if not chunk:
            break
        taken += len(chunk)
