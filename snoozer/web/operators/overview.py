"""The operator's overview: the current troubles in sentences, and every figure with its unit and age."""

import time
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from flask import Blueprint, g, render_template, request
from flask.typing import ResponseReturnValue

from snoozer.db import overview as db
from snoozer.db.models import Account
from snoozer.db.queries import metrics
from snoozer.web import context
from snoozer.web.auth import time_formatter, viewer_required
from snoozer.web.live.streams import respond, shown_list
from snoozer.web.operators import charts, runbook, stops, trouble, watching
from snoozer.web.operators.explain import mail_server
from snoozer.web.operators.reading import CHARTS, SHARED_SECONDS, Reading
from snoozer.web.operators.remedies import REMEDIES, Trouble
from snoozer.web.operators.trouble import Limits
from snoozer.web.text import measures
from snoozer.web.text.redaction import without_addresses

blueprint = Blueprint("admin", __name__, url_prefix="/admin")

# How many steps of a chart one line of its table has, and the chart's title.
TABLES = {
    "hour": (1, "The last hour, by the minute"),
    "day": (4, "The last day, by the quarter of an hour"),
    "month": (4, "The last 30 days, by six hours"),
}


@blueprint.get("")
@viewer_required
def overview(account: Account) -> ResponseReturnValue:
    """All figures. Automatic refreshes get the figures that the process read for everybody; opening the page reads them
    again."""
    watches = context.REFRESH_HEADER in request.headers
    reading = watching.figures().read(max_age=SHARED_SECONDS if watches else 0.0)
    times, settings = time_formatter(), context.settings()
    # The clock's interval between sweeps (cli/clock.py).
    sweep = timedelta(seconds=min(settings.sweep, settings.worker_dead / 5))
    limits = Limits(dead_after=timedelta(seconds=settings.worker_dead), sweep=sweep)

    hour_of = partial(measures.hour_of, times)
    return render_template(
        "operators/overview.html",
        reading=reading,
        troubles=trouble.troubles(reading, limits=limits, time_of=hour_of),
        all_is_well=trouble.all_is_well,
        silence=REMEDIES["silence"],
        runbook_section=runbook.section,
        charts=_charts(reading),
        recorded_until=_recorded_until(reading),
        seen=watching.snapshot_of(reading.number),
        max_counted=metrics.MAX_COUNTED,
        max_measured=db.MAX_MEASURED,
        max_workers=db.MAX_WORKERS,
        hour_of=hour_of,
        measures=measures,
        mail_server=mail_server,
        without_addresses=without_addresses,
    )


@blueprint.app_context_processor
def _stops() -> dict[str, Any]:
    """For every page of operators: what operators have stopped."""

    def stopped_by_operators() -> list[Trouble]:
        status, times = g.get("delivery"), time_formatter()
        if status is None or not (status.is_held or status.stopped_since):
            return []
        with context.transaction() as connection:
            return stops.read(connection, now=times.now, time_of=partial(measures.hour_of, times))

    return {"stopped_by_operators": stopped_by_operators}


@blueprint.get("/live")
@viewer_required
def live(account: Account) -> ResponseReturnValue:
    """The stream that reports new readings of the figures, until the session or the role ends."""
    return respond(watching.streams(), account_id=account.id, shown=shown_list(request.args.get("seen")))


@blueprint.get("/live/changes")
@viewer_required
def changes(account: Account) -> ResponseReturnValue:
    """The answer for browsers without a stream: there may be new figures."""
    return {"snapshot": watching.snapshot_of(time.time_ns() // 1_000_000), "transactions": None}


def _charts(reading: Reading) -> dict[str, tuple[str, charts.Chart]]:
    history, now = reading.history.value or {}, reading.history.at or reading.at
    return {
        name: (title, charts.chart(history[name], step=CHARTS[name][1], rows_of=rows_of, until=now))
        for name, (rows_of, title) in TABLES.items()
        if name in history
    }


def _recorded_until(reading: Reading) -> datetime | None:
    """The end of the last minute that a clock has recorded within the hour; figures count also what came since."""
    minutes = [span.starts_at for span in (reading.history.value or {}).get("hour", ()) if span.recorded]
    return minutes[-1] + CHARTS["hour"][1] if minutes else None
