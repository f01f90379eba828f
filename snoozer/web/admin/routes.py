"""Triage for operators: queue metrics, cases by reason, one row in detail, and bulk reactivate or dismiss. Addresses
are redacted and subjects are not shown.

A bulk action is previewed with a count first. "All that match" means all that were cases at the preview; rows that
were decided since are left as they are.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from flask import Blueprint, abort, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from snoozer import security_log, triage
from snoozer.db import health_checks
from snoozer.db.models import Account
from snoozer.db.queries import Found, Page, metrics
from snoozer.db.queries import cases as queries
from snoozer.db.queries import mailboxes as connected_mailboxes
from snoozer.web import context
from snoozer.web.admin.explain import was_it_sent, why_not_running
from snoozer.web.auth import operator_required, time_formatter
from snoozer.web.context import flash, found_or_404
from snoozer.web.forms import MAX_ROW_ID, one_line, page_cursor
from snoozer.web.text.redaction import masked, without_addresses
from snoozer.web.text.time_format import parse_instant

blueprint = Blueprint("admin", __name__, url_prefix="/admin")

ROUTE = "admin"
MAX_MATCHING = 1_000
MAX_DECIDED = 5_000
MAX_PICKED = 500
BATCH_SIZE = 500
MAX_WHY_LENGTH = 500

_FINGERPRINT = re.compile(r"[0-9a-f]{32}")
_DECISIONS = {"reactivate": (triage.reactivate, "Reactivated"), "dismiss": (triage.dismiss, "Dismissed")}


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The cases to decide: those with `ids`, or (None) all that match a reason's fingerprint (None: any reason), as
    they were at `until`."""

    act: str
    ids: Sequence[int] | None
    reason: str | None
    until: datetime


@blueprint.get("")
@operator_required
def overview(account: Account) -> ResponseReturnValue:
    """Queue metrics, the reasons of failures, and the newest cases; with `reason` only the cases that failed alike."""
    reason, before = _reason(request.args), page_cursor("before")
    with context.transaction() as connection:
        page = queries.page(connection, reason=reason, before=before)
        current = metrics.read(connection, dead_after=_dead_after())
        values = {
            "page": page,
            "matching": _count_matching(connection, page, current, reason=reason, first_page=before is None),
            "reason": reason,
            "reason_text": page.rows[0].text if reason and page.rows else None,
            "first_page": before is None,
            "metrics": current,
            "breakers": metrics.breakers(connection),
            "mailboxes": health_checks.mailboxes(connection),
            "uncertain": metrics.uncertain(connection),
            "reasons": [] if reason else queries.reasons(connection),
        }
    return render_template(
        "admin/cases.html",
        max_counted=metrics.MAX_COUNTED,
        max_matching=MAX_MATCHING if reason else metrics.MAX_COUNTED,
        max_grouped=queries.MAX_GROUPED,
        masked=masked,
        without_addresses=without_addresses,
        **values,
    )


@blueprint.get("/mailboxes")
@operator_required
def list_mailboxes(account: Account) -> ResponseReturnValue:
    """Connected mailboxes, those in trouble first: how each does, and which process watches it."""
    with context.transaction() as connection:
        health = health_checks.mailboxes(connection)
        rows = connected_mailboxes.of_everyone(connection)
    return render_template("admin/mailboxes.html", health=health, rows=rows, masked=masked)


@blueprint.get("/cases/<row:id>")
@operator_required
def show(account: Account, id: int) -> ResponseReturnValue:
    """One row: whether it was sent, why it is not running, its ledger entries and events."""
    with context.transaction() as connection:
        row = found_or_404(queries.one(connection, id=id))
        sends = queries.sends(connection, id=id)
        events = queries.events(connection, id=id)
        breakers = queries.open_breakers(connection)
        ahead = queries.ahead(connection, id=id) if row.serialization_key is not None else 0
        workers = metrics.alive(connection, dead_after=_dead_after())
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


@blueprint.post("/cases/preview")
@operator_required
def preview(account: Account) -> ResponseReturnValue:
    """What the button would do, with a count, before anything is done."""
    selection = _selection(until=time_formatter().now)
    if selection.ids == []:
        flash("Pick at least one case first.")
        return redirect(url_for(".overview", reason=selection.reason), code=303)
    return _preview_page(selection)


@blueprint.post("/cases/act")
@operator_required
def act(account: Account) -> ResponseReturnValue:
    """Decides at most MAX_DECIDED cases, in batches, each its own transaction; the next page shows how many."""
    selection = _selection(until=parse_instant(request.form.get("until", "")) or abort(400))
    why = one_line(without_addresses(request.form.get("why", "")[:MAX_WHY_LENGTH]), max_length=MAX_WHY_LENGTH)
    if why is None:
        return _preview_page(selection, why_missing=True), 422
    with context.transaction() as connection:
        matching = queries.matching(
            connection, until=selection.until, limit=MAX_DECIDED + 1, reason=selection.reason, ids=selection.ids
        )
    ids = matching[:MAX_DECIDED]
    batches = (ids[start : start + BATCH_SIZE] for start in range(0, len(ids), BATCH_SIZE))
    done = sum(_decide(selection.act, batch, actor=f"operator:{account.id}", why=why) for batch in batches)
    security_log.record("cases_decided", account=account.id, act=selection.act, cases=done)
    flash(_result_text(selection, done=done, unchanged=len(ids) - done, more=len(matching) > MAX_DECIDED))
    single = request.form.get("from") == "case" and selection.ids
    return redirect(url_for(".show", id=single[0]) if single else url_for(".overview"), code=303)


def _reason(given: Mapping[str, str]) -> str | None:
    """Returns the fingerprint of the error that the cases have in common, None for all; 400 for anything else."""
    reason = given.get("reason") or None
    if reason is not None and not _FINGERPRINT.fullmatch(reason):
        abort(400)
    return reason


def _selection(*, until: datetime) -> Selection:
    """Reads the posted form; 400 for a form that this site did not make."""
    act = request.form.get("act", "")
    picked = [int(id) for id in request.form.getlist("id") if id.isascii() and id.isdigit() and len(id) < 20]
    if act not in _DECISIONS or len(picked) > MAX_PICKED or any(not 0 < id <= MAX_ROW_ID for id in picked):
        abort(400)
    ids = None if request.form.get("all") == "1" else sorted(set(picked))
    return Selection(act=act, ids=ids, reason=_reason(request.form), until=until)


def _preview_page(selection: Selection, *, why_missing: bool = False) -> str:
    with context.transaction() as connection:
        cases, uncertain = queries.count_for_bulk(
            connection, until=selection.until, most=MAX_DECIDED, reason=selection.reason, ids=selection.ids
        )
        text = queries.text_of(connection, reason=selection.reason) if selection.reason else None
    return render_template(
        "admin/preview.html",
        selection=selection,
        cases=min(cases, MAX_DECIDED),
        more=cases > MAX_DECIDED,
        uncertain=uncertain,
        reason_text=text,
        why_missing=why_missing,
        max_why_length=MAX_WHY_LENGTH,
        came_from=request.form.get("from", ""),
    )


def _decide(act: str, ids: Sequence[int], *, actor: str, why: str) -> int:
    """Returns how many were changed. Repeats the batch one by one when the message of one was snoozed again at this
    moment, which violates the unique index of live snoozes."""
    function: Callable[..., list[int]] = _DECISIONS[act][0]
    try:
        with context.transaction() as connection:
            return len(function(connection, ids=ids, actor=actor, route=ROUTE, reason=why))
    except IntegrityError:
        if len(ids) == 1:
            return 0
        return sum(_decide(act, [id], actor=actor, why=why) for id in ids)


def _result_text(selection: Selection, *, done: int, unchanged: int, more: bool) -> str:
    missing = unchanged + (len(selection.ids) - unchanged - done if selection.ids is not None else 0)
    text = f"{_DECISIONS[selection.act][1]} {done:,} case{'' if done == 1 else 's'}."
    if missing:
        text += (
            f" {missing:,} stayed as {'it was' if missing == 1 else 'they were'}: handled by someone else meanwhile, "
            "or the message was put away anew."
        )
    return f"{text} More cases match; repeat it for those." if more else text


def _count_matching(
    connection: Connection, page: Page[Found], current: metrics.QueueMetrics, *, reason: str | None, first_page: bool
) -> int:
    """Returns how many cases all pages of the list hold. With a reason at most MAX_MATCHING, because errors have to be
    read to be compared."""
    if reason is None:
        return current.cases
    if first_page and page.next_cursor is None:
        return len(page.rows)
    return queries.count(connection, until=current.at, limit=MAX_MATCHING, reason=reason)


def _dead_after() -> timedelta:
    return timedelta(seconds=context.settings().worker_dead)
