"""The operator's overview: how the queue stands, the breakers, connected mailboxes, and what may have been sent."""

from datetime import timedelta

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from snoozer.db import health_checks
from snoozer.db.models import Account
from snoozer.db.queries import metrics
from snoozer.web import context
from snoozer.web.admin.explain import mail_server
from snoozer.web.auth import viewer_required
from snoozer.web.text.redaction import without_addresses

blueprint = Blueprint("admin", __name__, url_prefix="/admin")


@blueprint.get("")
@viewer_required
def overview(account: Account) -> ResponseReturnValue:
    """Queue metrics, breakers, mailboxes, and reminders that may have been sent."""
    dead_after = timedelta(seconds=context.settings().worker_dead)
    with context.transaction() as connection:
        values = {
            "metrics": metrics.read(connection, dead_after=dead_after),
            "breakers": metrics.breakers(connection),
            "mailboxes": health_checks.mailboxes(connection),
            "uncertain": metrics.uncertain(connection),
        }
    return render_template(
        "admin/overview.html",
        max_counted=metrics.MAX_COUNTED,
        without_addresses=without_addresses,
        mail_server=mail_server,
        **values,
    )
