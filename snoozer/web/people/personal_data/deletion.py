"""Delete the account: show what is deleted and kept, require a confirmed session, allow withdrawal within a day."""

from flask import Blueprint, abort, make_response, redirect, render_template, request, session, url_for
from flask.typing import ResponseReturnValue

from snoozer.db.models import Account
from snoozer.db.queries import deletions as queries
from snoozer.people import accounts
from snoozer.people.personal_data import deletion
from snoozer.telemetry import security_log
from snoozer.translations import gettext as _
from snoozer.web import auth, context
from snoozer.web.auth import login_required, time_formatter
from snoozer.web.context import flash
from snoozer.web.people.sign_in.mailing import send_in_background

blueprint = Blueprint("deletion", __name__, url_prefix="/settings/data/delete")


@blueprint.get("")
@login_required
def show(account: Account) -> ResponseReturnValue:
    """Previews the deletion, and shows the pending request."""
    with context.transaction() as connection:
        ahead = queries.preview(connection, account_id=account.id, user_email=account.email)
    return render_template("people/personal_data/delete.html", ahead=ahead, is_fresh=_is_confirmed())


@blueprint.post("")
@login_required
def ask(account: Account) -> ResponseReturnValue:
    """Requests the deletion, which happens in a day."""
    pending = request.form.get("pending", "deliver")
    if pending not in {"deliver", "cancel"}:
        abort(400)
    if not _is_confirmed():
        flash(_("Sign in again first. Nothing was changed."))
        return redirect(url_for(".show"), code=303)
    try:
        with context.transaction() as connection:
            due_at = deletion.request(connection, account_id=account.id, deliver=pending == "deliver")
    except accounts.LastAdmin:
        flash(
            _("You are the last admin of this Snoozer. Give another account the role admin first. Nothing was deleted.")
        )
        return redirect(url_for(".show"), code=303)
    if due_at is not None:
        security_log.record("account_deletion_asked", account=account.id)
        words = {"due": time_formatter().exact(due_at), "link": f"{context.settings().base_url}{url_for('.show')}"}
        send_in_background("deletion", words, to=account.email, settings=context.settings())
    return redirect(url_for(".show"), code=303)


@blueprint.post("/keep")
@login_required
def keep(account: Account) -> ResponseReturnValue:
    """Takes the request back."""
    with context.transaction() as connection:
        kept = deletion.withdraw(connection, account_id=account.id)
    if kept:
        security_log.record("account_deletion_withdrawn", account=account.id)
    flash(_("Your account stays. Nothing was deleted."))
    return redirect(url_for("personal_data.show"), code=303)


@blueprint.post("/again")
@login_required
def sign_out_first(account: Account) -> ResponseReturnValue:
    """Ends this session, and leads back here after the owner has signed in again."""
    with context.transaction() as connection:
        accounts.sign_out(connection, session=auth.get_cookie("session") or "")
    security_log.record("signed_out", account=account.id)
    session.clear()
    response = make_response(redirect(url_for("sign_in.request_page", next=url_for(".show")), code=303))
    auth.delete_cookie(response, "session")
    return response


def _is_confirmed() -> bool:
    """A browser that its owner left open cannot delete the account."""
    with context.transaction() as connection:
        return accounts.is_confirmed(connection, session=auth.get_cookie("session") or "")
