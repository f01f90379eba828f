"""What is not in the mailbox yet: a message file, or a few words about a message somewhere else."""

from uuid import UUID, uuid4, uuid5

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import RequestEntityTooLarge

from snoozer import inbox, snoozing
from snoozer.db.models import Account
from snoozer.web import context, flash
from snoozer.web.auth import clock, signed_in, usual
from snoozer.web.forms import one_line
from snoozer.web.snoozes.forms import Sheet, answer, sheet
from snoozer.web.snoozes.routes import put_away
from snoozer.web.text.phrase_text import asleep_until

blueprint = Blueprint("add", __name__, url_prefix="/add")

LONGEST_SUBJECT = 500
LONGEST_SENDER = 320


@blueprint.get("")
@signed_in
def ask(_: Account) -> ResponseReturnValue:
    """Both ways in."""
    return _page()


@blueprint.post("/file")
@signed_in
def keep(account: Account) -> ResponseReturnValue:
    """A message file goes into the mailbox, byte for byte."""
    files = [(file.filename or "", file.read()) for file in request.files.getlist("message")]
    files = [(name, content) for name, content in files if name or content]
    if not files:
        return _page(file_error="Choose a message file first. Mail programs save one as .eml.")
    if any(len(content) > context.settings().largest_message for _, content in files):
        raise RequestEntityTooLarge
    for name, content in files:
        if not looks_like_a_message(content):
            return _page(
                file_error=f"{name or 'That file'} is not a mail message: it has no header such as From or Subject. "
                "Nothing was saved."
            )
    with context.transaction() as connection:
        held = inbox.store_each(connection, user_email=account.email, originals=[content for _, content in files])
    if len(held) > 1:
        flash.say(f"{sum(one.new for one in held)} of {len(held)} messages are new in your mailbox.")
        return redirect(url_for("mailbox.browse"), code=303)
    flash.say("It is in your mailbox." if held[0].new else "It was in your mailbox already.")
    return redirect(url_for("mailbox.show", id=held[0].id), code=303)


@blueprint.post("")
@signed_in
def snooze(account: Account) -> ResponseReturnValue:
    """A reminder of a message that lies somewhere else."""
    subject = one_line(request.form.get("subject"), longest=LONGEST_SUBJECT)
    sender = one_line(request.form.get("sender"), longest=LONGEST_SENDER)
    answered = answer(request.form, clock=clock(), usual=usual())
    if isinstance(answered, Sheet):
        return _page(asked=answered, subject=subject, sender=sender)
    if subject is None:
        missing = "Say in a few words what it is about, so that you recognise it when it comes back."
        return _page(
            asked=sheet(clock(), usual=usual(), phrase=request.form.get("phrase", ""), note=request.form.get("note")),
            sender=sender,
            subject_error=missing,
        )
    message = snoozing.Message(message_id=_name(subject, sender), subject=subject, sender_email=sender)
    with context.transaction() as connection:
        id = put_away(connection, account, message, answered).id
    flash.say(asleep_until(answered.appointment, clock()), undo=url_for("snoozes.cancel", id=id), **{"from": "list"})
    return redirect(url_for("snoozes.home"), code=303)


def looks_like_a_message(content: bytes) -> bool:
    """Does it begin as mail begins? A picture or a document does not; anything with one header line does."""
    for line in content[:65_536].lstrip(b"\xef\xbb\xbf\r\n").split(b"\n", 50)[:50]:
        name, colon, _ = line.rstrip(b"\r").partition(b":")
        if colon and name and all(33 <= byte <= 126 for byte in name.rstrip(b" ")):
            return True
        if not line.startswith((b"From ", b">From ")):
            return False
    return False


def _name(subject: str, sender: str | None) -> str:
    """The Message-ID of what has none. The same words sent twice from one page mean the same thing, so that a button
    pressed twice makes one snooze."""
    words = f"{subject}\n{sender or ''}"
    return f"<{uuid5(_page_id(), words)}@added.snoozer.invalid>"


def _page_id() -> UUID:
    """Which page of ours a form was sent from; a new one where it does not say."""
    try:
        return UUID(request.form.get("page_id", ""))
    except ValueError:
        return uuid4()


def _page(
    *,
    asked: Sheet | None = None,
    subject: str | None = None,
    sender: str | None = None,
    subject_error: str | None = None,
    file_error: str | None = None,
) -> ResponseReturnValue:
    page = render_template(
        "add/add.html",
        sheet=asked or sheet(clock(), usual=usual()),
        subject=subject or "",
        sender=sender or "",
        subject_error=subject_error,
        file_error=file_error,
        page_id=_page_id(),
        largest=context.settings().largest_message,
    )
    return page, 422 if subject_error or file_error else asked.status if asked else 200
