"""Triage for operators: the cases, by reason, and one row in detail. Addresses are masked, subjects not shown."""

from datetime import timedelta

from flask import Blueprint, render_template, request
from flask.typing import ResponseReturnValue

from snoozer.db.models import Account
from snoozer.db.queries import cases as queries
from snoozer.db.queries import metrics
from snoozer.web import context
from snoozer.web.admin.explain import was_it_sent, why_not_running
from snoozer.web.admin.selection import fingerprint
from snoozer.web.auth import time_formatter, viewer_required
from snoozer.web.context import found_or_404
from snoozer.web.forms import page_cursor
from snoozer.web.text.redaction import masked, without_addresses

blueprint = Blueprint("admin_cases", __name__, url_prefix="/admin/cases")

MAX_MATCHING = 1_000


@blueprint.get("")
@viewer_required
def list_cases(account: Account) -> ResponseReturnValue:
    """The reasons of failures, and the newest cases; with `reason` only the cases that failed alike."""
    reason, before = fingerprint(request.args), page_cursor("before")
    # With a reason, errors have to be read to be compared.
    max_counted = MAX_MATCHING if reason else metrics.MAX_COUNTED
    with context.transaction() as connection:
        page = queries.page(connection, reason=reason, before=before)
        matching = queries.count(connection, until=time_formatter().now, limit=max_counted, reason=reason)
        reasons = [] if reason else queries.reasons(connection)
    return render_template(
        "admin/cases.html",
        page=page,
        matching=matching,
        reason=reason,
        reason_text=page.rows[0].text if reason and page.rows else None,
        first_page=before is None,
        reasons=reasons,
        max_counted=max_counted,
        max_grouped=queries.MAX_GROUPED,
        masked=masked,
        without_addresses=without_addresses,
    )


@blueprint.get("/<row:id>")
@viewer_required
def show(account: Account, id: int) -> ResponseReturnValue:
    """One row: whether it was sent, why it is not running, its ledger entries and events."""
    with context.transaction() as connection:
        row = found_or_404(queries.one(connection, id=id))
        sends = queries.sends(connection, id=id)
        events = queries.events(connection, id=id)
        breakers = queries.open_breakers(connection)
        ahead = queries.ahead(connection, id=id) if row.serialization_key is not None else 0
        workers = metrics.alive(connection, dead_after=timedelta(seconds=context.settings().worker_dead))
    newest = next((send for send in sends if send.scheduled_for == row.promise), None)
    return render_template(
        "admin/case.html",
        row=row,
        sends=sends,
        events=events,
        sent=was_it_sent(newest, times=time_formatter()),
        running=why_not_running(row, breakers=breakers, workers=workers, ahead=ahead, times=time_formatter()),
        masked=masked,
        without_addresses=without_addresses,
    )
