"""How the queue stands, the cases page by page and by reason, and one row with both of an operator's questions."""

from datetime import timedelta

from flask import abort, render_template, request
from flask.typing import ResponseReturnValue
from sqlalchemy import Connection

from snoozer.postgres.models import Account
from snoozer.postgres.pages import cases as pages
from snoozer.postgres.pages import figures
from snoozer.web import current
from snoozer.web.admin.answers import was_it_sent, why_not_running
from snoozer.web.admin.operators import operators_only, reason_in
from snoozer.web.masks import masked, without_addresses
from snoozer.web.snoozes import cursor
from snoozer.web.visitor import clock


@operators_only
def overview(account: Account) -> ResponseReturnValue:
    """The figures, why cases failed, and the newest cases; with `reason` only those that failed alike."""
    reason = reason_in(request.args)
    before = cursor(request.args.get("before"))
    with current.transaction() as connection:
        page = pages.page(connection, reason=reason, before=before)
        standing = _figures(connection)
        matching, _ = pages.tally(connection, until=standing.at, most=figures.MOST_COUNTED, reason=reason)
        words = {
            "page": page,
            "matching": matching,
            "reason": reason,
            "reason_text": pages.text_of(connection, reason=reason) if reason else None,
            "first_page": before is None,
            "figures": standing,
            "breakers": figures.breakers(connection),
            "uncertain": figures.uncertain(connection),
            "reasons": pages.reasons(connection),
        }
    return render_template(
        "admin/cases.html",
        most=figures.MOST_COUNTED,
        most_grouped=pages.MOST_GROUPED,
        masked=masked,
        without_addresses=without_addresses,
        **words,
    )


@operators_only
def show(account: Account, id: int) -> ResponseReturnValue:
    """One row: was it sent, why is it not running, what the ledger and the paper trail say."""
    with current.transaction() as connection:
        row = pages.one(connection, id=id)
        if row is None:
            abort(404)
        sends = pages.sends(connection, id=id)
        events = pages.events(connection, id=id)
        breakers = pages.open_breakers(connection)
        workers = _figures(connection).alive
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


def _figures(connection: Connection) -> figures.Figures:
    return figures.read(connection, dead_after=timedelta(seconds=current.settings().worker_dead))
