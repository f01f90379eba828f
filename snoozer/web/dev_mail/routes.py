"""What the mail sink of `snoozer up` received for the person who looks: the demo's other inbox."""

import re
from collections.abc import Iterator

from flask import Blueprint, abort, render_template, request
from flask.typing import ResponseReturnValue

from snoozer.db.models import Account
from snoozer.db.queries import messages as pages
from snoozer.mime import message_parser
from snoozer.mime.headers import decode_words, sanitize_line
from snoozer.mime.message_parser import MAX_READ_BYTES, split_head
from snoozer.web import context
from snoozer.web.auth import signed_in
from snoozer.web.forms import LARGEST_ROW

blueprint = Blueprint("sink", __name__, url_prefix="/sink")

LONGEST_SHOWN = 1_000
SHOWN_HEADERS = ("From", "To", "Subject", "Date", "Message-ID", "In-Reply-To")


@blueprint.before_request
def _only_where_there_is_one() -> None:
    if not context.settings().sink:
        abort(404)


@blueprint.get("")
@signed_in
def browse(account: Account) -> ResponseReturnValue:
    """The newest first."""
    before = request.args.get("before", type=int)
    if before is not None and not 0 < before <= LARGEST_ROW:
        abort(404)
    with context.transaction() as connection:
        rows, onward = pages.captured(connection, rcpt_to=account.email, before=before)
    mails = [(row, message_parser.parse(row.original)) for row in rows]
    return render_template("sink/list.html", mails=mails, onward=onward, first_page=before is None)


@blueprint.get("/<row:id>")
@signed_in
def show(account: Account, id: int) -> ResponseReturnValue:
    """One mail: its headers and its text, where only links to this Snoozer can be followed."""
    with context.transaction() as connection:
        row = pages.one_captured(connection, id=id, rcpt_to=account.email)
    if row is None:
        abort(404)
    letter = message_parser.parse(row.original)
    return render_template(
        "sink/show.html",
        row=row,
        letter=letter,
        headers=_headers(row.original),
        pieces=list(_pieces(letter.text, base_url=context.settings().base_url)),
    )


def _headers(message: bytes) -> list[tuple[str, str]]:
    head, _ = split_head(message[:MAX_READ_BYTES])
    found = [(name, head.first(name.lower())) for name in SHOWN_HEADERS]
    return [(name, sanitize_line(decode_words(value), limit=LONGEST_SHOWN)) for name, value in found if value]


def _pieces(text: str, *, base_url: str) -> Iterator[tuple[str, bool]]:
    """The text in order, cut so that each link to this Snoozer stands alone; True marks a link."""
    done = 0
    for found in re.finditer(re.escape(base_url) + r"/[^\s<>\"]*", text):
        yield text[done : found.start()], False
        yield found.group(), True
        done = found.end()
    yield text[done:], False
