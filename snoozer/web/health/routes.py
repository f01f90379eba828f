"""For monitoring: liveness, readiness, and metrics. Counts and ages only."""

from typing import Any

from flask import Blueprint, Response, current_app, request
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoConnection

from snoozer import telemetry
from snoozer.db import health_checks, schema, timeline
from snoozer.db.engine import deadline, limit_transaction
from snoozer.db.errors import is_read_only
from snoozer.db.queries import metrics as queue_metrics
from snoozer.telemetry import pages
from snoozer.web import context

# Load balancers probe every few seconds and take no response for a dead process.
READY_SECONDS = 5.0

blueprint = Blueprint("health", __name__)


@blueprint.get("/healthz")
def healthz() -> dict[str, str]:
    """200 while the process responds. Does not query the database, so that its outage restarts no process."""
    return {"status": "ok"}


@blueprint.get("/readyz")
def readyz() -> tuple[dict[str, Any], int]:
    """200 when pages can be served and messages snoozed, else 503. A schema newer than this code is ready: so it is
    during a rolling release. `waiting` states why no worker claims rows, if that is the case, and `mailboxes` how many
    are connected, how many of those no process watches, and how many messages should be back in them."""
    try:
        with deadline(READY_SECONDS), context.transaction() as connection:
            limit_transaction(connection, seconds=READY_SECONDS)
            status = schema.status(connection)
            if status.is_too_old:
                return _not_ready("schema_behind", f"{status.message}; {status.do}.")
            health_checks.check_writable(connection)
            oldest_due = queue_metrics.oldest_due(connection)
            mailboxes = health_checks.mailboxes(connection)
            change = timeline.change(connection) if context.settings().failover == "wait" else None
    except (DBAPIError, NoConnection) as error:
        if isinstance(error, DBAPIError) and is_read_only(error):
            return _not_ready("database_read_only", "The database only reads: nothing can be put away or sent.")
        return _not_ready("database_away", "The database cannot be reached, or gives no answer.")
    ready: dict[str, Any] = {"status": "ready", "schema": status.current, "oldest_due_seconds": round(oldest_due, 3)}
    if mailboxes.connected:
        counts = {"connected": mailboxes.connected, "unwatched": mailboxes.unwatched, "overdue": mailboxes.overdue}
        ready["mailboxes"] = counts
    return ready | ({"waiting": str(change)} if change else {}), 200


@blueprint.get("/metrics")
def metrics() -> Response:
    """The requests of all web processes of this gunicorn, and unless `database=0` the gauges of the queue, in
    Prometheus' text format. Open to everyone."""
    if context.settings().otel.is_disabled:
        return Response("No metrics: OTEL_SDK_DISABLED is true.\n", 404, mimetype="text/plain")
    if "snoozer_metrics" not in current_app.extensions:
        dead_after = context.settings().telemetry["dead_after"]
        page = pages.of_web(context.engine(), telemetry.reading, dead_after=dead_after)
        current_app.extensions["snoozer_metrics"] = page
    page = current_app.extensions["snoozer_metrics"]
    return Response(page.render(request.args.get("database")), content_type=page.content_type)


def _not_ready(code: str, detail: str) -> tuple[dict[str, Any], int]:
    return {"status": "not ready", "code": code, "detail": detail}, 503
