"""The routes of a connected mailbox. Everything is read at the mail server and nothing is kept here."""

from flask import Blueprint, Response, request
from flask.typing import ResponseReturnValue

from snoozer.db.models import Account
from snoozer.mailbox_reading.entering import enter, snooze_target
from snoozer.mailbox_reading.mailbox import Mailbox, MailboxError
from snoozer.snoozes import acts
from snoozer.snoozes.acts import By
from snoozer.snoozing import SnoozeError
from snoozer.translations import gettext as _
from snoozer.web import context
from snoozer.web.auth import login_required, saved_times, time_formatter
from snoozer.web.connected_mail.opening import open_or_404
from snoozer.web.context import ROUTE, flash
from snoozer.web.forms import back
from snoozer.web.mailbox import views
from snoozer.web.mailbox.files import frame_problem
from snoozer.web.mailbox.pages import MailboxPages
from snoozer.web.snoozes.forms import SnoozeForm, check_message, read_submission, save_submission
from snoozer.web.snoozes.page import flash_done
from snoozer.web.text.phrase_text import recurrence_ended_text

blueprint = Blueprint("connected_mail", __name__, url_prefix="/mailboxes/<row:mailbox_id>/mail")


@blueprint.get("")
@login_required
def browse(account: Account, mailbox_id: int) -> ResponseReturnValue:
    mailbox = open_or_404(account, id=mailbox_id)
    return views.browse(account, mailbox, _pages(mailbox, mailbox_id))


@blueprint.get("/<key>")
@login_required
def show(account: Account, mailbox_id: int, key: str) -> ResponseReturnValue:
    mailbox = open_or_404(account, id=mailbox_id)
    return views.show(account, mailbox, _pages(mailbox, mailbox_id), key)


@blueprint.get("/<key>/html")
@login_required
def html(account: Account, mailbox_id: int, key: str) -> ResponseReturnValue:
    return views.html(open_or_404(account, id=mailbox_id), key)


@blueprint.get("/<key>/original")
@login_required
def download(account: Account, mailbox_id: int, key: str) -> ResponseReturnValue:
    return views.download(open_or_404(account, id=mailbox_id), key)


@blueprint.get("/<key>/parts/<part>")
@login_required
def attachment(account: Account, mailbox_id: int, key: str, part: str) -> ResponseReturnValue:
    return views.attachment(open_or_404(account, id=mailbox_id), key, part)


@blueprint.get("/<key>/snooze")
@login_required
def snooze_page(account: Account, mailbox_id: int, key: str) -> ResponseReturnValue:
    mailbox = open_or_404(account, id=mailbox_id)
    return views.snooze_page(account, mailbox, _pages(mailbox, mailbox_id), key)


@blueprint.post("/<key>/snooze")
@login_required
def snooze(account: Account, mailbox_id: int, key: str) -> ResponseReturnValue:
    """Saves the snooze and the move of its message together; the process that watches the mailbox moves it."""
    mailbox = open_or_404(account, id=mailbox_id)
    pages = _pages(mailbox, mailbox_id)
    submitted = read_submission(request.form, times=time_formatter(), saved_times=saved_times())
    if isinstance(submitted, SnoozeForm):
        return views.snooze_page(account, mailbox, pages, key, form=submitted)
    target = snooze_target(mailbox, key)
    try:
        with context.transaction() as connection:
            check_message(connection, account, target.message.message_id, request.form)
            snoozed = save_submission(connection, account, target.message, submitted)
            if not enter(connection, target):
                raise MailboxError("busy", _("Another mailbox of yours is moving this message just now. Try again."))
    except SnoozeError as error:
        return views.snooze_page(account, mailbox, pages, key, error=error)
    return views.after_snooze(pages, submitted, snoozed)


@blueprint.post("/<key>/done")
@login_required
def done(account: Account, mailbox_id: int, key: str) -> ResponseReturnValue:
    mailbox = open_or_404(account, id=mailbox_id)
    return views.done(mailbox, _pages(mailbox, mailbox_id), key)


@blueprint.post("/<key>/inbox")
@login_required
def to_inbox(account: Account, mailbox_id: int, key: str) -> ResponseReturnValue:
    """Back into the inbox. One that is asleep is woken: its snooze is cancelled, and the process moves it."""
    mailbox = open_or_404(account, id=mailbox_id)
    pages = _pages(mailbox, mailbox_id)
    message = mailbox.message(key)
    row = message.row
    if row.snooze_id is None or row.message_id is None or not (row.moving or message.role == "snoozed"):
        mailbox.to_inbox(key)
        flash(_("It is in your inbox."))
        return back(pages.url("browse"))
    with context.transaction() as connection:
        (cancelled,) = acts.act(connection, [row.snooze_id], acts.Cancel(), By(account.email, ROUTE))
    ended = f" {recurrence_ended_text(row.recurrence, time_formatter())}" if row.recurrence else ""
    flash_done(_("It goes back to where it was.") + ended, cancelled)
    return back(pages.url("browse"))


@blueprint.post("/<key>/read")
@login_required
def mark_read(account: Account, mailbox_id: int, key: str) -> ResponseReturnValue:
    mailbox = open_or_404(account, id=mailbox_id)
    return views.mark_read(mailbox, _pages(mailbox, mailbox_id), key)


@blueprint.post("/<key>/unread")
@login_required
def mark_unread(account: Account, mailbox_id: int, key: str) -> ResponseReturnValue:
    mailbox = open_or_404(account, id=mailbox_id)
    return views.mark_unread(mailbox, _pages(mailbox, mailbox_id), key)


@blueprint.errorhandler(MailboxError)
def show_problem(error: MailboxError) -> Response:
    values = request.view_args or {}
    if request.endpoint == "connected_mail.html":
        return frame_problem(error.sentence, views.status_of(error))
    return views.show_problem(error, MailboxPages(title="", id=values.get("mailbox_id")), values.get("key"))


def _pages(mailbox: Mailbox, id: int) -> MailboxPages:
    return MailboxPages(title=mailbox.title, id=id)
