"""What changed in a list since it was shown: as a stream of events, or asked for once."""

from flask import Blueprint, Response, request
from flask.typing import ResponseReturnValue

from snoozer import accounts
from snoozer.db import list_changes
from snoozer.db.engine import autocommit
from snoozer.db.list_changes import UNKNOWN, OpenList, is_snapshot
from snoozer.db.models import Account
from snoozer.web import context
from snoozer.web.auth import get_cookie, login_required, redirect_to_sign_in
from snoozer.web.front import STREAM
from snoozer.web.live.streams import streams

blueprint = Blueprint("live", __name__)


@blueprint.get("/live")
@login_required
def events(account: Account) -> ResponseReturnValue:
    """The stream; 204 from a server that holds none, after which a browser does not ask again."""
    hold = request.environ.get(STREAM)
    shown = _shown(request.headers.get("Last-Event-ID") or request.args.get("seen"))
    if hold is None or shown is None or request.method != "GET":
        return Response(status=204)
    hold(streams().events(account_id=account.id, shown=shown))
    response = Response(mimetype="text/event-stream")
    # Not to be kept back until there is more of it.
    response.headers["Cache-Control"] = "no-store, no-transform"
    response.headers["X-Accel-Buffering"] = "no"
    return response


@blueprint.get("/live/changes")
def changes() -> ResponseReturnValue:
    """The same once, by a single query."""
    shown = _shown(request.args.get("seen"))
    if shown is None:
        return redirect_to_sign_in()
    with autocommit(context.engine()) as connection:
        [found] = list_changes.find(connection, [shown]).changes
    if not found.is_signed_in:
        return redirect_to_sign_in()
    return {"snapshot": found.snapshot, "transactions": found.transaction_ids}


def _shown(snapshot: str | None) -> OpenList | None:
    """The list of this browser's session; None without one."""
    session = get_cookie("session")
    if not session:
        return None
    known = snapshot if snapshot and is_snapshot(snapshot) else UNKNOWN
    return OpenList(token_hash=accounts.digest(session), snapshot=known)
