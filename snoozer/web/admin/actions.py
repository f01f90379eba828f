"""What operators do to cases: first a preview with a count, then the act itself with a reason, then what came of it.

"All that match" is frozen at the preview: what became a case later is not touched, and what was handled meanwhile is
left as it is.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NoReturn

from flask import abort, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy.exc import IntegrityError

from snoozer import triage
from snoozer.db.models import Account
from snoozer.db.queries import cases as pages
from snoozer.web import context, flash
from snoozer.web.admin.permissions import operators_only, reason_in
from snoozer.web.auth import clock
from snoozer.web.forms import LARGEST_ROW, one_line
from snoozer.web.snoozes.forms import instant
from snoozer.web.text.redaction import without_addresses

ROUTE = "admin"
MOST_AT_ONCE = 5_000
MOST_PICKED = 500
CHUNK = 500
LONGEST_WHY = 500

_ACTS = {"reactivate": triage.reactivate, "dismiss": triage.dismiss}
_DONE = {"reactivate": "Reactivated", "dismiss": "Dismissed"}


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which cases: the picked ones, or all that match a reason (None: any), as they were at `until`."""

    act: str
    ids: Sequence[int] | None
    reason: str | None
    until: datetime


@operators_only
def preview(account: Account) -> ResponseReturnValue:
    """What pressing the button would do, before anything is done."""
    selection = _selection(until=clock().now)
    if selection.ids == []:
        flash.say("Pick at least one case first.")
        return redirect(url_for(".overview", reason=selection.reason), code=303)
    return _preview(selection)


@operators_only
def act(account: Account) -> ResponseReturnValue:
    """Do it, as far as it can be done in one go, and say what came of it."""
    selection = _selection(until=instant(request.form.get("until", "")) or _unreadable())
    why = one_line(without_addresses(request.form.get("why", "")[:LONGEST_WHY]), longest=LONGEST_WHY)
    if why is None:
        return _preview(selection, why_is_missing=True), 422
    with context.transaction() as connection:
        chosen = pages.matching(
            connection, until=selection.until, limit=MOST_AT_ONCE + 1, reason=selection.reason, ids=selection.ids
        )
    now, later = chosen[:MOST_AT_ONCE], chosen[MOST_AT_ONCE:]
    done = sum(
        _do(selection.act, now[start : start + CHUNK], actor=f"operator:{account.id}", why=why)
        for start in range(0, len(now), CHUNK)
    )
    _say(selection, done=done, stayed=len(now) - done, more=bool(later))
    single = request.form.get("from") == "case" and selection.ids
    return redirect(url_for(".show", id=single[0]) if single else url_for(".overview"), code=303)


def _preview(selection: Selection, *, why_is_missing: bool = False) -> str:
    with context.transaction() as connection:
        cases, uncertain = pages.count_for_bulk(
            connection, until=selection.until, most=MOST_AT_ONCE, reason=selection.reason, ids=selection.ids
        )
        text = pages.text_of(connection, reason=selection.reason) if selection.reason else None
    return render_template(
        "admin/preview.html",
        selection=selection,
        cases=min(cases, MOST_AT_ONCE),
        more=cases > MOST_AT_ONCE,
        uncertain=uncertain,
        reason_text=text,
        why_is_missing=why_is_missing,
        longest_why=LONGEST_WHY,
        came_from=request.form.get("from", ""),
    )


def _selection(*, until: datetime) -> Selection:
    """Read from the form. A form that this site did not make is a bad request."""
    act = request.form.get("act", "")
    picked = [int(id) for id in request.form.getlist("id") if id.isascii() and id.isdigit() and len(id) < 20]
    if act not in _ACTS or len(picked) > MOST_PICKED or any(not 0 < id <= LARGEST_ROW for id in picked):
        _unreadable()
    everything = request.form.get("all") == "1"
    return Selection(
        act=act,
        ids=None if everything else sorted(set(picked)),
        reason=reason_in(request.form),
        until=until,
    )


def _do(act: str, ids: Sequence[int], *, actor: str, why: str) -> int:
    """Act on these in one transaction; one by one when one of them was put away anew at this very moment."""
    function: Callable[..., list[int]] = _ACTS[act]
    try:
        with context.transaction() as connection:
            return len(function(connection, ids=ids, actor=actor, route=ROUTE, reason=why))
    except IntegrityError:
        if len(ids) == 1:
            return 0
        return sum(_do(act, [id], actor=actor, why=why) for id in ids)


def _say(selection: Selection, *, done: int, stayed: int, more: bool) -> None:
    missing = stayed + (len(selection.ids) - stayed - done if selection.ids is not None else 0)
    said = [f"{_DONE[selection.act]} {done:,} case{'' if done == 1 else 's'}."]
    if missing:
        said.append(
            f"{missing:,} stayed as {'it was' if missing == 1 else 'they were'}: handled by somebody else meanwhile, "
            "or the message was put away anew."
        )
    if more:
        said.append("More cases match; repeat it for those.")
    flash.say(" ".join(said))


def _unreadable() -> NoReturn:
    abort(400)
