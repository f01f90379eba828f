"""The page that adds message files, and reminders of messages in other places."""

from uuid import UUID, uuid4

from flask import render_template, request
from flask.typing import ResponseReturnValue

from snoozer.web import context
from snoozer.web.auth import saved_times, time_formatter
from snoozer.web.snoozes.forms import SnoozeForm, snooze_form

MAX_SUBJECT_LENGTH = 500
MAX_SENDER_LENGTH = 320


def page_id() -> UUID:
    """Returns the id in the posted form, a new one without it."""
    try:
        return UUID(request.form.get("page_id", ""))
    except ValueError:
        return uuid4()


def add_page(
    *,
    form: SnoozeForm | None = None,
    subject: str | None = None,
    sender: str | None = None,
    subject_error: str | None = None,
    file_error: str | None = None,
) -> ResponseReturnValue:
    page = render_template(
        "mailboxes/mail/add.html",
        form=form or snooze_form(time_formatter(), saved_times=saved_times()),
        subject=subject or "",
        sender=sender or "",
        subject_error=subject_error,
        file_error=file_error,
        page_id=page_id(),
        largest=context.settings().largest_message,
    )
    return page, 422 if subject_error or file_error else form.status if form else 200
