"""Triage for operators: the cases, by reason, and one row in detail. Addresses are masked, subjects not shown."""

from datetime import timedelta

from flask import Blueprint, render_template, request
from flask.typing import ResponseReturnValue

from snoozer.db import timeline
from snoozer.db.models import Account
from snoozer.db.queries import audit, case_groups, metrics
from snoozer.db.queries import cases as queries
from snoozer.web import context
from snoozer.web.admin.explain import Conditions, was_it_sent, why_not_running
from snoozer.web.admin.selection import selected
from snoozer.web.auth import time_formatter, viewer_required
from snoozer.web.context import found_or_404
from snoozer.web.forms import page_cursor
from snoozer.web.text.redaction import masked, without_addresses

blueprint = Blueprint("admin_cases", __name__, url_prefix="/admin/cases")


@blueprint.get("")
@viewer_required
def list_cases(account: Account) -> ResponseReturnValue:
    """The cases that failed alike, and each of them, newest first."""
    filter, before, after = selected(request.args), page_cursor("before"), page_cursor("after")
    with context.transaction() as connection:
        page = queries.page(connection, filter, before=before, after=after)
        matching = queries.count(connection, filter, until=time_formatter().now)
        groups = [] if filter.reason else case_groups.groups(connection, filter)
        reason_text = queries.error_text(connection, filter) if filter.reason else None
    return render_template(
        "admin/cases.html",
        page=page,
        matching=matching,
        filter=filter,
        reason_text=reason_text,
        first_page=before is None and after is None,
        groups=groups,
        max_counted=queries.MAX_COUNTED,
        window=case_groups.WINDOW,
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
        audited = audit.of_snooze(connection, snooze_id=id)
        change = timeline.change(connection) if context.settings().failover == "wait" else None
        conditions = Conditions(
            times=time_formatter(),
            workers=metrics.alive(connection, dead_after=timedelta(seconds=context.settings().worker_dead)),
            breakers=queries.open_breakers(connection),
            ahead=queries.ahead(connection, id=id) if row.serialization_key is not None else 0,
            change=None if change is None else str(change),
            digest_of=next((send.digest_of for send in sends if send.scheduled_for == row.promise), None),
        )
    newest = next((send for send in sends if send.scheduled_for == row.promise), None)
    return render_template(
        "admin/case.html",
        row=row,
        sends=sends,
        events=events,
        audited=audited,
        sent=was_it_sent(newest, times=time_formatter()),
        running=why_not_running(row, conditions),
        masked=masked,
        without_addresses=without_addresses,
    )
