"""The devices and services on which a person gets notifications: devices are subscribed by a script after a click."""

from flask import Blueprint, abort, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from snoozer.db import push
from snoozer.db.models import Account
from snoozer.db.queries import devices
from snoozer.notify import push_devices, push_encryption, services
from snoozer.notify.push_devices import MAX_DEVICES, NotSubscribed
from snoozer.notify.services import SERVICES
from snoozer.runtime.encryption import Undecryptable
from snoozer.telemetry import security_log
from snoozer.translations import N_
from snoozer.translations import gettext as _
from snoozer.web import context
from snoozer.web.auth import login_required
from snoozer.web.context import flash
from snoozer.web.text.browser_name import browser_name

blueprint = Blueprint("devices", __name__, url_prefix="/settings/devices")

# The label of each field of a service, and an example.
FIELDS = {
    ("ntfy", "url"): (N_("Address of the topic"), "https://ntfy.sh/topic"),
    ("ntfy", "token"): (N_("Access token, if the topic needs one"), "tk_…"),
    ("gotify", "url"): (N_("Address of the server"), "https://gotify.example"),
    ("gotify", "token"): (N_("Token of the application"), "A…"),
    ("gotify", "client"): (N_("Token of a client, to take notifications back"), "C…"),
    ("slack", "url"): (N_("Address of the incoming webhook"), "https://hooks.slack.com/services/…"),
    ("teams", "url"): (N_("Address of the workflow"), "https://….logic.azure.com/workflows/…"),
    ("telegram", "token"): (N_("Token of the bot"), "123456:ABC…"),
    ("telegram", "chat"): (N_("Number of the chat, or @name of the channel"), "-1001234567890"),
    ("apprise", "url"): (N_("Address of the configuration"), "https://apprise.example/notify/key"),
}
# Other services with an address of this kind.
OTHERS = {
    "slack": N_("Mattermost and Rocket.Chat, too"),
    "apprise": N_("for many other services"),
}
PROBLEMS = {
    "refused": N_("It does not accept notifications from here. Check its address and token, and add it again."),
    "key": N_("Its address can no longer be read here. Remove it, and add it again."),
    "refused_address": N_("Snoozer does not connect to addresses like this one, such as those of a private network."),
}
NOT_ADDED = {
    "service": N_("The operators of this Snoozer do not allow this service."),
    "url": N_("That is no address of this service that can be used. It looks like %(example)s."),
    "token": N_("That is no token of this service."),
    "client": N_("That is no token of a client."),
    "chat": N_("That is no number of a chat, and no name of a channel."),
    "known": N_("This one is in the list already."),
    "room": N_("You have as many devices and services as there may be. Remove one first."),
}


@blueprint.get("")
@login_required
def index(account: Account) -> ResponseReturnValue:
    return _list(account)


def _list(account: Account, *, error: str | None = None) -> str:
    with context.transaction() as connection:
        rows = devices.of_account(connection, account_id=account.id)
    chosen = request.form.get("service", "")
    _label, example = FIELDS.get((chosen, "url"), ("", ""))
    return render_template(
        "people/devices/list.html",
        devices=rows,
        most=MAX_DEVICES,
        services=SERVICES,
        allowed=context.settings().channels,
        fields=FIELDS,
        others=OTHERS,
        problems=PROBLEMS,
        hears_alarms=account.may("view"),
        chosen=chosen,
        error=None if error is None else _(NOT_ADDED[error], example=example),
        error_field=error if error in {"url", "token", "client", "chat"} else None,
    )


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


@blueprint.post("/services")
@login_required
def add_service(account: Account) -> ResponseReturnValue:
    """Adds a service: by its fields, or as it was before it was removed."""
    form, settings = request.form, context.settings()
    try:
        address = services.open_address(settings.keys, form["sealed"].encode())[0] if "sealed" in form else form
        with context.transaction() as connection:
            services.add(
                connection,
                account_id=account.id,
                key_ring=settings.keys,
                service=form.get("service", ""),
                address=address,
                shows_subject=form.get("subject") == "on",
                allowed=settings.channels,
                allow_private=settings.allow_private_push_services,
            )
    except services.NotAdded as error:
        return _list(account, error=error.code), 422
    except Undecryptable:
        abort(404)
    security_log.record("service_added", account=account.id)
    flash(_("It is in the list again.") if "sealed" in form else _("It is added. Send a test to see that it works."))
    return redirect(url_for(".index", _anchor="all-devices"), code=303)


@blueprint.post("/<row:id>/test")
@login_required
def test(account: Account, id: int) -> ResponseReturnValue:
    """Sends a test to a service."""
    with context.transaction() as connection:
        if devices.service(connection, id=id, account_id=account.id) is None:
            abort(404)
        entered = push.enter_test(connection, id=id, account_id=account.id)
    flash(_("A test is on its way. Reload this page if it does not come.") if entered else _("A test is on its way."))
    return redirect(url_for(".index", _anchor="all-devices"), code=303)


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


@blueprint.post("/<row:id>/alarms")
@login_required
def choose_alarms(account: Account, id: int) -> ResponseReturnValue:
    """Whether a service of an operator gets alarms."""
    tells = request.form.get("alarms") == "on"
    if tells and not account.may("view"):
        abort(403)
    with context.transaction() as connection:
        if not push.set_alarms(connection, id=id, account_id=account.id, tells_alarms=tells):
            abort(404)
    flash(_("Alarms are sent there.") if tells else _("No alarms are sent there any more."))
    return redirect(url_for(".index", _anchor="all-devices"), code=303)


@blueprint.post("/<row:id>/remove")
@login_required
def remove(account: Account, id: int) -> ResponseReturnValue:
    with context.transaction() as connection:
        service = services.remove(connection, id=id, account_id=account.id)
        removed = service is not None or push.remove(connection, id=id, account_id=account.id)
    if service is not None:
        security_log.record("service_removed", account=account.id)
        flash(_("That service gets no notifications any more."), undo=url_for(".add_service"), **service)
    else:
        flash(_("That device gets no notifications any more.") if removed else _("That device was removed already."))
    return redirect(url_for(".index"), code=303)
