"""The page of one snooze, also with a form that was refused, and where its forms lead back to."""

from dataclasses import dataclass

from flask import render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import Connection

from snoozer.db.models import Account
from snoozer.db.queries import Found, messages
from snoozer.db.queries import snoozes as queries
from snoozer.mailboxes.read.keys import MessageKey
from snoozer.snoozes import acts
from snoozer.snoozes.acts import By
from snoozer.snoozes.decision import MAY_ARRIVE
from snoozer.snoozes.input import SnoozeError
from snoozer.timephrase.result import ParseError
from snoozer.translations import gettext as _
from snoozer.web.auth import saved_times, time_formatter
from snoozer.web.context import ROUTE, flash, found_or_404
from snoozer.web.forms import back
from snoozer.web.snoozes.forms import SnoozeForm, snooze_form, status_of, with_series
from snoozer.web.text.history import history_lines
from snoozer.web.text.phrase_text import phrase_text
from snoozer.web.text.reply_text import reply_text
from snoozer.web.text.status import returned_text, was_it_sent
from snoozer.web.text.version import check_version, version_of


@dataclass(frozen=True, kw_only=True)
class Typed:
    """A note, or an end of what repeats, as it was typed, and why it is not saved."""

    text: str
    error: SnoozeError | ParseError


def own(connection: Connection, account: Account, *, id: int, changing: bool = False) -> Found:
    """The person's snooze, with `changing` locked until the transaction ends; 404 for another's."""
    return found_or_404(queries.one(connection, id=id, user_email=account.email, changing=changing))


def back_to(id: int) -> ResponseReturnValue:
    """Redirects to the list that held the form, or to the snooze itself."""
    return back(url_for("snoozes.show", id=id))


def check_form(row: Found) -> None:
    """Raise SnoozeError if people changed the snooze, which is locked, since the posted form was made."""
    check_version(request.form.get("version", ""), row, time_formatter())


def act_on(connection: Connection, account: Account, id: int, what: acts.Act) -> acts.Result:
    """Does an act on the person's snooze. Raises SnoozeError if the act left it unchanged."""
    (result,) = acts.act(connection, [id], what, By(account.email, ROUTE))
    if result.left is not None:
        raise result.left
    return result


def flash_done(text: str, result: acts.Result | None) -> None:
    """Queues a message about the act, with its Undo, and a warning that an earlier copy may still arrive; without a
    result, only the text."""
    if result is None or result.left is not None:
        flash(text)
        return
    flash(text + late_text(result), undo=url_for("snoozes.undo", id=result.id), event=str(result.event))


def late_text(result: acts.Result) -> str:
    """The sentence, if an earlier copy may still arrive."""
    return f" {_(MAY_ARRIVE)}" if result.may_arrive else ""


def snooze_page(
    connection: Connection,
    account: Account,
    *,
    id: int,
    form: SnoozeForm | None = None,
    note: Typed | None = None,
    end: Typed | None = None,
) -> ResponseReturnValue:
    """The page; with `form` a time to confirm or to correct, with `note` or `end` a value to correct."""
    row, times = own(connection, account, id=id), time_formatter()
    sends, events = queries.sends(connection, id=id), queries.events(connection, id=id)
    done = next((event for event in events if event.kind in {"cancelled", "back"}), None)
    typed = note or end
    page = render_template(
        "snoozes/show.html",
        row=row,
        message_url=_message_url(connection, row),
        count=messages.awaited(connection, snooze_id=id),
        history=history_lines(events, sends, times),
        phrase_text=phrase_text(row, events, times=times),
        sent=was_it_sent(row, sends, times=times),
        returned=next((returned_text(send) for send in sends if send.scheduled_for == row.promise), ""),
        form=with_series(form, row, times) if form else snooze_form(times, saved_times=saved_times(), snooze=row),
        is_open=form is not None,
        note=note,
        end=end,
        version=version_of(row),
        reply_text=reply_text(row, events, times=times),
        was_brought_back=row.outcome == "cancelled" and done is not None and done.kind == "back",
        undo_event=done.id if done is not None and done.kind == "back" and "before" in done.detail else None,
    )
    return page, status_of(typed.error) if typed else form.status if form else 200


def _message_url(connection: Connection, row: Found) -> str | None:
    """The page of its message, kept by Snoozer or in a connected mailbox."""
    if row.kept_id is not None:
        return url_for("mailbox.show", key=row.kept_id)
    seen = messages.located(connection, user_email=row.user_email, message_id=row.message_id)
    if seen is None:
        return None
    key = MessageKey(seen.folder, seen.uidvalidity, seen.uid)
    return url_for("mailbox.show", mailbox_id=seen.mailbox_id, key=str(key))
