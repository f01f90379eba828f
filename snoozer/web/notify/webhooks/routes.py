"""Webhooks: the endpoints that receive a person's snooze events, and the deliveries to each, with the responses."""

from collections.abc import Sequence

from flask import Blueprint, abort, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import Connection

from snoozer.db import webhooks as ledger
from snoozer.db.models import Account
from snoozer.db.queries import Found
from snoozer.db.queries import webhooks as queries
from snoozer.notify import webhooks
from snoozer.notify.webhook_message import EVENTS, OFF_WORDS, type_of
from snoozer.notify.webhooks import MAX_ENDPOINTS, Added, NotAdded
from snoozer.telemetry import security_log
from snoozer.translations import N_
from snoozer.translations import gettext as _
from snoozer.web import context
from snoozer.web.auth import login_required
from snoozer.web.context import flash

blueprint = Blueprint("webhooks", __name__, url_prefix="/settings/webhooks")

PAGE_SIZE = 50
MAX_ID = 2**63 - 1

EVENT_WORDS = {
    "created": N_("Snoozed"),
    "edited": N_("Changed, paused or resumed"),
    "due": N_("Due"),
    "sent": N_("Reminder sent"),
    "returned": N_("Back in the inbox"),
    "done": N_("Done"),
    "cancelled": N_("Cancelled"),
    "stuck": N_("Given up"),
    "test": N_("Test"),
}
REASON_WORDS = {
    "answer": N_("It answered, and did not take it."),
    "redirect": N_("It redirects elsewhere, which is not followed. Enter the address that it leads to."),
    "gone": N_("It answered 410, which means that it is gone for good."),
    "slow": N_("It took too long to answer."),
    "name": N_("Its name cannot be found."),
    "refused_address": N_("Snoozer does not connect to addresses like this one, such as those of a private network."),
    "unreachable": N_("It cannot be reached."),
    "certificate": N_("Its certificate cannot be trusted."),
    "protocol": N_("It closed the connection, or its answer was not HTTP."),
    "off": N_("The webhook was switched off."),
    "error": N_("Snoozer failed at this."),
}
NOT_ADDED = {
    "url": N_("That is no address that can be used: it begins with https:// and names a server on the internet."),
    "events": N_("Choose at least one event."),
    "room": N_("You have a webhook with this address already, or as many as there may be."),
}


@blueprint.get("")
@login_required
def index(account: Account) -> ResponseReturnValue:
    with context.transaction() as connection:
        return _list(connection, account)


@blueprint.post("")
@login_required
def add(account: Account) -> ResponseReturnValue:
    """Adds a webhook and shows its secret once: no redirect can show it."""
    form = request.form
    try:
        with context.transaction() as connection:
            added = webhooks.add(
                connection,
                account_id=account.id,
                key_ring=context.settings().keys,
                url=form.get("url", "").strip(),
                events=form.getlist("event"),
                shows_subject=form.get("subject") == "on",
                allow_private=context.settings().allow_private_webhooks,
            )
            page = _list(connection, account, added=added)
    except NotAdded as error:
        with context.transaction() as connection:
            return _list(connection, account, error=error.code), 422
    security_log.record("webhook_added", account=account.id)
    return page


@blueprint.get("/<row:id>")
@login_required
def show(account: Account, id: int) -> ResponseReturnValue:
    with context.transaction() as connection:
        return _one(connection, account, id)


@blueprint.post("/<row:id>/events")
@login_required
def change(account: Account, id: int) -> ResponseReturnValue:
    """Saves which events it gets, and whether with the subject."""
    events, subject = request.form.getlist("event"), request.form.get("subject") == "on"
    try:
        with context.transaction() as connection:
            if not webhooks.change(connection, account_id=account.id, id=id, events=events, shows_subject=subject):
                abort(404)
    except NotAdded as error:
        with context.transaction() as connection:
            return _one(connection, account, id, error=error.code), 422
    flash(_("Saved. It holds for what happens from now on."))
    return redirect(url_for(".show", id=id), code=303)


@blueprint.post("/<row:id>/secret")
@login_required
def rotate(account: Account, id: int) -> ResponseReturnValue:
    """Makes a new secret and shows it once."""
    with context.transaction() as connection:
        secret = webhooks.rotate(connection, account_id=account.id, id=id, key_ring=context.settings().keys)
        if secret is None:
            abort(404)
        page = _one(connection, account, id, secret=secret)
    security_log.record("webhook_secret_rotated", account=account.id)
    return page


@blueprint.post("/<row:id>/test")
@login_required
def test(account: Account, id: int) -> ResponseReturnValue:
    """Sends a test event."""
    with context.transaction() as connection:
        _exists(connection, account, id)
        entered = ledger.enter_test(connection, id=id, account_id=account.id)
    if entered is None:
        flash(_("No test was sent: one is on its way, or the webhook is off."))
    else:
        flash(_("A test is on its way. Reload this page to see the answer."))
    return redirect(url_for(".show", id=id, _anchor="deliveries"), code=303)


@blueprint.post("/<row:id>/switch")
@login_required
def switch(account: Account, id: int) -> ResponseReturnValue:
    """Switches it on or off."""
    with context.transaction() as connection:
        _exists(connection, account, id)
        if request.form.get("to") == "off":
            ledger.switch_off(connection, id=id, reason="owner", account_id=account.id)
            words = _("It is off. Nothing is sent to it.")
        else:
            ledger.switch_on(connection, id=id, account_id=account.id)
            words = _("It is on again, and gets what happens from now on. What failed can be sent again below.")
    flash(words)
    return redirect(url_for(".show", id=id), code=303)


@blueprint.post("/<row:id>/remove")
@login_required
def remove(account: Account, id: int) -> ResponseReturnValue:
    with context.transaction() as connection:
        removed = ledger.remove(connection, id=id, account_id=account.id)
    if removed:
        security_log.record("webhook_removed", account=account.id)
    flash(_("That webhook is removed, with all that was sent to it.") if removed else _("It was removed already."))
    return redirect(url_for(".index"), code=303)


@blueprint.get("/deliveries/<row:id>")
@login_required
def delivery(account: Account, id: int) -> ResponseReturnValue:
    """One delivery: its request, and the beginning of the response."""
    with context.transaction() as connection:
        row = queries.delivery(connection, id=id, account_id=account.id) or abort(404)
        endpoint = queries.endpoint(connection, id=row.endpoint_id, account_id=account.id) or abort(404)
    return render_template(
        "notify/webhooks/delivery.html",
        sent=row,
        endpoint=endpoint,
        message_id=webhooks.message_id(row.number),
        body=webhooks.body_of(row),
        type=type_of(row.event),
        **_words(),
    )


@blueprint.post("/deliveries/<row:id>/resend")
@login_required
def resend(account: Account, id: int) -> ResponseReturnValue:
    """Sends it once more, with the same id."""
    with context.transaction() as connection:
        if queries.delivery(connection, id=id, account_id=account.id) is None:
            abort(404)
        again = ledger.resend(connection, id=id, account_id=account.id)
    if again:
        flash(_("It is sent once more, with the same id. Reload this page to see the answer."))
    else:
        flash(_("It was not sent: it waits to be sent already, or the webhook is off."))
    return redirect(url_for(".delivery", id=id), code=303)


def _exists(connection: Connection, account: Account, id: int) -> Found:
    return queries.endpoint(connection, id=id, account_id=account.id) or abort(404)


def _words() -> dict[str, object]:
    return {"event_words": EVENT_WORDS, "off_words": OFF_WORDS, "reason_words": REASON_WORDS}


def _list(connection: Connection, account: Account, *, added: Added | None = None, error: str | None = None) -> str:
    form = request.form
    return render_template(
        "notify/webhooks/list.html",
        endpoints=queries.of_account(connection, account_id=account.id),
        added=added,
        error=None if error is None else _(NOT_ADDED[error]),
        error_field=error,
        typed=form.get("url", "") if error else "",
        chosen=form.getlist("event") if error else EVENTS,
        subject=bool(error) and form.get("subject") == "on",
        events=EVENTS,
        most=MAX_ENDPOINTS,
        **_words(),
    )


def _one(
    connection: Connection, account: Account, id: int, *, secret: str | None = None, error: str | None = None
) -> str:
    endpoint = _exists(connection, account, id)
    rows: Sequence[Found] = queries.deliveries(connection, endpoint_id=id, before=_before(), size=PAGE_SIZE + 1)
    return render_template(
        "notify/webhooks/show.html",
        endpoint=endpoint,
        secret=secret,
        error=None if error is None else _(NOT_ADDED[error]),
        deliveries=rows[:PAGE_SIZE],
        next_url=url_for(".show", id=id, before=rows[PAGE_SIZE - 1].id) if len(rows) > PAGE_SIZE else None,
        events=EVENTS,
        **_words(),
    )


def _before() -> int | None:
    text = request.args.get("before", "")
    return min(int(text[:19]), MAX_ID) if text.isascii() and text.isdigit() else None
