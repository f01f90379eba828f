"""Triage for operators: the cases, by reason, and one row in detail. Addresses are masked, subjects not shown."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import TypeVar

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from snoozer.db import case_views
from snoozer.db import timeline as server_timeline
from snoozer.db.engine import limit_transaction
from snoozer.db.errors import is_transient
from snoozer.db.models import Account
from snoozer.db.queries import Cursor, audit, case_search, error_groups, metrics
from snoozer.db.queries import cases as queries
from snoozer.db.queries.case_filter import Filter, InvalidFilter
from snoozer.web import context
from snoozer.web.auth import time_formatter, viewer_required
from snoozer.web.context import found_or_404
from snoozer.web.forms import page_cursor
from snoozer.web.operators import audit_texts, case_forms
from snoozer.web.operators.case_forms import selected
from snoozer.web.operators.case_timeline import timeline
from snoozer.web.operators.explain import Conditions, was_it_sent, why_not_running
from snoozer.web.text.redaction import masked, plain

blueprint = Blueprint("admin_cases", __name__, url_prefix="/admin/cases")

T = TypeVar("T")

# Timeout for each query of the list.
QUERY_SECONDS = 2.0
# Parameters of the URL that the form of the list repeats as hidden fields.
HIDDEN = frozenset({"reason", "person", "message"})


@blueprint.get("")
@viewer_required
def list_cases(account: Account) -> ResponseReturnValue:
    """The summary of failures, and the cases that match the URL's filter, newest first."""
    filter, before, after = selected(request.args), page_cursor("before"), page_cursor("after")
    return _list_page(account, filter, before=before, after=after)


@blueprint.post("/find")
@viewer_required
def find(account: Account) -> ResponseReturnValue:
    """Redirects to the found snooze, or to the list with the form's filter. It is a POST, so that no URL contains the
    typed text."""
    typed = request.form.get("q", "").strip()[: case_search.MAX_TYPED_LENGTH]
    with context.transaction() as connection:
        try:
            if not typed:
                filter = case_forms.read(connection, request.form, times=time_formatter())
                return redirect(url_for(".list_cases", **filter.as_args()), code=303)
            found = case_search.find(connection, typed)
        except InvalidFilter as error:
            problem, named = str(error), {name: value for name, value in request.form.items() if name in HIDDEN}
    if typed and found is not None:
        there = url_for(".show", id=found) if isinstance(found, int) else url_for(".list_cases", **found.as_args())
        return redirect(there, code=303)
    if typed:
        return _list_page(account, Filter(), nothing_found=typed), 404
    return _list_page(account, selected(named), problem=problem, typed=request.form), 422


def _list_page(
    account: Account,
    filter: Filter,
    *,
    before: Cursor | None = None,
    after: Cursor | None = None,
    problem: str | None = None,
    typed: Mapping[str, str] | None = None,
    nothing_found: str | None = None,
) -> str:
    """The list; a figure that cannot be read in time is left out."""
    times = time_formatter()
    page = _in_time(lambda connection: queries.page(connection, filter, before=before, after=after))
    matching = _in_time(lambda connection: queries.count(connection, filter, until=times.now))
    # Groups by error are shown on the first page. If the list is filtered by one error, they supply its name on every
    # page.
    wants_groups = filter.reason or (before is None and after is None)
    groups = _in_time(lambda connection: error_groups.groups(connection, filter)) if wants_groups else []
    with context.transaction() as connection:
        views = case_views.of_account(connection, account_id=account.id)
        person = case_search.email_of(connection, filter)
    return render_template(
        "operators/cases.html",
        page=page,
        matching=matching,
        groups=groups,
        filter=filter,
        fields={name: value for name, value in filter.as_args().items() if name in HIDDEN},
        form=case_forms.shown(filter, times=times, typed=typed),
        problem=problem,
        nothing_found=nothing_found,
        first_page=before is None and after is None,
        person=masked(person) if person else "a person who has no snooze any more",
        views=views,
        class_words=case_forms.CLASS_WORDS,
        short_class_words=case_forms.SHORT_CLASS_WORDS,
        spans=case_forms.SPANS,
        max_counted=queries.MAX_COUNTED,
        window=error_groups.WINDOW,
        masked=masked,
        plain=plain,
    )


def _in_time(query: Callable[[Connection], T]) -> T | None:
    """Returns the query's result; None if the database does not return it within `QUERY_SECONDS`."""
    try:
        with context.transaction() as connection:
            limit_transaction(connection, seconds=QUERY_SECONDS)
            return query(connection)
    except DBAPIError as error:
        if not is_transient(error):
            raise
        return None


@blueprint.get("/<row:id>")
@viewer_required
def show(account: Account, id: int) -> ResponseReturnValue:
    """One row: whether it was sent, why it is not running, its history, and the previous and next case in the list with
    the URL's filter."""
    filter = selected(request.args)
    with context.transaction() as connection:
        row = found_or_404(queries.one(connection, id=id))
        sends = queries.sends(connection, id=id)
        events = queries.events(connection, id=id)
        newer, older = queries.beside(connection, filter, at=row.finished_at, id=id)
        audited = audit.of_snooze(connection, snooze_id=id)
        change = server_timeline.change(connection) if context.settings().failover == "wait" else None
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
        "operators/case.html",
        row=row,
        sends=sends,
        audited=audited,
        moments=timeline(row, sends=sends, events=events, times=time_formatter()),
        filter=filter,
        newer=newer,
        older=older,
        sent=was_it_sent(newest, times=time_formatter()),
        running=why_not_running(row, conditions),
        masked=masked,
        plain=plain,
        without_addresses=plain,
        audit_words=audit_texts,
    )
