"""The targets of a notification: its buttons act by a POST of the service worker, with a token that permits one act on
one occurrence, like links in mails; they also work on a device that is signed out. A click opens the message."""

from flask import Blueprint, redirect, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import Connection

from snoozer import telemetry
from snoozer.db.models import Account
from snoozer.db.queries import accounts, messages, snoozes
from snoozer.db.statements import database_time
from snoozer.mail import links
from snoozer.mail.links import InvalidLink, Link
from snoozer.mailboxes.read.keys import MessageKey
from snoozer.notify.push_message import BUTTONS
from snoozer.people import quotas
from snoozer.people.quotas import QuotaReached
from snoozer.snoozes import input, reminder_links
from snoozer.snoozes.decision import MAY_ARRIVE
from snoozer.snoozes.reminder_links import Occurrence
from snoozer.translations import gettext as _
from snoozer.web import context
from snoozer.web.auth import login_required
from snoozer.web.context import found_or_404
from snoozer.web.text.phrase_text import asleep_until_text
from snoozer.web.text.time_format import TimeFormatter

blueprint = Blueprint("push", __name__, url_prefix="/push")

ROUTE = "notification"


@blueprint.post("/act")
def act() -> ResponseReturnValue:
    """Performs the token's act: done, or snooze again. Answers with a sentence for the next notification, and the URL
    of a page that explains and can undo it."""
    token = request.form.get("token", "")
    try:
        link = links.verify(token, keys=context.settings().keys)
    except InvalidLink:
        return {"text": _("This button is not from here, or was changed on its way.")}, 404
    if (link.action, link.phrase) not in BUTTONS.values():
        return {"text": _("This button is not from here, or was changed on its way.")}, 404
    try:
        with context.transaction() as connection:
            occurrence = reminder_links.find(connection, link=link, acting=True)
            if occurrence is None:
                return {"text": _("There is nothing left of this message here.")}, 410
            locale = accounts.locale_of(connection, user_email=occurrence.user_email)
            context.use_locale(locale)
            times = TimeFormatter(now=database_time(connection), zone=occurrence.zone, locale=locale)
            if links.is_old(occurrence.mailed_at, times.now):
                text = _("This notification is more than 30 days old, and its buttons do nothing any more.")
            elif link.action == "done":
                text = _done(connection, occurrence)
            else:
                text = _snooze_again(connection, link, occurrence, times)
    except QuotaReached as reached:
        return {"text": f"{reached} " + _("Nothing was saved.")}, 429
    return {"text": text, "open": url_for("reminder_links.show", token=token)}


def _done(connection: Connection, occurrence: Occurrence) -> str:
    if reminder_links.done(connection, occurrence=occurrence, route=ROUTE):
        return _("Done.") + _late(occurrence)
    return _("It was done already.") if occurrence.status == "done" else _("It is asleep again, and was left so.")


def _snooze_again(connection: Connection, link: Link, occurrence: Occurrence, times: TimeFormatter) -> str:
    if occurrence.closed:
        return _("This account is closed. Nothing was changed.")
    # The token's own phrase, which is ours and parsed in English.
    reading = input.parse_phrase(link.phrase or "", now=times.now, zone=times.zone, locale="en_GB")
    reminder_time = input.reminder_time_of(reading, now=times.now, note=occurrence.note)
    quotas.spend_snooze(connection, context.settings().limits, user_email=occurrence.user_email)
    if reminder_links.snooze_again(
        connection,
        occurrence=occurrence,
        reminder_time=reminder_time,
        route=ROUTE,
        traceparent=telemetry.traceparent(),
    ):
        return asleep_until_text(reminder_time, times) + _late(occurrence)
    return _("It comes back by itself, and was left so.")


def _late(occurrence: Occurrence) -> str:
    return f" {_(MAY_ARRIVE)}" if occurrence.on_its_way else ""


@blueprint.get("/open/<row:id>")
@login_required
def open_message(account: Account, id: int) -> ResponseReturnValue:
    """Redirects to the message of a snooze in its current place, or to the snooze."""
    with context.transaction() as connection:
        row = found_or_404(snoozes.one(connection, id=id, user_email=account.email))
        there = messages.located(connection, user_email=account.email, message_id=row.message_id, at_home=True)
    if row.kept_id:
        return redirect(url_for("mailbox.show", key=row.kept_id), code=303)
    if there is not None:
        key = MessageKey(there.folder, there.uidvalidity, there.uid)
        return redirect(url_for("mailbox.show", mailbox_id=there.mailbox_id, key=str(key)), code=303)
    return redirect(url_for("snoozes.show", id=id), code=303)
