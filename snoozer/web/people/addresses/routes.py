"""A person's addresses: add one by a mailed code, remove one, and choose the one to which reminders go."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from snoozer.db.models import Account
from snoozer.db.queries import pauses as queries
from snoozer.operators import pauses
from snoozer.people import addresses
from snoozer.people.accounts import InvalidAddress
from snoozer.people.addresses import MAX_ADDRESSES
from snoozer.telemetry import security_log
from snoozer.translations import N_
from snoozer.translations import gettext as _
from snoozer.web import auth, context
from snoozer.web.auth import login_required
from snoozer.web.context import flash
from snoozer.web.people.sign_in.mailing import send_in_background, send_invitation

blueprint = Blueprint("own_addresses", __name__, url_prefix="/settings/own-addresses")

NOT_ADDED = {
    "wrong_code": N_(
        "That code does not fit. It has eight digits, works for ten minutes, and a newer mail replaces it."
    ),
    "taken": N_("This address belongs to an account already, so it was not added."),
}
TOO_MANY = N_("At most five codes an hour are mailed. Wait an hour, then ask for another one.")
NO_ROOM = N_("You have as many addresses as there may be. Remove one first.")
CHOSEN = N_("Reminders go to %(address)s now.")


@blueprint.get("")
@login_required
def show(account: Account) -> ResponseReturnValue:
    return _page(account)


@blueprint.post("")
@login_required
def ask(account: Account) -> ResponseReturnValue:
    """Mails a code to an address. The response is the same if it belongs to an account."""
    typed = request.form.get("email", "")
    with context.transaction() as connection:
        has_room = len(addresses.list_all(connection, account_id=account.id)) < MAX_ADDRESSES
        try:
            invitation = has_room and addresses.request_code(
                connection, account_id=account.id, email=typed, session=_session()
            )
        except InvalidAddress as error:
            return _page(account, typed=typed, error=str(error)), 422
    if not invitation:
        return _page(account, typed=typed, error=_(TOO_MANY if has_room else NO_ROOM)), 422
    send_invitation(invitation, settings=context.settings(), template="address_code")
    return _page(account, asked=invitation.email)


@blueprint.post("/code")
@login_required
def add(account: Account) -> ResponseReturnValue:
    """Adds the address to which the typed code was mailed. If the other one takes no mail, reminders go to it."""
    typed = request.form.get("email", "")
    with context.transaction() as connection:
        try:
            verdict = addresses.add(
                connection,
                account_id=account.id,
                email=typed,
                code=request.form.get("code", "")[:40],
                session=_session(),
            )
        except InvalidAddress as error:
            return _page(account, typed=typed, error=str(error)), 422
    if verdict != "added":
        asked = typed if verdict == "wrong_code" else None
        return _page(account, asked=asked, error=_(NOT_ADDED[verdict])), 422
    security_log.record("address_added", account=account.id)
    words = {"address": typed.strip(), "link": f"{context.settings().base_url}{url_for('.show')}"}
    send_in_background("address_added", words, to=account.email, settings=context.settings())
    flash(_("%(address)s is yours now: mail from it and to it is your mail.", address=typed.strip()))
    return redirect(url_for(".show"), code=303)


@blueprint.post("/choose")
@login_required
def choose(account: Account) -> ResponseReturnValue:
    """Sends reminders to this address from now on, also reminders that waited because another one took no mail."""
    email = request.form.get("email", "")
    with context.transaction() as connection:
        is_own = addresses.choose(connection, account_id=account.id, email=email)
        for marked in (email, account.email) if is_own else ():
            id = queries.invalid(connection, email=marked)
            if id is not None:
                reason = "Its person chose where reminders go"
                pauses.resume(connection, id=id, actor=f"user:{account.id}", reason=reason)
    flash(_(CHOSEN, address=email) if is_own else _("That is none of your addresses."))
    return redirect(url_for(".show"), code=303)


@blueprint.post("/remove")
@login_required
def remove(account: Account) -> ResponseReturnValue:
    """Forgets an address, which is no longer the person's."""
    email = request.form.get("email", "")
    with context.transaction() as connection:
        removed = addresses.remove(connection, account_id=account.id, email=email)
    if removed:
        security_log.record("address_removed", account=account.id)
    flash(_("%(address)s is removed.", address=email) if removed else _("That is none of your addresses."))
    return redirect(url_for(".show"), code=303)


def _session() -> str:
    return auth.get_cookie("session") or ""


def _page(account: Account, *, typed: str = "", asked: str | None = None, error: str | None = None) -> str:
    """The page; with `asked`, it asks for the code that was mailed to that address."""
    with context.transaction() as connection:
        own = addresses.list_all(connection, account_id=account.id)
    return render_template(
        "people/addresses/list.html", own=own, most=MAX_ADDRESSES, typed=typed, asked=asked, error=error
    )
