"""How the queue stands, the cases page by page and by reason, and one row with both of an operator's questions."""

from datetime import timedelta

from flask import abort, render_template, request
from flask.typing import ResponseReturnValue
from sqlalchemy import Connection

from snoozer.db.models import Account
from snoozer.db.queries import Found, Page, metrics
from snoozer.db.queries import cases as pages
from snoozer.web import context
from snoozer.web.admin.explain import was_it_sent, why_not_running
from snoozer.web.admin.permissions import operators_only, reason_in
from snoozer.web.auth import clock
from snoozer.web.snoozes.routes import cursor
from snoozer.web.text.redaction import masked, without_addresses

MOST_MATCHING = 1_000


@operators_only
def overview(account: Account) -> ResponseReturnValue:
    """The figures, why cases failed, and the newest cases; with `reason` only those that failed alike."""
    reason = reason_in(request.args)
    before = cursor(request.args.get("before"))
    with context.transaction() as connection:
        page = pages.page(connection, reason=reason, before=before)
        standing = metrics.read(connection, dead_after=_dead_after())
        words = {
            "page": page,
            "matching": _matching(connection, page, standing, reason=reason, first_page=before is None),
            "reason": reason,
            "reason_text": page.rows[0].text if reason and page.rows else None,
            "first_page": before is None,
            "figures": standing,
            "breakers": metrics.breakers(connection),
            "uncertain": metrics.uncertain(connection),
            "reasons": [] if reason else pages.reasons(connection),
        }
    return render_template(
        "admin/cases.html",
        most=metrics.MAX_COUNTED,
        most_matching=MOST_MATCHING if reason else metrics.MAX_COUNTED,
        most_grouped=pages.MAX_GROUPED,
        masked=masked,
        without_addresses=without_addresses,
        **words,
    )


@operators_only
def show(account: Account, id: int) -> ResponseReturnValue:
    """One row: was it sent, why is it not running, what the ledger and the paper trail say."""
    with context.transaction() as connection:
        row = pages.one(connection, id=id)
        if row is None:
            abort(404)
        sends = pages.sends(connection, id=id)
        events = pages.events(connection, id=id)
        breakers = pages.open_breakers(connection)
        workers = metrics.alive(connection, dead_after=_dead_after())
    newest = next((send for send in sends if send.scheduled_for == row.promise), None)
    return render_template(
        "admin/case.html",
        row=row,
        sends=sends,
        events=events,
        sent=was_it_sent(newest, clock=clock()),
        running=why_not_running(row, breakers=breakers, workers=workers, clock=clock()),
        masked=masked,
        without_addresses=without_addresses,
    )


def _matching(
    connection: Connection, page: Page[Found], standing: metrics.QueueMetrics, *, reason: str | None, first_page: bool
) -> int:
    """How many cases the list has on all its pages. Errors have to be read to be compared, so few are."""
    if reason is None:
        return standing.cases
    if first_page and page.next_cursor is None:
        return len(page.rows)
    return pages.count(connection, until=standing.at, limit=MOST_MATCHING, reason=reason)


def _dead_after() -> timedelta:
    return timedelta(seconds=context.settings().worker_dead)
