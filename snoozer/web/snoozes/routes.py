"""The list of snoozes, one snooze, what its owner does to it, and the preview of a typed phrase."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from flask import Blueprint, abort, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import Connection

from snoozer import snoozing
from snoozer.db.models import Account
from snoozer.db.queries import Cursor, Found, mailboxes
from snoozer.db.queries import snoozes as queries
from snoozer.db.queue import ReminderTime
from snoozer.domain.reminder import MAX_NOTE_LENGTH
from snoozer.snoozing import SnoozeError
from snoozer.timephrase.zones import zone_or_utc
from snoozer.web import context
from snoozer.web.auth import login_required, saved_times, time_formatter
from snoozer.web.context import ROUTE, flash, found_or_404
from snoozer.web.forms import back, one_line, page_cursor
from snoozer.web.snoozes import forms, search
from snoozer.web.snoozes.forms import SnoozeForm, snooze_form
from snoozer.web.snoozes.search import SearchError
from snoozer.web.text.history import DayGroup, group_by_day, history_lines
from snoozer.web.text.phrase_text import asleep_until_text, phrase_text
from snoozer.web.text.reply_text import reply_text
from snoozer.web.text.status import LATE_AFTER, was_it_sent
from snoozer.web.text.time_format import TimeFormatter, parse_instant

blueprint = Blueprint("snoozes", __name__)

RETURNED_FOR = timedelta(days=7)
# The longest backoff is some hours; only the hold of an uncertain send lasts longer.
MAX_BACKOFF = timedelta(days=1)


@blueprint.get("/")
@login_required
def home(account: Account) -> ResponseReturnValue:
    """Everything that has not come back yet; the first page also has what came back lately and what went wrong. With
    `q`, what a search finds of it."""
    after, times = page_cursor("after"), time_formatter()
    if typed := one_line(request.args.get("q"), max_length=search.MAX_LENGTH):
        return _found(account, typed, after=after, times=times)
    email, since = account.email, times.now - RETURNED_FOR
    with context.transaction() as connection:
        page = queries.asleep(connection, user_email=email, after=after)
        values = {
            "page": page,
            "sample_mailbox": _sample_mailbox(connection, account),
            "total": queries.count(connection, user_email=email),
            "stuck": [] if after else queries.stuck(connection, user_email=email),
            "came_back": [] if after else queries.came_back(connection, user_email=email, since=since),
            "trouble": queries.trouble(
                connection,
                user_email=email,
                now=times.now,
                tolerance=2 * LATE_AFTER,
                max_backoff=MAX_BACKOFF + timedelta(seconds=context.settings().uncertain_hold),
            ),
        }
    live = (row for row in page.rows if not row.inactive)
    ahead = (row.remind_at for row in live if (row.scheduled_for or row.remind_at) > times.now)
    return render_template(
        "snoozes/list.html",
        form=snooze_form(times, saved_times=saved_times()),
        first_page=after is None,
        upcoming=None if after else next(ahead, None),
        **values,
    )


def _found(account: Account, typed: str, *, after: Cursor | None, times: TimeFormatter) -> ResponseReturnValue:
    """The page of a search; 422 for one that cannot be read."""
    values: dict[str, Any] = {
        "typed": typed,
        "examples": search.EXAMPLES,
        "form": snooze_form(times, saved_times=saved_times()),
    }
    try:
        filters = search.parse(typed, times=times)
    except SearchError as error:
        return render_template("snoozes/found.html", problem=error.message, **values), 422
    with context.transaction() as connection:
        page = queries.found(connection, user_email=account.email, filters=filters, now=times.now, after=after)
        total = queries.count_found(connection, user_email=account.email, filters=filters, now=times.now)
    groups = [DayGroup(name="Stuck", date="", rows=[*page.rows])] if page.rows and filters.state == "stuck" else None
    return render_template(
        "snoozes/found.html", total=total, page=page, groups=groups or group_by_day(page.rows, times), **values
    )


def _sample_mailbox(connection: Connection, account: Account) -> Found | None:
    """The one that `snoozer up` connected."""
    port = context.settings().sample_imap_port
    return mailboxes.on_this_machine(connection, account_id=account.id, port=port) if port else None


@blueprint.get("/snoozes/<row:id>")
@login_required
def show(account: Account, id: int) -> ResponseReturnValue:
    """One snooze, its times, and its history."""
    with context.transaction() as connection:
        return _page(connection, account, id=id)


@blueprint.post("/snoozes/<row:id>/time")
@login_required
def set_time(account: Account, id: int) -> ResponseReturnValue:
    """Another time for a live snooze; for one that is over, a new snooze of its message."""
    submitted = forms.read_submission(request.form, times=time_formatter(), saved_times=saved_times())
    with context.transaction() as connection:
        row = _own(connection, account, id=id, changing=True)
        if isinstance(submitted, SnoozeForm):
            return _page(connection, account, id=id, form=submitted)
        reminder_time, reading = submitted.reminder_time, submitted.reading
        ended = snoozing.ended_recurrence(row.recurrence, reminder_time) if row.outcome is None else None
        if row.outcome is None and snoozing.change(
            connection, id=id, user_email=account.email, reminder_time=reminder_time, route=ROUTE, reading=reading
        ):
            forms.save_phrase(connection, account, submitted.typed)
            forms.spend_snooze(connection, account)
            single = row.recurrence is None and reminder_time.recurrence is None
            before = {"at": row.remind_at.isoformat(), "kind": row.time_kind or ""}
            undo = {"undo": url_for(".restore_time", id=id), **before} if single else {}
        else:
            message = snoozing.Message(message_id=row.message_id, subject=row.subject, sender_email=row.sender_email)
            id, _, ended = forms.save_submission(connection, account, message, submitted)
            undo = {"undo": url_for(".cancel", id=id)}
    flash(asleep_until_text(reminder_time, time_formatter(), ended=ended), **undo)
    return _back(id)


@blueprint.post("/snoozes/<row:id>/time/undo")
@login_required
def restore_time(account: Account, id: int) -> ResponseReturnValue:
    """The time before the last change, unless it has passed by now."""
    times, at = time_formatter(), parse_instant(request.form.get("at", ""))
    if at is None:
        abort(400)
    with context.transaction() as connection:
        row = _own(connection, account, id=id, changing=True)
        try:
            earlier = snoozing.reminder_time_at(at, now=times.now, zone=row.zone or account.zone, note=row.note)
        except SnoozeError:
            flash("The earlier time has passed, so the new one stays.")
            return _back(id)
        if (kind := request.form.get("kind")) in {"wall", "elapsed"}:
            wall = earlier.remind_at.astimezone(zone_or_utc(earlier.zone)).replace(tzinfo=None)
            earlier = replace(earlier, wall_time=wall, time_kind=kind)
        changed = snoozing.change(connection, id=id, user_email=account.email, reminder_time=earlier, route=ROUTE)
    flash(f"Asleep until {times.inline(at)}, as before." if changed else "It came back already.")
    return _back(id)


@blueprint.post("/snoozes/<row:id>/note")
@login_required
def set_note(account: Account, id: int) -> ResponseReturnValue:
    """Another note; the time stays as it is."""
    note = request.form.get("note", "")
    with context.transaction() as connection:
        row = _own(connection, account, id=id, changing=True)
        if len(note) > MAX_NOTE_LENGTH:
            return _page(connection, account, id=id, note=note)
        same_time = ReminderTime(
            remind_at=row.scheduled_for or row.remind_at,
            duration_hours=row.snooze_duration_hours,
            note=note.replace("\x00", "").strip() or None,
            wall_time=row.wall_time,
            zone=row.zone,
            time_kind=row.time_kind,
            recurrence=row.recurrence,
        )
        changed = snoozing.change(connection, id=id, user_email=account.email, reminder_time=same_time, route=ROUTE)
    flash("The note is saved." if changed else "It came back already, so the note was not changed.")
    return redirect(url_for(".show", id=id), code=303)


@blueprint.post("/snoozes/<row:id>/cancel")
@login_required
def cancel(account: Account, id: int) -> ResponseReturnValue:
    with context.transaction() as connection:
        row = _own(connection, account, id=id)
        cancelled = snoozing.cancel(connection, id=id, user_email=account.email, message_id=row.message_id, route=ROUTE)
        in_flight = any(send.state in {"sending", "uncertain"} for send in queries.sends(connection, id=id))
    if not cancelled:
        flash("It was over already, so there was nothing to cancel.")
        return _back(id)
    outcome = "The message is back in your inbox." if row.kept_id else "No reminder will be sent."
    if in_flight:
        outcome = "The reminder was on its way already, so it may still arrive."
    flash(f"Cancelled. {outcome}", undo=url_for(".undo", id=id))
    return _back(id)


@blueprint.post("/snoozes/<row:id>/undo")
@login_required
def undo(account: Account, id: int) -> ResponseReturnValue:
    """Undoes a cancellation."""
    with context.transaction() as connection:
        row = _own(connection, account, id=id)
        undone = snoozing.undo(connection, id=id, user_email=account.email, message_id=row.message_id, route=ROUTE)
    again = f"Asleep again until {time_formatter().inline(row.remind_at)}."
    flash(again if undone else "There is nothing to undo: the message was put away anew, or its reminder is out.")
    return _back(id)


@blueprint.get("/when/preview")
@login_required
def preview(_: Account) -> ResponseReturnValue:
    """The piece of page under the form's field: what `phrase` means. Requested by the script while one types."""
    form = snooze_form(time_formatter(), phrase=request.args.get("phrase", ""))
    return render_template("snoozes/reading.html", form=form)


@blueprint.get("/when/offers")
@login_required
def presets(_: Account) -> ResponseReturnValue:
    """The buttons of the presets as they are now, for a form on a page that was open for a while."""
    return render_template("snoozes/presets.html", form=snooze_form(time_formatter(), saved_times=saved_times()))


def _back(id: int) -> ResponseReturnValue:
    """Redirects to the list that held the form, or to the snooze itself."""
    return back(url_for("snoozes.show", id=id))


def _own(connection: Connection, account: Account, *, id: int, changing: bool = False) -> Found:
    return found_or_404(queries.one(connection, id=id, user_email=account.email, changing=changing))


def _page(
    connection: Connection, account: Account, *, id: int, form: SnoozeForm | None = None, note: str | None = None
) -> ResponseReturnValue:
    """The page of one snooze; with `note` a note that is too long, with `form` a time to confirm or to correct."""
    row, times = _own(connection, account, id=id), time_formatter()
    sends = queries.sends(connection, id=id)
    events = queries.events(connection, id=id)
    page = render_template(
        "snoozes/show.html",
        row=row,
        history=history_lines(events, sends, times),
        phrase_text=phrase_text(row, events, times=times),
        sent=was_it_sent(row, sends, times=times),
        form=form or snooze_form(times, saved_times=saved_times(), snooze=row),
        reply_text=reply_text(row, events, times=times),
        long_note=note,
        max_note_length=MAX_NOTE_LENGTH,
    )
    return page, 422 if note is not None else form.status if form else 200
