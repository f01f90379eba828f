"""CSRF protection: the token of forms, masked again in each response, so that pages can be sent compressed.

The size of a compressed page reveals which of its texts repeat. A constant token could be guessed letter by letter
(BREACH, CVE-2013-3587), with texts of a request or of a stranger's message as guesses.
"""

import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Collection

from flask import Blueprint, Flask, abort, g, request
from flask_wtf import CSRFProtect
from flask_wtf.csrf import generate_csrf

FIELD = "csrf_token"
HEADER = "X-CSRFToken"
MAX_LENGTH = 1_000

# Flask-WTF's name for the session key, and the name of a field that no form has.
_SESSION_KEY = "unmasked_csrf_token"
_ENVIRON_HEADER = "HTTP_X_CSRFTOKEN"


def init_app(app: Flask, *, exempt: Collection[Blueprint]) -> None:
    """Requires the token of every POST, except to blueprints whose URL or header is the credential."""
    # Pages send no Referer, so there is only the token; it lives as long as the browser's session. Flask-WTF reads it
    # only from its header, to which the unmasked token is written.
    app.config.update(WTF_CSRF_TIME_LIMIT=None, WTF_CSRF_SSL_STRICT=False, WTF_CSRF_FIELD_NAME=_SESSION_KEY)
    exempt_names = {None, *(blueprint.name for blueprint in exempt)}

    @app.before_request
    def unmask_token() -> None:
        if request.method != "POST" or request.blueprint in exempt_names:
            return
        # Flask-WTF fails on a multipart field without a name.
        if None in request.form or None in request.files:
            abort(400)
        request.environ[_ENVIRON_HEADER] = _unmasked(request.form.get(FIELD) or request.headers.get(HEADER, ""))

    protection = CSRFProtect(app)
    for blueprint in exempt:
        protection.exempt(blueprint)
    # Macros see the global, pages the values of context processors.
    app.jinja_env.globals["csrf_token"] = masked_token
    app.context_processor(lambda: {"csrf_token": masked_token})


def masked_token() -> str:
    """Returns the token for the forms of this response."""
    if "masked_csrf_token" not in g:
        g.masked_csrf_token = _masked(generate_csrf())
    return str(g.masked_csrf_token)


def _masked(token: str) -> str:
    plain = token.encode()
    mask = secrets.token_bytes(len(plain))
    return urlsafe_b64encode(mask + _xor(mask, plain)).decode()


def _unmasked(text: str) -> str:
    """The token; "" for a text that we did not mask."""
    try:
        content = urlsafe_b64decode(text[:MAX_LENGTH].encode())
        half, odd = divmod(len(content), 2)
        return "" if odd else _xor(content[:half], content[half:]).decode("ascii")
    except ValueError:
        return ""


def _xor(mask: bytes, content: bytes) -> bytes:
    return bytes(one ^ other for one, other in zip(mask, content, strict=True))
