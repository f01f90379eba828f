"""What is asleep: the list, one snooze, and what its owner does to it."""

from dataclasses import replace
from datetime import timedelta

from flask import Blueprint, abort, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import Connection

from snoozer import snoozing, telemetry
from snoozer.db.models import Account
from snoozer.db.queries import Cursor, Found, InvalidCursor
from snoozer.db.queries import snoozes as pages
from snoozer.db.queue import ReminderTime
from snoozer.domain.reminder import MAX_NOTE_LENGTH
from snoozer.snoozing import SnoozeError
from snoozer.timephrase.zones import zone_or_utc
from snoozer.web import context, flash
from snoozer.web.auth import clock, remember, signed_in, usual
from snoozer.web.snoozes.forms import Chosen, Sheet, answer, instant, sheet
from snoozer.web.text.history import happened
from snoozer.web.text.phrase_text import asleep_until, spoken
from snoozer.web.text.status import PATIENCE, was_it_sent

blueprint = Blueprint("snoozes", __name__)

LATELY = timedelta(days=7)
# Waits between tries end at some hours, but for the hold of what may have been sent.
A_DAY = timedelta(days=1)
ROUTE = "web"


@blueprint.get("/")
@signed_in
def home(account: Account) -> ResponseReturnValue:
    """Everything that has not come back yet, what came back lately, and what went wrong."""
    after = cursor(request.args.get("after"))
    person = account.email
    with context.transaction() as connection:
        page = pages.asleep(connection, user_email=person, after=after)
        words = {
            "page": page,
            "total": pages.count(connection, user_email=person),
            "stuck": [] if after else pages.stuck(connection, user_email=person),
            "came_back": [] if after else pages.came_back(connection, user_email=person, since=clock().now - LATELY),
            "trouble": pages.trouble(
                connection,
                user_email=person,
                now=clock().now,
                tolerance=2 * PATIENCE,
                max_backoff=A_DAY + timedelta(seconds=context.settings().uncertain_hold),
            ),
        }
    ahead = (
        row.remind_at for row in page.rows if not row.inactive and (row.scheduled_for or row.remind_at) > clock().now
    )
    upcoming = None if after else next(ahead, None)
    return render_template(
        "snoozes/list.html", sheet=sheet(clock(), usual=usual()), first_page=after is None, upcoming=upcoming, **words
    )


@blueprint.get("/snoozes/<row:id>")
@signed_in
def show(account: Account, id: int) -> ResponseReturnValue:
    """One snooze, its times, and its paper trail."""
    with context.transaction() as connection:
        return _page(connection, account, id=id)


@blueprint.post("/snoozes/<row:id>/time")
@signed_in
def set_time(account: Account, id: int) -> ResponseReturnValue:
    """Another time for a living snooze; for one that is over, the message is put away anew."""
    answered = answer(request.form, clock=clock(), usual=usual())
    with context.transaction() as connection:
        row = _mine(connection, account, id=id, changing=True)
        if isinstance(answered, Sheet):
            return _page(connection, account, id=id, asked=answered)
        appointment, reading = answered.appointment, answered.reading
        ended = snoozing.ended_recurrence(row.recurrence, appointment) if row.outcome is None else None
        if row.outcome is None and snoozing.change(
            connection, id=id, user_email=account.email, reminder_time=appointment, route=ROUTE, reading=reading
        ):
            remember(connection, account, answered.typed)
            once = row.recurrence is None and appointment.recurrence is None
            said = {"undo": url_for(".restore_time", id=id), **_time_of(row)} if once else {}
        else:
            message = snoozing.Message(message_id=row.message_id, subject=row.subject, sender_email=row.sender_email)
            id, _, ended = put_away(connection, account, message, answered)
            said = {"undo": url_for(".cancel", id=id)}
    flash.say(asleep_until(appointment, clock(), ended=ended), **said)
    return back(id)


@blueprint.post("/snoozes/<row:id>/time/undo")
@signed_in
def restore_time(account: Account, id: int) -> ResponseReturnValue:
    """The time it had before the last change, unless that has passed by now."""
    at = instant(request.form.get("at", ""))
    if at is None:
        abort(400)
    with context.transaction() as connection:
        row = _mine(connection, account, id=id, changing=True)
        try:
            again = snoozing.reminder_time_at(at, now=clock().now, zone=row.zone or account.zone, note=row.note)
        except SnoozeError:
            flash.say("The earlier time has passed, so the new one stays.")
            return back(id)
        kept = _said_as_before(again, kind=request.form.get("kind"))
        changed = snoozing.change(connection, id=id, user_email=account.email, reminder_time=kept, route=ROUTE)
    flash.say(f"Asleep until {clock().inline(at)}, as before." if changed else "It came back already.")
    return back(id)


@blueprint.post("/snoozes/<row:id>/note")
@signed_in
def set_note(account: Account, id: int) -> ResponseReturnValue:
    """Another note; the promise stays as it is."""
    note = request.form.get("note", "")
    with context.transaction() as connection:
        row = _mine(connection, account, id=id, changing=True)
        if len(note) > MAX_NOTE_LENGTH:
            return _page(connection, account, id=id, note=note)
        same_promise = ReminderTime(
            remind_at=row.scheduled_for or row.remind_at,
            duration_hours=row.snooze_duration_hours,
            note=note.replace("\x00", "").strip() or None,
            wall_time=row.wall_time,
            zone=row.zone,
            time_kind=row.time_kind,
            recurrence=row.recurrence,
        )
        changed = snoozing.change(connection, id=id, user_email=account.email, reminder_time=same_promise, route=ROUTE)
    flash.say("The note is saved." if changed else "It came back already, so the note was not changed.")
    return redirect(url_for(".show", id=id), code=303)


@blueprint.post("/snoozes/<row:id>/cancel")
@signed_in
def cancel(account: Account, id: int) -> ResponseReturnValue:
    """No reminder after all."""
    with context.transaction() as connection:
        row = _mine(connection, account, id=id)
        cancelled = snoozing.cancel(connection, id=id, user_email=account.email, message_id=row.message_id, route=ROUTE)
        leaving = any(send.state in {"sending", "uncertain"} for send in pages.sends(connection, id=id))
    if cancelled:
        where = "The message is back in your inbox." if row.kept_id else "No reminder will be sent."
        if leaving:
            where = "The reminder was on its way already, so it may still arrive."
        flash.say(f"Cancelled. {where}", undo=url_for(".undo", id=id))
    else:
        flash.say("It was over already, so there was nothing to cancel.")
    return back(id)


@blueprint.post("/snoozes/<row:id>/undo")
@signed_in
def undo(account: Account, id: int) -> ResponseReturnValue:
    """Undo a cancellation."""
    with context.transaction() as connection:
        row = _mine(connection, account, id=id)
        undone = snoozing.undo(connection, id=id, user_email=account.email, message_id=row.message_id, route=ROUTE)
    if undone:
        flash.say(f"Asleep again until {clock().inline(row.remind_at)}.")
    else:
        flash.say("There is nothing to undo: the message was put away anew, or its reminder is out.")
    return back(id)


def put_away(
    connection: Connection, account: Account, message: snoozing.Message, chosen: Chosen
) -> snoozing.SnoozeResult:
    """What a posted sheet comes to, done."""
    remember(connection, account, chosen.typed)
    return snoozing.snooze(
        connection,
        user_email=account.email,
        message=message,
        reminder_time=chosen.appointment,
        route=ROUTE,
        reading=chosen.reading,
        traceparent=telemetry.traceparent(),
    )


def back(id: int) -> ResponseReturnValue:
    """To the page the form stood on: a list, or the snooze itself."""
    place = {"list": url_for("snoozes.home"), "mailbox": url_for("mailbox.browse")}
    return redirect(place.get(request.form.get("from", ""), url_for("snoozes.show", id=id)), code=303)


def cursor(text: str | None) -> Cursor | None:
    """The cursor in a page's address; an address nobody was given is no page."""
    if not text:
        return None
    try:
        return Cursor.parse(text)
    except InvalidCursor:
        abort(404)


def _mine(connection: Connection, account: Account, *, id: int, changing: bool = False) -> Found:
    row = pages.one(connection, id=id, user_email=account.email, changing=changing)
    if row is None:
        abort(404)
    return row


def _page(
    connection: Connection, account: Account, *, id: int, asked: Sheet | None = None, note: str | None = None
) -> ResponseReturnValue:
    row = _mine(connection, account, id=id)
    sends = pages.sends(connection, id=id)
    events = pages.events(connection, id=id)
    page = render_template(
        "snoozes/show.html",
        row=row,
        happened=happened(events, sends, clock()),
        spoken=spoken(row, events, clock=clock()),
        sent=was_it_sent(row, sends, clock=clock()),
        sheet=asked or sheet(clock(), usual=usual(), note=row.note),
        long_note=note,
        longest_note=MAX_NOTE_LENGTH,
    )
    return page, 422 if note is not None else asked.status if asked else 200


def _time_of(row: Found) -> dict[str, str]:
    """What Undo needs to give a single time back."""
    return {"at": row.remind_at.isoformat(), "kind": row.time_kind or ""}


def _said_as_before(appointment: ReminderTime, *, kind: str | None) -> ReminderTime:
    if kind not in {"wall", "elapsed"}:
        return appointment
    wall = appointment.remind_at.astimezone(zone_or_utc(appointment.zone)).replace(tzinfo=None)
    return replace(appointment, wall_time=wall, time_kind=kind)
