"""What operators decide about cases: reactivate or dismiss, after a preview with a count.

"All that match" means all that were cases at the preview; rows that were decided since are left as they are.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from flask import Blueprint, abort, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy.exc import IntegrityError

from snoozer import security_log, triage
from snoozer.db.models import Account
from snoozer.db.queries import cases as queries
from snoozer.web import context
from snoozer.web.admin.selection import fingerprint
from snoozer.web.auth import operator_required, time_formatter
from snoozer.web.context import flash
from snoozer.web.forms import MAX_ROW_ID, one_line
from snoozer.web.text.redaction import without_addresses
from snoozer.web.text.time_format import parse_instant

blueprint = Blueprint("admin_decisions", __name__, url_prefix="/admin/cases")

ROUTE = "admin"
MAX_DECIDED = 5_000
MAX_PICKED = 500
BATCH_SIZE = 500
MAX_WHY_LENGTH = 500

_DECISIONS = {"reactivate": (triage.reactivate, "Reactivated"), "dismiss": (triage.dismiss, "Dismissed")}


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The cases to decide: those with `ids`, or (None) all that match a reason's fingerprint (None: any reason), as
    they were at `until`."""

    act: str
    ids: Sequence[int] | None
    reason: str | None
    until: datetime


@blueprint.post("/preview")
@operator_required
def preview(account: Account) -> ResponseReturnValue:
    """What the button would do, with a count, before anything is done."""
    selection = _selection(until=time_formatter().now)
    if selection.ids == []:
        flash("Pick at least one case first.")
        return redirect(url_for("admin_cases.list_cases", reason=selection.reason), code=303)
    return _preview_page(selection)


@blueprint.post("/act")
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
    shown = url_for("admin_cases.show", id=single[0]) if single else url_for("admin_cases.list_cases")
    return redirect(shown, code=303)


def _selection(*, until: datetime) -> Selection:
    """Reads the posted form; 400 for a form that this site did not make."""
    act = request.form.get("act", "")
    picked = [int(id) for id in request.form.getlist("id") if id.isascii() and id.isdigit() and len(id) < 20]
    if act not in _DECISIONS or len(picked) > MAX_PICKED or any(not 0 < id <= MAX_ROW_ID for id in picked):
        abort(400)
    ids = None if request.form.get("all") == "1" else sorted(set(picked))
    return Selection(act=act, ids=ids, reason=fingerprint(request.form), until=until)


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
