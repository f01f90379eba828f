"""What all forms and lists share: CSRF protection, row ids and page cursors in URLs, one-line fields."""

from collections.abc import Collection

from flask import Blueprint, Flask, abort, redirect, request
from flask.typing import ResponseReturnValue
from flask_wtf import CSRFProtect
from werkzeug.routing import IntegerConverter

from snoozer.db.queries import Cursor, InvalidCursor
from snoozer.web.auth import local_path

MAX_ROW_ID = 2**63 - 1


def _pattern_up_to(most: int) -> str:
    """Returns a regular expression of the numbers from 1 to `most`, without leading zeros."""
    digits = str(most)
    shorter = f"[1-9][0-9]{{0,{len(digits) - 2}}}"
    smaller = [
        f"{digits[:at]}[{0 if at else 1}-{int(digit) - 1}][0-9]{{{len(digits) - at - 1}}}"
        for at, digit in enumerate(digits)
        if int(digit) > (0 if at else 1)
    ]
    return "|".join([digits, *smaller, shorter])


class RowIdConverter(IntegerConverter):
    """A row's id in a path, limited to what a bigint holds; other numbers match no route. By its expression and not by
    `max`: werkzeug answers 405 where another method's route has the shape of the path."""

    regex = _pattern_up_to(MAX_ROW_ID)


def init_app(app: Flask, *, exempt: Collection[Blueprint]) -> None:
    """Requires the CSRF token of every POST, except to blueprints whose URL or header is the credential."""
    app.url_map.converters["row"] = RowIdConverter
    # Pages send no Referer, so there is the token alone; it lives as long as the browser's session.
    app.config.update(WTF_CSRF_TIME_LIMIT=None, WTF_CSRF_SSL_STRICT=False)
    exempt_names = {None, *(blueprint.name for blueprint in exempt)}

    @app.before_request
    def refuse_parts_without_a_name() -> None:
        # Flask-WTF fails on a multipart field without a name.
        protected = request.method == "POST" and request.blueprint not in exempt_names
        if protected and (None in request.form or None in request.files):
            abort(400)

    protection = CSRFProtect(app)
    for blueprint in exempt:
        protection.exempt(blueprint)


def back(default: str) -> ResponseReturnValue:
    """Redirects to the page that the form was on, which its field `here` names, and to `default` without one."""
    here = request.form.get("here")
    return redirect(here if here and local_path(here) == here else default, code=303)


def page_cursor(name: str) -> Cursor | None:
    """Returns the cursor in the query parameter `name`, None without one; 404 for one that does not parse."""
    text = request.args.get(name)
    try:
        return Cursor.parse(text) if text else None
    except InvalidCursor:
        abort(404)


def one_line(text: str | None, *, max_length: int) -> str | None:
    """Returns a form's field as one line without control characters; None when nothing is left."""
    printable = "".join(char if char.isprintable() else " " for char in text or "")
    return " ".join(printable.split())[:max_length] or None
