"""The mailbox that Snoozer keeps: its routes, and adding what is not in it yet."""

from uuid import uuid5

from flask import Blueprint, Response, redirect, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import Connection
from werkzeug.exceptions import RequestEntityTooLarge

from snoozer import inbox, quotas, snoozing
from snoozer.db import mailbox_store
from snoozer.db.models import Account
from snoozer.db.queries import Found, snoozes
from snoozer.db.queries import messages as queries
from snoozer.mailbox_reading.kept import KeptMailbox
from snoozer.mailbox_reading.mailbox import MailboxError
from snoozer.mime import headers
from snoozer.snoozes import acts
from snoozer.snoozes.acts import By
from snoozer.translations import gettext as _
from snoozer.web import context
from snoozer.web.auth import login_required, saved_times, time_formatter
from snoozer.web.context import ROUTE, flash, found_or_404
from snoozer.web.forms import back, one_line
from snoozer.web.mailbox import views
from snoozer.web.mailbox.add_page import MAX_SENDER_LENGTH, MAX_SUBJECT_LENGTH, add_page, page_id
from snoozer.web.mailbox.files import frame_problem
from snoozer.web.mailbox.pages import KEPT
from snoozer.web.snoozes.forms import SnoozeForm, check_message, read_submission, save_submission, snooze_form
from snoozer.web.snoozes.page import flash_done
from snoozer.web.text.phrase_text import asleep_until_text, recurrence_ended_text

blueprint = Blueprint("mailbox", __name__)


@blueprint.get("/mailbox")
@login_required
def browse(account: Account) -> ResponseReturnValue:
    return views.browse(account, _kept(account), KEPT)


@blueprint.get("/mailbox/<row:id>")
@login_required
def show(account: Account, id: int) -> ResponseReturnValue:
    return views.show(account, _kept(account), KEPT, str(id))


@blueprint.get("/mailbox/<row:id>/html")
@login_required
def html(account: Account, id: int) -> ResponseReturnValue:
    return views.html(_kept(account), str(id))


@blueprint.get("/mailbox/<row:id>/parts/<part>")
@login_required
def attachment(account: Account, id: int, part: str) -> ResponseReturnValue:
    return views.attachment(_kept(account), str(id), part)


@blueprint.get("/mailbox/<row:id>/original")
@login_required
def download(account: Account, id: int) -> ResponseReturnValue:
    return views.download(_kept(account), str(id))


@blueprint.get("/mailbox/<row:id>/snooze")
@login_required
def snooze_page(account: Account, id: int) -> ResponseReturnValue:
    return views.snooze_page(account, _kept(account), KEPT, str(id))


@blueprint.post("/mailbox/<row:id>/snooze")
@login_required
def snooze(account: Account, id: int) -> ResponseReturnValue:
    submitted = read_submission(request.form, times=time_formatter(), saved_times=saved_times())
    if isinstance(submitted, SnoozeForm):
        return views.snooze_page(account, _kept(account), KEPT, str(id), form=submitted)
    try:
        with context.transaction() as connection:
            row = _own(connection, account, id=id)
            check_message(connection, account, row.message_id, request.form)
            message = snoozing.Message(message_id=row.message_id, subject=row.subject, sender_email=row.sender_email)
            snoozed = save_submission(connection, account, message, submitted)
    except snoozing.SnoozeError as error:
        return views.snooze_page(account, _kept(account), KEPT, str(id), error=error)
    return views.after_snooze(KEPT, submitted, snoozed)


@blueprint.post("/mailbox/<row:id>/done")
@login_required
def done(account: Account, id: int) -> ResponseReturnValue:
    return views.done(_kept(account), KEPT, str(id))


@blueprint.post("/mailbox/<row:id>/inbox")
@login_required
def to_inbox(account: Account, id: int) -> ResponseReturnValue:
    """Back into the inbox. Cancels the snooze of a message in the snoozed folder; elsewhere a live snooze is the next
    occurrence of one that repeats, and goes on. A paused one stays paused, which the answer says."""
    with context.transaction() as connection:
        row = _own(connection, account, id=id)
        alive = snoozes.alive(connection, user_email=account.email, message_id=row.message_id)
        paused = alive is not None and alive.state == "paused"
        asleep = alive if row.folder == "snoozed" and not paused else None
        cancelled = None
        if asleep is not None:
            (cancelled,) = acts.act(connection, [asleep.id], acts.Cancel(), By(account.email, ROUTE))
        mailbox_store.move_to_inbox(connection, user_email=account.email, message_id=row.message_id)
    recurrence = asleep.recurrence if asleep is not None else None
    ended = f" {recurrence_ended_text(recurrence, time_formatter())}" if recurrence else ""
    stays = " " + _("Its snooze stays paused.") if paused else ""
    flash_done(_("It is in your inbox.") + ended + stays, cancelled)
    return back(url_for(".browse"))


@blueprint.post("/mailbox/<row:id>/read")
@login_required
def mark_read(account: Account, id: int) -> ResponseReturnValue:
    return views.mark_read(_kept(account), KEPT, str(id))


@blueprint.post("/mailbox/<row:id>/unread")
@login_required
def mark_unread(account: Account, id: int) -> ResponseReturnValue:
    return views.mark_unread(_kept(account), KEPT, str(id))


@blueprint.get("/add")
@login_required
def add(_: Account) -> ResponseReturnValue:
    """Adds message files to the mailbox, or a reminder of a message that is elsewhere."""
    return add_page()


@blueprint.post("/add/file")
@login_required
def add_files(account: Account) -> ResponseReturnValue:
    """Stores message files in the mailbox byte for byte: all of them or none."""
    files = [(file.filename or "", file.read()) for file in request.files.getlist("message")]
    files = [(name, content) for name, content in files if name or content]
    if not files:
        return add_page(file_error=_("Choose a message file first. Mail programs save one as .eml."))
    if any(len(content) > context.settings().largest_message for name, content in files):
        raise RequestEntityTooLarge
    for name, content in files:
        if not headers.is_at_start(content):
            return add_page(
                file_error=_(
                    "%(name)s is not a mail message: it has no header such as From or Subject. Nothing was saved.",
                    name=name or _("That file"),
                )
            )
    contents = [content for name, content in files]
    with context.transaction() as connection:
        for content in contents:
            quotas.spend_upload(connection, context.settings().limits, user_email=account.email, size=len(content))
        stored = inbox.store_each(connection, user_email=account.email, originals=contents)
    if len(stored) > 1:
        flash(
            _(
                "%(new)s of %(count)s messages are new in your mailbox.",
                new=sum(one.new for one in stored),
                count=len(stored),
            )
        )
        return redirect(url_for(".browse"), code=303)
    flash(_("It is in your mailbox.") if stored[0].new else _("It was in your mailbox already."))
    return redirect(url_for(".show", id=stored[0].id), code=303)


@blueprint.post("/add")
@login_required
def add_reminder(account: Account) -> ResponseReturnValue:
    """A reminder of a message that is not in this mailbox."""
    subject = one_line(request.form.get("subject"), max_length=MAX_SUBJECT_LENGTH)
    sender = one_line(request.form.get("sender"), max_length=MAX_SENDER_LENGTH)
    times, saved = time_formatter(), saved_times()
    submitted = read_submission(request.form, times=times, saved_times=saved)
    if isinstance(submitted, SnoozeForm):
        return add_page(form=submitted, subject=subject, sender=sender)
    if subject is None:
        phrase, note = request.form.get("phrase", ""), request.form.get("note")
        return add_page(
            form=snooze_form(times, saved_times=saved, phrase=phrase, note=note),
            sender=sender,
            subject_error=_("Say in a few words what it is about, so that you recognise it when it comes back."),
        )
    # The same texts posted twice from one page get the same Message-ID, so that a double click makes one snooze.
    unique = uuid5(page_id(), f"{subject}\n{sender or ''}")
    message = snoozing.Message(message_id=f"<{unique}@added.snoozer.invalid>", subject=subject, sender_email=sender)
    with context.transaction() as connection:
        snoozed = save_submission(connection, account, message, submitted)
    flash_done(asleep_until_text(submitted.reminder_time, times), snoozed)
    return redirect(url_for("snoozes.home"), code=303)


@blueprint.errorhandler(MailboxError)
def show_problem(error: MailboxError) -> Response:
    if request.endpoint == "mailbox.html":
        return frame_problem(error.sentence, views.status_of(error))
    id = (request.view_args or {}).get("id")
    return views.show_problem(error, KEPT, None if id is None else str(id))


def _own(connection: Connection, account: Account, *, id: int) -> Found:
    return found_or_404(queries.one(connection, id=id, user_email=account.email))


def _kept(account: Account) -> KeptMailbox:
    return KeptMailbox(context.engine(), user_email=account.email)
