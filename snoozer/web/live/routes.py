"""The changes in a list since it was shown: as a stream of events, or in one response."""

from flask import Blueprint, request
from flask.typing import ResponseReturnValue

from snoozer.db import list_changes
from snoozer.db.engine import autocommit
from snoozer.db.models import Account
from snoozer.web import context
from snoozer.web.auth import login_required, redirect_to_sign_in
from snoozer.web.live.streams import respond, shown_list, streams

blueprint = Blueprint("live", __name__)


@blueprint.get("/live")
@login_required
def events(account: Account) -> ResponseReturnValue:
    """The stream; 204 from a server that holds none, after which a browser does not retry."""
    shown = shown_list(request.headers.get("Last-Event-ID") or request.args.get("seen"))
    return respond(streams(), account_id=account.id, shown=shown)


@blueprint.get("/live/changes")
def changes() -> ResponseReturnValue:
    """The same in one response, by a single query."""
    shown = shown_list(request.args.get("seen"))
    if shown is None:
        return redirect_to_sign_in()
    with autocommit(context.engine()) as connection:
        [found] = list_changes.find(connection, [shown]).changes
    if not found.is_signed_in:
        return redirect_to_sign_in()
    return {"snapshot": found.snapshot, "transactions": found.transaction_ids}
