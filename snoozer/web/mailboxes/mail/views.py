"""The pages of a mailbox, whether Snoozer keeps it or reads it at its server: a folder, one message, its files."""

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from flask import Response, make_response, redirect, render_template, request
from flask.typing import ResponseReturnValue

from snoozer.db.models import Account
from snoozer.db.queries import Found, snoozes
from snoozer.db.queries import mailboxes as connected_mailboxes
from snoozer.db.queries.returned import Return, last_returns
from snoozer.mail import message_parser
from snoozer.mail.html_sanitizer import MAX_HTML
from snoozer.mailboxes.read.keys import NO_FOLDER, MessageKey
from snoozer.mailboxes.read.mailbox import Attachment, FolderView, Mailbox, MailboxError, Page, Row
from snoozer.snoozes import acts
from snoozer.snoozes.input import SnoozeError
from snoozer.translations import gettext
from snoozer.translations import gettext as _
from snoozer.web import context
from snoozer.web.auth import saved_times, time_formatter
from snoozer.web.context import flash
from snoozer.web.forms import back, one_line
from snoozer.web.mailboxes.mail.pages import FolderChoice, MailboxPages, folder_choices, group_rows, switch
from snoozer.web.mailboxes.mail.untrusted_content import (
    PICTURES_SECONDS,
    allow_frame,
    file_response,
    frame_problem,
    frame_response,
    original_response,
    pictures_of,
)
from snoozer.web.snoozes.bulk.acts import of_folder
from snoozer.web.snoozes.forms import SnoozeForm, Submitted, refused, snooze_form
from snoozer.web.snoozes.page import flash_done
from snoozer.web.text.phrase_text import asleep_until_text
from snoozer.web.text.version import version_of

MAX_SEARCH = 200
_STATUSES = {"gone": 404, "no_folder": 404}


class Opened(NamedTuple):
    """A mailbox that its owner has opened, and the URLs of its pages."""

    account: Account
    mailbox: Mailbox
    pages: MailboxPages


def browse(at: Opened) -> ResponseReturnValue:
    """One folder, or the results of a search in it, the newest first."""
    folder, after = request.args.get("folder") or None, request.args.get("after") or None
    search = one_line(request.args.get("q"), max_length=MAX_SEARCH)
    folders = at.mailbox.folders()
    choices = folder_choices(folders, current=folder, counts_all=at.pages.is_kept)
    if not choices:
        raise MailboxError("no_folder", gettext(NO_FOLDER))
    page = at.mailbox.page(folder, after=after, search=search, threads=search is None)
    here = next((choice for choice in choices if choice.is_current), choices[0])
    times, acts = time_formatter(), of_folder(at.pages, here)
    with context.transaction() as connection:
        boxes = switch(connected_mailboxes.connected(connection, account_id=at.account.id))
        ids = [row.message_id for row in page.rows if row.message_id is not None]
        unsent = snoozes.unsent(connection, user_email=at.account.email, message_ids=ids)
        returns = last_returns(connection, user_email=at.account.email, message_ids=_back(page.rows))
        is_new = bool(page.rows) and not snoozes.any_yet(connection, user_email=at.account.email)
    page_of_list = render_template(
        "mailboxes/mail/list.html",
        box=at.pages,
        boxes=boxes,
        folders=choices,
        here=here,
        groups=group_rows(page.rows, times, role=here.role if search is None else "other"),
        returns=returns,
        total=page.total,
        bound=page.bound,
        older=at.pages.url("browse", folder=here.key, q=search, after=page.next) if page.next else None,
        newest=at.pages.url("browse", folder=here.key, q=search) if after else None,
        search=search,
        totals={view.role: view.total for view in folders},
        unsent=unsent,
        is_new=is_new,
        bulk_acts=acts,
        bulk_sheet=next((act.action for act in acts if act.name == "snooze"), None),
        count_of_all=_count_of_all(page, folders, here) if search is None else page.total,
        form=snooze_form(times, saved_times=saved_times()),
    )
    # A message opens next to its list.
    return allow_frame(make_response(page_of_list))


def _count_of_all(page: Page, folders: Sequence[FolderView], here: FolderChoice) -> int | None:
    return page.total if page.total is not None else next((one.total for one in folders if one.role == here.role), None)


def show(at: Opened, key: str) -> ResponseReturnValue:
    """One message: as text, or with `view=html` as its sender laid it out."""
    message = at.mailbox.message(key)
    has_html = message.html is not None and len(message.html) <= MAX_HTML
    as_html = has_html and request.args.get("view") == "html"
    asleep, unsent = _snoozes(at.account, message.row)
    page = render_template(
        "mailboxes/mail/show.html",
        box=at.pages,
        row=message.row,
        role=message.role,
        folder=None if message.role == "inbox" else message.folder,
        message=message.parsed,
        attachments=message.attachments,
        has_html=has_html,
        as_html=as_html,
        thread=message.thread,
        whole=_newest_of([message.row, *message.thread]) if message.thread else None,
        asleep=asleep,
        unsent=unsent,
        returned=_last_return(at.account, message.row),
        form=snooze_form(time_formatter(), saved_times=saved_times()),
    )
    response = make_response(page)
    return allow_frame(response) if as_html else response


def html(at: Opened, key: str) -> Response:
    """The document of the frame, sanitised, with the pictures that are in the message."""
    try:
        message = at.mailbox.message(key)
    except MailboxError as error:
        return frame_problem(error.sentence, status_of(error))
    if message.html is None:
        return frame_problem(_("This message has no HTML."), 404)
    if len(message.html) > MAX_HTML:
        return frame_problem(_("The HTML of this message is too long to be shown. Its page has the text."), 404)

    def read(part: Attachment) -> bytes:
        try:
            return at.mailbox.attachment(key, part.part, seconds=PICTURES_SECONDS)[1]
        except MailboxError:
            # Its alternative text is shown.
            return b""

    pictures = pictures_of(message.html, message.attachments, read=read)
    return frame_response(message.html, pictures=pictures, account_id=at.account.id)


def download(at: Opened, key: str) -> Response:
    """The original bytes, as a file that no browser opens by itself."""
    original = at.mailbox.original(key)
    return original_response(original, subject=message_parser.parse_head(original).subject)


def attachment(at: Opened, key: str, part: str) -> Response:
    """An attachment, as a file."""
    found, content = at.mailbox.attachment(key, part)
    return file_response(content, name=found.name)


def snooze_page(
    at: Opened, key: str, *, form: SnoozeForm | None = None, error: SnoozeError | None = None
) -> ResponseReturnValue:
    """The snooze form as a separate page: the posted `form` if it needs correction or confirmation. With an `error`,
    the form as posted."""
    row, whole = at.mailbox.row(key), request.args.get("whole")
    asleep, _ = _snoozes(at.account, row)
    # A form to be confirmed still contains the state that its owner saw first.
    version = request.form.get("version", "") if form else version_of(asleep) if asleep else ""
    form = refused(request.form, asleep, error) if error else form
    shown = form or snooze_form(time_formatter(), saved_times=saved_times(), snooze=asleep)
    page = render_template(
        "mailboxes/mail/snooze.html",
        box=at.pages,
        row=row,
        asleep=asleep,
        form=shown,
        version=version,
        whole=whole,
    )
    return page, 200 if form is None else form.status


def after_snooze(pages: MailboxPages, submitted: Submitted, snoozed: acts.Result, *, count: int) -> ResponseReturnValue:
    """Redirects to the list, which shows until when the message is asleep, and how many of its conversation."""
    text = asleep_until_text(submitted.reminder_time, time_formatter(), ended=snoozed.ended)
    whole = _("# messages of this conversation").replace("#", str(count))
    flash_done(f"{text} {whole}." if count > 1 else text, snoozed)
    return back(pages.url("browse"))


def done(at: Opened, key: str) -> ResponseReturnValue:
    flash(_("Done."), undo=at.pages.url("to_inbox", at.mailbox.archive(key)))
    return back(at.pages.url("browse"))


def mark_read(at: Opened, key: str) -> ResponseReturnValue:
    """Posted by the page's script when a message is opened, or by its button."""
    at.mailbox.mark(key, read=True)
    return redirect(at.pages.url("show", key), code=303)


def mark_unread(at: Opened, key: str) -> ResponseReturnValue:
    """Redirects to the list: the page of the message would mark it as read again."""
    at.mailbox.mark(key, read=False)
    flash(_("Marked as unread."))
    return back(at.pages.url("browse"))


def show_problem(error: MailboxError, pages: MailboxPages, key: str | None) -> Response:
    """Explains a problem with the server or the message, and the remedy."""
    status = status_of(error)
    is_page = request.method in {"GET", "HEAD"}
    query = urlencode({name: value for name, value in request.args.items() if name != "wait"})
    here = f"{request.path}?{query}" if query else request.path
    again = here if is_page else pages.url("show", key) if key else pages.url("browse")
    page = render_template(
        "mailboxes/mail/problem.html", box=pages, error=error, again=again, is_page=is_page, in_list=key is None
    )
    response = make_response(page, status)
    if status == 503:
        response.headers["Retry-After"] = "30"
    return response


def may_ask_again() -> bool:
    """Whether this page may be shown before its server answers: a browser opens it, and not for the second time. A
    script gets the answer itself."""
    return request.headers.get("Sec-Fetch-Mode") == "navigate" and "wait" not in request.args


def asking(at: Opened, *, host: str) -> ResponseReturnValue:
    """The page of a mailbox whose server has not answered yet. It asks for the requested page again, which then
    waits."""
    values = {**request.args.to_dict(), "wait": "1"}
    with context.transaction() as connection:
        boxes = switch(connected_mailboxes.connected(connection, account_id=at.account.id))
    again = f"{request.path}?{urlencode(values)}"
    return render_template("mailboxes/mail/asking.html", box=at.pages, boxes=boxes, host=host, again=again)


def status_of(error: MailboxError) -> int:
    """The HTTP status of a problem."""
    return _STATUSES.get(error.code, 503)


def _newest_of(rows: Sequence[Row]) -> str:
    """The key of the newest message of a conversation, as a list shows it."""
    return max((row.key for row in rows), key=lambda key: MessageKey.parse(key).uid)


def _back(rows: Sequence[Row]) -> list[str]:
    return [row.message_id for row in rows if row.message_id is not None and row.returned_at is not None]


def _last_return(account: Account, row: Row) -> Return | None:
    """The snooze of a returned message."""
    with context.transaction() as connection:
        found = last_returns(connection, user_email=account.email, message_ids=_back([row]))
    return found.get(row.message_id or "")


def _snoozes(account: Account, row: Row) -> tuple[Found | None, Found | None]:
    """The live snooze of a message, and the snooze whose reminder is late."""
    if row.message_id is None:
        return None, None
    with context.transaction() as connection:
        live = snoozes.live(connection, user_email=account.email, message_id=row.message_id)
        unsent = snoozes.unsent(connection, user_email=account.email, message_ids=[row.message_id])
    return live, unsent.get(row.message_id)
