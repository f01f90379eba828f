"""The mailbox that Snoozer keeps: its folders, one message, and putting it away."""

import re

from flask import Blueprint, abort, make_response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import Connection

from snoozer import snoozing
from snoozer.db import mailbox_store
from snoozer.db.models import Account
from snoozer.db.queries import Found, snoozes
from snoozer.db.queries import messages as pages
from snoozer.mime import message_parser
from snoozer.web import context, flash
from snoozer.web.auth import clock, signed_in, usual
from snoozer.web.snoozes.forms import Sheet, answer, sheet
from snoozer.web.snoozes.routes import ROUTE, cursor, put_away
from snoozer.web.text.phrase_text import asleep_until, end_of

blueprint = Blueprint("mailbox", __name__, url_prefix="/mailbox")

FOLDERS: dict[str, pages.Folder] = {"inbox": "inbox", "asleep": "snoozed", "done": "done"}


@blueprint.get("")
@signed_in
def browse(account: Account) -> ResponseReturnValue:
    """One folder, the last to come (back) on top."""
    name = request.args.get("folder", "inbox")
    if name not in FOLDERS:
        abort(404)
    before = cursor(request.args.get("before"))
    with context.transaction() as connection:
        page = pages.in_folder(connection, user_email=account.email, folder=FOLDERS[name], before=before)
        counts = pages.counts(connection, user_email=account.email)
    return render_template(
        "mailbox/list.html",
        page=page,
        counts=counts,
        folder=name,
        sheet=sheet(clock(), usual=usual()),
        first_page=before is None,
    )


@blueprint.get("/<row:id>")
@signed_in
def show(account: Account, id: int) -> ResponseReturnValue:
    """One message as plain text."""
    with context.transaction() as connection:
        row = _mine(connection, account, id=id, whole=True)
        asleep = snoozes.live(connection, user_email=account.email, message_id=row.message_id)
    return render_template(
        "mailbox/show.html",
        row=row,
        letter=message_parser.parse(row.original),
        asleep=asleep,
        sheet=sheet(clock(), usual=usual()),
    )


@blueprint.get("/<row:id>/original")
@signed_in
def download(account: Account, id: int) -> ResponseReturnValue:
    """The bytes as they came, as a file that no browser opens by itself."""
    with context.transaction() as connection:
        row = _mine(connection, account, id=id, whole=True)
    name = re.sub(r"[^A-Za-z0-9]+", "-", row.subject or "").strip("-")[:60] or "message"
    response = make_response(row.original)
    response.headers["Content-Type"] = "application/octet-stream"
    response.headers["Content-Disposition"] = f'attachment; filename="{name}.eml"'
    response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
    return response


@blueprint.get("/<row:id>/snooze")
@signed_in
def ask(account: Account, id: int) -> ResponseReturnValue:
    """The snooze sheet as a page of its own."""
    with context.transaction() as connection:
        row = _mine(connection, account, id=id)
        asleep = snoozes.live(connection, user_email=account.email, message_id=row.message_id)
        asked = sheet(clock(), usual=usual(), note=asleep.note if asleep else None)
    return _sheet(row, asleep, asked=asked)


@blueprint.post("/<row:id>/snooze")
@signed_in
def snooze(account: Account, id: int) -> ResponseReturnValue:
    """Put the message away."""
    answered = answer(request.form, clock=clock(), usual=usual())
    with context.transaction() as connection:
        row = _mine(connection, account, id=id)
        if isinstance(answered, Sheet):
            asleep = snoozes.live(connection, user_email=account.email, message_id=row.message_id)
            return _sheet(row, asleep, asked=answered)
        message = snoozing.Message(message_id=row.message_id, subject=row.subject, sender_email=row.sender_email)
        snoozed = put_away(connection, account, message, answered)
    undo = url_for("snoozes.cancel", id=snoozed.id) if snoozed.new else None
    flash.say(asleep_until(answered.appointment, clock(), ended=snoozed.ended), undo=undo, **{"from": "mailbox"})
    return redirect(url_for(".browse"), code=303)


@blueprint.post("/<row:id>/done")
@signed_in
def done(account: Account, id: int) -> ResponseReturnValue:
    """Out of the inbox for good."""
    with context.transaction() as connection:
        row = _mine(connection, account, id=id)
        mailbox_store.mark_done(connection, user_email=account.email, message_id=row.message_id)
    flash.say("Done.", undo=url_for(".to_inbox", id=id))
    return redirect(url_for(".browse"), code=303)


@blueprint.post("/<row:id>/inbox")
@signed_in
def to_inbox(account: Account, id: int) -> ResponseReturnValue:
    """Back into the inbox. A snooze that put it away is cancelled, for a message is in one place; what repeats and has
    come for this time goes on."""
    with context.transaction() as connection:
        row = _mine(connection, account, id=id)
        asleep = snoozes.live(connection, user_email=account.email, message_id=row.message_id)
        if row.folder != "snoozed":
            asleep = None
        if asleep is not None:
            snoozing.cancel(connection, id=asleep.id, user_email=account.email, message_id=row.message_id, route=ROUTE)
        mailbox_store.move_to_inbox(connection, user_email=account.email, message_id=row.message_id)
    ending = f" {end_of(asleep.recurrence, clock())}" if asleep is not None and asleep.recurrence else ""
    flash.say(
        f"It is in your inbox.{ending}", undo=url_for("snoozes.undo", id=asleep.id) if asleep is not None else None
    )
    return redirect(url_for(".browse"), code=303)


@blueprint.post("/<row:id>/read")
@signed_in
def mark_read(account: Account, id: int) -> ResponseReturnValue:
    """Opened. The page's script posts this; without scripts there is a button."""
    with context.transaction() as connection:
        if not mailbox_store.mark_read(connection, id=id, user_email=account.email):
            abort(404)
    return redirect(url_for(".show", id=id), code=303)


def _mine(connection: Connection, account: Account, *, id: int, whole: bool = False) -> Found:
    row = pages.one(connection, id=id, user_email=account.email, whole=whole)
    if row is None:
        abort(404)
    return row


def _sheet(row: Found, asleep: Found | None, *, asked: Sheet) -> ResponseReturnValue:
    return render_template("mailbox/snooze.html", row=row, asleep=asleep, sheet=asked), asked.status
