"""Shared parts of all forms and lists: row ids and page cursors in URLs, one-line fields."""

from flask import Flask, abort, redirect, request
from flask.typing import ResponseReturnValue
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
    """A row's id in a path, limited to the range of a bigint; other numbers match no route. Uses an expression, not
    `max`: werkzeug answers 405 if another method's route has the shape of the path."""

    regex = _pattern_up_to(MAX_ROW_ID)


def init_app(app: Flask) -> None:
    app.url_map.converters["row"] = RowIdConverter


def back(default: str) -> ResponseReturnValue:
    """Redirects to the form's page, which its field `here` names, or to `default`."""
    here = request.form.get("here")
    return redirect(here if here and local_path(here) == here else default, code=303)


def page_cursor(name: str) -> Cursor | None:
    """Returns the cursor in the query parameter `name`, None if missing; 404 if it does not parse."""
    text = request.args.get(name)
    try:
        return Cursor.parse(text) if text else None
    except InvalidCursor:
        abort(404)


def row_number(text: str) -> int | None:
    """Returns the id of a row that a field holds; None for anything else."""
    is_number = text.isascii() and text.isdigit() and len(text) < 20
    return int(text) if is_number and 0 < int(text) <= MAX_ROW_ID else None


def one_line(text: str | None, *, max_length: int) -> str | None:
    """Returns a form's field as one line without control characters; None when nothing is left."""
    printable = "".join(char if char.isprintable() else " " for char in text or "")
    return " ".join(printable.split())[:max_length] or None
