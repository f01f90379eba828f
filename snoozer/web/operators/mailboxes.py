"""Connected mailboxes as an operator sees them: how each does, without its messages."""

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from snoozer.db import health_checks
from snoozer.db.models import Account
from snoozer.db.queries import mailboxes as connected_mailboxes
from snoozer.web import context
from snoozer.web.auth import viewer_required
from snoozer.web.text.redaction import masked

blueprint = Blueprint("admin_mailboxes", __name__, url_prefix="/admin")


@blueprint.get("/mailboxes")
@viewer_required
def list_mailboxes(account: Account) -> ResponseReturnValue:
    """Connected mailboxes, those in trouble first: how each does, and which process watches it."""
    with context.transaction() as connection:
        health = health_checks.mailboxes(connection)
        rows = connected_mailboxes.of_everyone(connection)
    return render_template("operators/mailboxes.html", health=health, rows=rows, masked=masked)
