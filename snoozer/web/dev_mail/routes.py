"""The mail that `snoozer up` kept instead of sending it, for the signed-in person, at /sink: as a mail program shows
it, as text, and with its headers and source."""

import re
from collections.abc import Iterator

from flask import Blueprint, Response, abort, make_response, render_template, request
from flask.typing import ResponseReturnValue

from snoozer.db.models import Account
from snoozer.db.queries import Found
from snoozer.db.queries import messages as queries
from snoozer.mail import message_parser
from snoozer.mail.headers import decode_words, sanitize_line
from snoozer.mail.structure import MAX_READ_BYTES, split_head
from snoozer.web import context
from snoozer.web.auth import login_required
from snoozer.web.context import found_or_404
from snoozer.web.forms import MAX_ROW_ID
from snoozer.web.mailboxes.mail.untrusted_content import allow_frame, frame_problem, frame_response, original_response

blueprint = Blueprint("dev_mail", __name__, url_prefix="/sink")

MAX_HEADER_LENGTH = 1_000
MAX_SOURCE_LENGTH = 20_000
SHOWN_HEADERS = ("From", "To", "Subject", "Date", "Message-ID", "In-Reply-To", "References")
VIEWS = ("html", "text", "source")


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
    """One mail: `view` is html, text, in which only links to this site can be followed, or source."""
    row = _own(account, id=id)
    message, has_html = message_parser.parse(row.original), message_parser.parse_html(row.original) is not None
    view = request.args.get("view") or ("html" if has_html else "text")
    if view not in VIEWS or (view == "html" and not has_html):
        abort(404)
    page = make_response(
        render_template(
            "dev_mail/show.html",
            row=row,
            message=message,
            view=view,
            has_html=has_html,
            headers=_headers(row.original),
            pieces=list(_split_links(message.text, base_url=context.settings().base_url)),
            source=row.original[:MAX_SOURCE_LENGTH].decode("utf-8", "replace"),
            is_cut=len(row.original) > MAX_SOURCE_LENGTH,
        )
    )
    return allow_frame(page) if view == "html" else page


@blueprint.get("/<row:id>/html")
@login_required
def html(account: Account, id: int) -> Response:
    """The document of the frame."""
    document = message_parser.parse_html(_own(account, id=id).original)
    if document is None:
        return frame_problem("This mail has no HTML.", 404)
    return frame_response(document, pictures={}, account_id=account.id)


@blueprint.get("/<row:id>/original")
@login_required
def download(account: Account, id: int) -> Response:
    """The bytes as they were sent."""
    original = _own(account, id=id).original
    return original_response(original, subject=message_parser.parse_head(original).subject)


def _own(account: Account, *, id: int) -> Found:
    with context.transaction() as connection:
        return found_or_404(queries.one_captured(connection, id=id, rcpt_to=account.email))


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
