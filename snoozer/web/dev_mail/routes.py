"""The mail that the mail sink of `snoozer up` captured for the signed-in person, at /sink."""

import re
from collections.abc import Iterator

from flask import Blueprint, abort, render_template, request
from flask.typing import ResponseReturnValue

from snoozer.db.models import Account
from snoozer.db.queries import messages as queries
from snoozer.mime import message_parser
from snoozer.mime.headers import decode_words, sanitize_line
from snoozer.mime.structure import MAX_READ_BYTES, split_head
from snoozer.web import context
from snoozer.web.auth import login_required
from snoozer.web.context import found_or_404
from snoozer.web.forms import MAX_ROW_ID

blueprint = Blueprint("dev_mail", __name__, url_prefix="/sink")

MAX_HEADER_LENGTH = 1_000
SHOWN_HEADERS = ("From", "To", "Subject", "Date", "Message-ID", "In-Reply-To")


@blueprint.before_request
def _require_sink() -> None:
    if not context.settings().sink:
        abort(404)


@blueprint.get("")
@login_required
def browse(account: Account) -> ResponseReturnValue:
    """Newest first."""
    before = request.args.get("before", type=int)
    if before is not None and not 0 < before <= MAX_ROW_ID:
        abort(404)
    with context.transaction() as connection:
        rows, next_id = queries.captured(connection, rcpt_to=account.email, before=before)
    mails = [(row, message_parser.parse(row.original)) for row in rows]
    return render_template("dev_mail/list.html", mails=mails, next_id=next_id)


@blueprint.get("/<row:id>")
@login_required
def show(account: Account, id: int) -> ResponseReturnValue:
    """One mail: its headers, and its text in which only links to this site can be followed."""
    with context.transaction() as connection:
        row = found_or_404(queries.one_captured(connection, id=id, rcpt_to=account.email))
    message = message_parser.parse(row.original)
    return render_template(
        "dev_mail/show.html",
        row=row,
        message=message,
        headers=_headers(row.original),
        pieces=list(_split_links(message.text, base_url=context.settings().base_url)),
    )


def _headers(message: bytes) -> list[tuple[str, str]]:
    head, _ = split_head(message[:MAX_READ_BYTES])
    found = [(name, head.first(name.lower())) for name in SHOWN_HEADERS]
    return [(name, sanitize_line(decode_words(value), limit=MAX_HEADER_LENGTH)) for name, value in found if value]


def _split_links(text: str, *, base_url: str) -> Iterator[tuple[str, bool]]:
    """Yields the text in pieces with whether each is a link to this site."""
    end = 0
    for link in re.finditer(re.escape(base_url) + r"/[^\s<>\"]*", text):
        yield text[end : link.start()], False
        yield link.group(), True
        end = link.end()
    yield text[end:], False
