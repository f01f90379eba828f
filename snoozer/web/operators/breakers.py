"""Operators' acts on a mail server's breaker: stop sending through it until a reset, or send again at once."""

from dataclasses import asdict

from flask import Blueprint, abort, redirect, request, url_for
from flask.typing import ResponseReturnValue

from snoozer.db import audit
from snoozer.db.audit import Entry
from snoozer.db.models import Account
from snoozer.operators.chunks import UNDONE
from snoozer.queue import breaker
from snoozer.web import context
from snoozer.web.auth import confirmation_required, operator_required
from snoozer.web.context import flash
from snoozer.web.forms import one_line
from snoozer.web.operators import watching
from snoozer.web.text.redaction import without_addresses

blueprint = Blueprint("admin_breakers", __name__, url_prefix="/admin/breakers")

MAX_REASON_LENGTH = 200


@blueprint.post("/trip")
@operator_required
@confirmation_required
def trip(account: Account) -> ResponseReturnValue:
    """Opens the breaker: no mail goes through this server until it is reset. Requires a recent confirmation."""
    return _act(account, "trip")


@blueprint.post("/reset")
@operator_required
def reset(account: Account) -> ResponseReturnValue:
    """Lets workers send through this mail server again, at once."""
    return _act(account, "reset")


def _act(account: Account, act: str) -> ResponseReturnValue:
    server = request.form.get("server", "")
    if not server.isprintable():
        abort(404)
    given = request.form.get("reason", "")[:MAX_REASON_LENGTH]
    reason = one_line(without_addresses(given), max_length=MAX_REASON_LENGTH)
    if reason is None:
        flash("Nothing was done: say why first.")
        return redirect(url_for("admin.overview"), code=303)
    actor = f"operator:{account.id}"
    with context.transaction() as connection:
        before = breaker.lock(connection, server=server) or abort(404)
        if act == "trip":
            is_done = breaker.trip(connection, server=server, actor=actor, reason=reason)
        else:
            is_done = breaker.reset(connection, server=server)
        if is_done:
            after = asdict(breaker.lock(connection, server=server) or before)
            change = Entry(target=f"breaker:{server}", before=asdict(before), after=after)
            audit.append(connection, actor=actor, act=f"{act}_breaker", reason=reason, entries=[change])
    if is_done:
        watching.figures().forget()
    # A stop and its reset undo each other; the reset of a breaker that failures opened has no undo.
    has_undo = is_done and (act == "trip" or before.tripped_at is not None)
    undo = url_for(".reset" if act == "trip" else ".trip") if has_undo else None
    flash(_result(act, server=server, is_done=is_done), undo=undo, server=server, reason=UNDONE)
    return redirect(url_for("admin.overview"), code=303)


def _result(act: str, *, server: str, is_done: bool) -> str:
    if act == "trip":
        return f"Nothing is sent by {server} until you reset it." if is_done else f"{server} was stopped already."
    return f"Workers send by {server} again." if is_done else f"{server} is in use already."
