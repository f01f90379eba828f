"""What all forms share: a token against posts from elsewhere, and numbers that fit the database."""

from collections.abc import Collection

from flask import Blueprint, Flask, abort, request
from flask_wtf import CSRFProtect
from werkzeug.routing import IntegerConverter, Map

LARGEST_ROW = 2**63 - 1


class RowNumber(IntegerConverter):
    """A row's number in a path; one that no row can have is no path."""

    def __init__(self, map: Map) -> None:
        super().__init__(map, min=1, max=LARGEST_ROW)


def init_app(app: Flask, *, exempt: Collection[Blueprint]) -> None:
    """Every POST needs the form's token, except where the address itself is the proof."""
    # The page sends no referrer, so the token alone must do; it lives as long as the browser's session.
    app.config.update(WTF_CSRF_TIME_LIMIT=None, WTF_CSRF_SSL_STRICT=False)
    unguarded = {None, *(blueprint.name for blueprint in exempt)}

    @app.before_request
    def refuse_parts_without_a_name() -> None:
        # What looks for the token takes every part to have a name.
        guarded = request.method == "POST" and request.blueprint not in unguarded
        if guarded and (None in request.form or None in request.files):
            abort(400)

    protection = CSRFProtect(app)
    for blueprint in exempt:
        protection.exempt(blueprint)


def one_line(text: str | None, *, longest: int) -> str | None:
    """A form's field as one line without control characters; None when nothing is left."""
    shown = "".join(char if char.isprintable() else " " for char in text or "")
    return " ".join(shown.split())[:longest] or None
