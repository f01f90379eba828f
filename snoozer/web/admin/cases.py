"""How the queue stands, the cases page by page and by reason, and one row with both of an operator's questions."""

from datetime import timedelta

from flask import abort, render_template, request
from flask.typing import ResponseReturnValue
from sqlalchemy import Connection

from snoozer.postgres.models import Account
from snoozer.postgres.pages import Found, Page, figures
from snoozer.postgres.pages import cases as pages
from snoozer.web import current
from snoozer.web.admin.answers import was_it_sent, why_not_running
from snoozer.web.admin.operators import operators_only, reason_in
from snoozer.web.masks import masked, without_addresses
from snoozer.web.snoozes import cursor
from snoozer.web.visitor import clock

MOST_MATCHING = 1_000


@operators_only
def overview(account: Account) -> ResponseReturnValue:
    """The figures, why cases failed, and the newest cases; with `reason` only those that failed alike."""
    reason = reason_in(request.args)
    before = cursor(request.args.get("before"))
    with current.transaction() as connection:
        page = pages.page(connection, reason=reason, before=before)
        standing = figures.read(connection, dead_after=_dead_after())
        words = {
            "page": page,
            "matching": _matching(connection, page, standing, reason=reason, first_page=before is None),
            "reason": reason,
            "reason_text": page.rows[0].text if reason and page.rows else None,
            "first_page": before is None,
            "figures": standing,
            "breakers": figures.breakers(connection),
            "uncertain": figures.uncertain(connection),
            "reasons": [] if reason else pages.reasons(connection),
        }
    return render_template(
        "admin/cases.html",
        most=figures.MOST_COUNTED,
        most_matching=MOST_MATCHING if reason else figures.MOST_COUNTED,
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
        workers = figures.alive(connection, dead_after=_dead_after())
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
    connection: Connection, page: Page[Found], standing: figures.Figures, *, reason: str | None, first_page: bool
) -> int:
    """How many cases the list has on all its pages. Errors have to be read to be compared, so few are."""
    if reason is None:
        return standing.cases
    if first_page and page.following is None:
        return len(page.rows)
    return pages.count(connection, until=standing.at, most=MOST_MATCHING, reason=reason)


def _dead_after() -> timedelta:
    return timedelta(seconds=current.settings().worker_dead)
