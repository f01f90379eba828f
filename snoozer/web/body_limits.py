"""Limits the size of a request's body, by its route; a larger body is refused before it is parsed.

Werkzeug's own limits of fields and parts do not apply to urlencoded bodies, and a chunked body ends at the limit
without an error.
"""

from io import BytesIO

from flask import Flask, request
from flask.typing import ResponseReturnValue
from sqlalchemy.exc import DBAPIError, TimeoutError
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

from snoozer.people import api_tokens
from snoozer.web import auth, context
from snoozer.web.api.auth import bearer_token
from snoozer.web.front import BodyLimits, Environ

MAX_BODY_BYTES = 64 * 1024
# Each field costs some microseconds. Our longest form has a field for each of 500 cases.
MAX_FIELDS = 1_000
MAX_PARTS = 100

# Werkzeug reads multipart bodies in pieces of this size, and also counts the rest of the previous piece as memory.
MULTIPART_READ_BYTES = 64 * 1024

# Five hundred snoozes in one request of a program, each of two kB.
MAX_BULK_BYTES = 1024 * 1024

BULK = frozenset({"api.change_many"})
UPLOADS = frozenset({"personal_data.read_file", "mailbox.add_files"})


def init_app(app: Flask) -> None:
    app.config.update(MAX_CONTENT_LENGTH=MAX_BODY_BYTES, MAX_FORM_MEMORY_SIZE=MAX_BODY_BYTES, MAX_FORM_PARTS=MAX_PARTS)
    app.before_request(_limit_body)


def for_front(app: Flask) -> BodyLimits:
    """Returns the limits that the front applies while a body arrives."""

    def is_upload(method: str, path: str) -> bool:
        try:
            endpoint, _ = app.url_map.bind("").match(path, method)
        except HTTPException:
            return False
        return endpoint in UPLOADS | BULK

    def upload_limit(environ: Environ) -> tuple[int, str]:
        with app.request_context({**environ, "wsgi.input": BytesIO(), "CONTENT_LENGTH": "0"}):
            try:
                if request.endpoint in BULK:
                    owner, most = _token_owner(), MAX_BULK_BYTES
                else:
                    account = auth.current_account()
                    owner, most = None if account is None else account.id, _max_upload_bytes()
            except (DBAPIError, TimeoutError):
                owner = None
        return (MAX_BODY_BYTES, "") if owner is None else (most, str(owner))

    return BodyLimits(usual=MAX_BODY_BYTES, is_upload=is_upload, upload=upload_limit)


def is_upload() -> bool:
    """Whether this request's route takes messages."""
    return request.endpoint in UPLOADS


def _limit_body() -> ResponseReturnValue | None:
    if request.method == "POST" and auth.requires_account(request.endpoint) and auth.current_account() is None:
        return auth.redirect_to_sign_in()
    limit = MAX_BULK_BYTES if request.endpoint in BULK else MAX_BODY_BYTES
    if is_upload():
        limit = _max_upload_bytes()
        request.max_form_memory_size = 2 * MULTIPART_READ_BYTES + MAX_BODY_BYTES
    request.max_content_length = limit
    if request.content_length is None and request.environ.get("wsgi.input_terminated"):
        _gather_chunks(limit)
    if (request.content_length or 0) > limit:
        raise RequestEntityTooLarge
    if request.mimetype == "application/x-www-form-urlencoded" and request.get_data().count(b"&") >= MAX_FIELDS:
        raise RequestEntityTooLarge
    return None


def _token_owner() -> int | None:
    """The account of this request's token, if that is valid."""
    token = bearer_token()
    if not token:
        return None
    try:
        with context.transaction() as connection:
            found = api_tokens.find(connection, secret=token)
    except api_tokens.TokenExpired:
        return None
    return None if found is None else found.account.id


def _max_upload_bytes() -> int:
    """The size of a message, plus the form's other fields and the multipart boundaries."""
    return context.settings().largest_message + MAX_BODY_BYTES


def _gather_chunks(limit: int) -> None:
    """Reads a chunked body whole, so that it has a length. Only servers other than ours need this."""
    body = request.environ["wsgi.input"].read(limit + 1)
    request.environ["wsgi.input"] = BytesIO(body)
    request.environ["CONTENT_LENGTH"] = str(len(body))
