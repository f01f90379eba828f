"""For those who keep watch: is the process there, can it serve, and its figures. Counts and ages only."""

from typing import Any

from flask import Blueprint, Response
from opentelemetry.sdk.metrics import MetricsTimeoutError
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoConnection

from snoozer.db import health_checks, schema
from snoozer.db.engine import limit_transaction
from snoozer.db.errors import is_read_only
from snoozer.db.queries import metrics as queue_metrics
from snoozer.db.timeouts import deadline
from snoozer.web import context

# Those who keep watch ask again every few seconds, and take silence for the process's own.
READY_SECONDS = 5.0

blueprint = Blueprint("health", __name__)


@blueprint.get("/healthz")
def healthz() -> dict[str, str]:
    """The process answers. The database is not asked, so that its outage restarts nobody."""
    return {"status": "ok"}


@blueprint.get("/readyz")
def readyz() -> tuple[dict[str, Any], int]:
    """Pages can be served and messages put away. A schema newer than this copy is ready too: so it is while a new
    version rolls out."""
    try:
        with deadline(READY_SECONDS), context.transaction() as connection:
            limit_transaction(connection, seconds=READY_SECONDS)
            stands = schema.status(connection)
            if stands.where in {"nothing there", "behind"}:
                return _not_ready("schema_behind", f"{stands.message}; {stands.do}.")
            health_checks.check_writable(connection)
            late = queue_metrics.oldest_due(connection)
    except (DBAPIError, NoConnection) as error:
        if isinstance(error, DBAPIError) and is_read_only(error):
            return _not_ready("database_read_only", "The database only reads: nothing can be put away or sent.")
        return _not_ready("database_away", "The database cannot be reached, or gives no answer.")
    return {"status": "ready", "schema": stands.current, "oldest_due_seconds": round(late, 3)}, 200


@blueprint.get("/metrics")
def metrics() -> Response:
    """The figures of this process and the gauges of the queue, for Prometheus. Open: it holds counts and ages only."""
    try:
        return Response(generate_latest(), content_type=CONTENT_TYPE_LATEST)
    except MetricsTimeoutError:
        return Response("The figures cannot be had: the database gives no answer.\n", 503, mimetype="text/plain")


def _not_ready(code: str, detail: str) -> tuple[dict[str, Any], int]:
    return {"status": "not ready", "code": code, "detail": detail}, 503
