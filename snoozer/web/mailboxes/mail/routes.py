"""The routes of a mailbox, whether Snoozer keeps it or reads it at its server, and of adding messages to it."""

from collections.abc import Callable
from typing import Any
from uuid import uuid5

from flask import Blueprint, Response, redirect, request, url_for
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import RequestEntityTooLarge

from snoozer.db import mailbox_store
from snoozer.db.models import Account
from snoozer.db.queries import messages as queries
from snoozer.db.queries import snoozes
from snoozer.mail import headers
from snoozer.mailboxes import inbox
from snoozer.mailboxes.read.connected import ConnectedMailbox
from snoozer.mailboxes.read.entering import SnoozeTarget, enter, snooze_target
from snoozer.mailboxes.read.kept import KeptMailbox
from snoozer.mailboxes.read.mailbox import MailboxError, Row
from snoozer.people import quotas
from snoozer.snoozes import acts, input
from snoozer.snoozes.acts import By
from snoozer.timephrase.parse import MAX_PHRASE_LENGTH
from snoozer.translations import gettext as _
from snoozer.web import context
from snoozer.web.auth import login_required, saved_times, time_formatter
from snoozer.web.context import ROUTE, flash, found_or_404
from snoozer.web.forms import back, one_line
from snoozer.web.mailboxes.mail import views
from snoozer.web.mailboxes.mail.add_page import MAX_SENDER_LENGTH, MAX_SUBJECT_LENGTH, add_page, page_id
from snoozer.web.mailboxes.mail.opening import open_or_404
from snoozer.web.mailboxes.mail.pages import KEPT, MailboxPages
from snoozer.web.mailboxes.mail.untrusted_content import frame_problem
from snoozer.web.mailboxes.mail.views import Opened
from snoozer.web.snoozes.forms import SnoozeForm, check_message, read_submission, save_submission, snooze_form
from snoozer.web.snoozes.page import flash_done
from snoozer.web.text.phrase_text import asleep_until_text, recurrence_ended_text

blueprint = Blueprint("mailbox", __name__)

# A page says after this time that the server is still being asked, and asks again with the time of every request.
FIRST_SECONDS = 1.0
_ASKED_FIRST = (views.browse, views.show)


def page(path: str, *methods: str) -> Callable[[Callable[..., ResponseReturnValue]], None]:
    """Register a view of a mailbox, or of the message with a key, for the mailbox that Snoozer keeps and for connected
    mailboxes."""

    def register(view: Callable[..., ResponseReturnValue]) -> None:
        @login_required
        def opened(account: Account, /, mailbox_id: int | None = None, **values: Any) -> ResponseReturnValue:
            if mailbox_id is None:
                at = Opened(account, KeptMailbox(context.engine(), user_email=account.email), KEPT)
                return view(at, **{name: str(value) for name, value in values.items()})
            mailbox = open_or_404(account, id=mailbox_id)
            at = Opened(account, mailbox, MailboxPages(title=mailbox.title, id=mailbox_id))
            if view not in _ASKED_FIRST or not views.may_ask_again():
                return view(at, **values)
            mailbox.end_after(FIRST_SECONDS)
            try:
                return view(at, **values)
            except MailboxError:
                if mailbox.is_late:
                    return views.asking(at, host=mailbox.access.host)
                raise

        kept = path.replace("<key>", "<row:key>")
        for rule in (f"/mailbox{kept}", f"/mailboxes/<row:mailbox_id>/mail{path}"):
            blueprint.add_url_rule(rule, view.__name__, opened, methods=methods or ("GET",))

    return register


page("")(views.browse)
page("/<key>")(views.show)
page("/<key>/html")(views.html)
page("/<key>/original")(views.download)
page("/<key>/parts/<part>")(views.attachment)
page("/<key>/snooze")(views.snooze_page)
page("/<key>/done", "POST")(views.done)
page("/<key>/read", "POST")(views.mark_read)
page("/<key>/unread", "POST")(views.mark_unread)


@page("/<key>/snooze", "POST")
def snooze(at: Opened, key: str) -> ResponseReturnValue:
    """Saves the snooze and the move of its message together; the process that watches a connected mailbox moves it."""
    submitted = read_submission(request.form, times=time_formatter(), saved_times=saved_times())
    if isinstance(submitted, SnoozeForm):
        return views.snooze_page(at, key, form=submitted)
    target = _target(at.mailbox, key) if isinstance(at.mailbox, ConnectedMailbox) else None
    message = target.message if target is not None else _message(at.mailbox.row(key))
    try:
        with context.transaction() as connection:
            check_message(connection, at.account, message.message_id, request.form)
            snoozed = save_submission(connection, at.account, message, submitted)
            if target is not None and not enter(connection, target, snooze_id=snoozed.id):
                raise MailboxError("busy", _("Another mailbox of yours is moving this message just now. Try again."))
    except input.SnoozeError as error:
        return views.snooze_page(at, key, error=error)
    return views.after_snooze(at.pages, submitted, snoozed, count=target.count if target is not None else 1)


def _target(mailbox: ConnectedMailbox, key: str) -> SnoozeTarget:
    """The message, or its conversation up to the newest message that the form's page showed (`whole`)."""
    if request.form.get("only") == "on":
        return snooze_target(mailbox, key, alone=True)
    newest = request.args.get("whole")
    return snooze_target(mailbox, newest or key, whole=newest is not None)


@page("/<key>/inbox", "POST")
def to_inbox(at: Opened, key: str) -> ResponseReturnValue:
    """Moves a message back into the inbox. Cancels the snooze of a sleeping message; elsewhere a live snooze is the
    next occurrence of a series, which continues."""
    (_give_back if isinstance(at.mailbox, ConnectedMailbox) else _take_out)(at, key)
    return back(at.pages.url("browse"))


def _take_out(at: Opened, key: str) -> None:
    """A paused snooze of a kept message stays paused; the answer mentions it."""
    account = at.account
    with context.transaction() as connection:
        row = found_or_404(queries.one(connection, id=int(key), user_email=account.email))
        alive = snoozes.alive(connection, user_email=account.email, message_id=row.message_id)
        paused = alive is not None and alive.state == "paused"
        asleep = alive if row.folder == "snoozed" and not paused else None
        cancelled = None
        if asleep is not None:
            (cancelled,) = acts.act(connection, [asleep.id], acts.Cancel(), By(account.email, ROUTE))
        mailbox_store.move(connection, user_email=account.email, message_id=row.message_id, folder="inbox")
        stays = " " + _("Its snooze stays paused.") if paused else ""
        ended = _ended(asleep.recurrence) if asleep is not None else ""
    flash_done(_("It is in your inbox.") + ended + stays, cancelled)


def _give_back(at: Opened, key: str) -> None:
    """The process that watches the mailbox moves a message that is asleep, once its snooze is cancelled."""
    message = at.mailbox.message(key)
    row = message.row
    if row.snooze_id is None or row.message_id is None or not (row.moving or message.role == "snoozed"):
        at.mailbox.to_inbox(key)
        flash(_("It is in your inbox."))
        return
    email, id = at.account.email, row.snooze_id
    with context.transaction() as connection:
        (cancelled,) = acts.act(connection, [id], acts.Cancel(), By(email, ROUTE))
    flash_done(_("It goes back to where it was.") + _ended(row.recurrence), cancelled)


def _ended(recurrence: dict[str, Any] | None) -> str:
    return f" {recurrence_ended_text(recurrence, time_formatter())}" if recurrence else ""


def _message(row: Row) -> input.Message:
    return input.Message(message_id=row.message_id or "", subject=row.subject, sender_email=row.sender_email)


@blueprint.get("/add")
@login_required
def add(_: Account) -> ResponseReturnValue:
    """Adds message files to the mailbox, or a reminder of a message in another place; `phrase` is its time."""
    phrase = one_line(request.args.get("phrase"), max_length=MAX_PHRASE_LENGTH) or ""
    return add_page(form=snooze_form(time_formatter(), saved_times=saved_times(), phrase=phrase))


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
    return redirect(url_for(".show", key=stored[0].id), code=303)


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
            subject_error=_("Write in a few words what it is about, so that you recognise it when it comes back."),
        )
    # If one page posts the same texts twice, both get the same Message-ID, so that a double click makes one snooze.
    unique = uuid5(page_id(), f"{subject}\n{sender or ''}")
    message = input.Message(message_id=f"<{unique}@added.snoozer.invalid>", subject=subject, sender_email=sender)
    with context.transaction() as connection:
        snoozed = save_submission(connection, account, message, submitted)
    flash_done(asleep_until_text(submitted.reminder_time, times), snoozed)
    return redirect(url_for("snoozes.home"), code=303)


@blueprint.errorhandler(MailboxError)
def show_problem(error: MailboxError) -> Response:
    if request.endpoint == "mailbox.html":
        return frame_problem(error.sentence, views.status_of(error))
    values = request.view_args or {}
    id, key = values.get("mailbox_id"), values.get("key")
    return views.show_problem(error, KEPT if id is None else MailboxPages(title="", id=id), key and str(key))
