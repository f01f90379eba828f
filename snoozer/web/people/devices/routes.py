"""The devices on which a person gets notifications: subscribed by a script after a click, listed and removed here."""

from flask import Blueprint, abort, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from snoozer.db import push
from snoozer.db.models import Account
from snoozer.db.queries import devices
from snoozer.notify import push_devices, push_encryption
from snoozer.notify.push_devices import MAX_DEVICES, NotSubscribed
from snoozer.translations import gettext as _
from snoozer.web import context
from snoozer.web.auth import login_required
from snoozer.web.context import flash
from snoozer.web.text.browser_name import browser_name

blueprint = Blueprint("devices", __name__, url_prefix="/settings/devices")


@blueprint.get("")
@login_required
def index(account: Account) -> ResponseReturnValue:
    with context.transaction() as connection:
        rows = devices.of_account(connection, account_id=account.id)
    return render_template("people/devices/list.html", devices=rows, most=MAX_DEVICES)


@blueprint.post("/key")
@login_required
def key(_account: Account) -> ResponseReturnValue:
    """The public key with which a browser subscribes. It is a POST because the first request creates it."""
    with context.transaction() as connection:
        public = push_devices.public_key(connection, key_ring=context.settings().keys)
    return {"key": push_encryption.base64url(public)}


@blueprint.post("")
@login_required
def subscribe(account: Account) -> ResponseReturnValue:
    """Adds the device of a subscription, which the page's script made. 422 with a sentence if it cannot be used."""
    form = request.form
    try:
        with context.transaction() as connection:
            push_devices.subscribe(
                connection,
                account_id=account.id,
                key_ring=context.settings().keys,
                name=browser_name(request.user_agent.string) or _("An unknown browser"),
                endpoint=form.get("endpoint", ""),
                keys=(form.get("p256dh", ""), form.get("auth", "")),
                shows_subject=form.get("subject") == "on",
                allow_private=context.settings().allow_private_push_services,
            )
    except NotSubscribed as error:
        room = _("%(most)s devices get notifications, which is the limit. Remove one first.", most=MAX_DEVICES)
        return {
            "error": room if error.code == "room" else _("This browser gave no subscription that can be used.")
        }, 422
    flash(_("This device shows when a message is back."))
    return redirect(url_for(".index"), code=303)


@blueprint.post("/<row:id>/subject")
@login_required
def choose_subject(account: Account, id: int) -> ResponseReturnValue:
    """Whether the subject is on a notification of this device."""
    shows = request.form.get("subject") == "on"
    with context.transaction() as connection:
        if not push.set_subject(connection, id=id, account_id=account.id, shows_subject=shows):
            abort(404)
    flash(_("The subject is shown there.") if shows else _("No subject is shown there any more."))
    return redirect(url_for(".index"), code=303)


@blueprint.post("/<row:id>/remove")
@login_required
def remove(account: Account, id: int) -> ResponseReturnValue:
    with context.transaction() as connection:
        removed = push.remove(connection, id=id, account_id=account.id)
    flash(_("That device gets no notifications any more.") if removed else _("That device was removed already."))
    return redirect(url_for(".index"), code=303)
