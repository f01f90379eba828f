"""Pauses: the current holds of operators, since when and why; a preview of how much a new one would set
aside; resume."""

from flask import Blueprint, abort, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import Connection

from snoozer.db import pauses as statements
from snoozer.db.models import Account
from snoozer.db.queries import pauses as queries
from snoozer.operators import pauses
from snoozer.operators.chunks import UNDONE
from snoozer.operators.pauses import Scope
from snoozer.telemetry import security_log
from snoozer.web import context
from snoozer.web.auth import operator_required, require, viewer_required
from snoozer.web.context import flash, found_or_404
from snoozer.web.forms import page_cursor
from snoozer.web.operators.operation_forms import UNITS, Refused, read_why
from snoozer.web.operators.pause_forms import CHANNEL_WORDS, read_scope, read_span, scope_in_words
from snoozer.web.operators.reasons import MAX_REASON_LENGTH

blueprint = Blueprint("admin_pauses", __name__, url_prefix="/admin/pauses")


@blueprint.get("")
@viewer_required
def list_pauses(account: Account) -> ResponseReturnValue:
    """Active and past pauses, and the form for a new pause."""
    with context.transaction() as connection:
        active = queries.active(connection)
        over = queries.over(connection, before=page_cursor("before"))
    return render_template(
        "operators/pauses.html",
        active=active,
        over=over,
        in_words=scope_in_words,
        channels=CHANNEL_WORDS,
        max_counted=queries.MAX_COUNTED,
        max_why_length=MAX_REASON_LENGTH,
    )


@blueprint.post("/preview")
@operator_required
def preview(account: Account) -> ResponseReturnValue:
    """Previews how much a pause would set aside, before it is created."""
    with context.transaction() as connection:
        try:
            scope = read_scope(connection)
        except Refused as refused:
            flash(f"{refused} Nothing was changed.")
            return redirect(url_for(".list_pauses"), code=303)
        _require(account, scope)
        return _preview_page(connection, scope)


@blueprint.post("")
@operator_required
def begin(account: Account) -> ResponseReturnValue:
    """Enters a pause."""
    with context.transaction() as connection:
        try:
            scope = read_scope(connection)
        except Refused:
            abort(400)
        _require(account, scope)
        try:
            why, span = read_why(), read_span()
        except Refused as refused:
            return _preview_page(connection, scope, problem=str(refused)), 422
        id = pauses.pause(connection, scope, actor=f"operator:{account.id}", reason=why, span=span)
    if id is None:
        flash("It is paused already.")
    else:
        security_log.record("pause_begun", account=account.id, pause=id)
        undo = url_for(".resume", id=id)
        flash("Paused. What is being delivered at this moment is still delivered.", undo=undo, why=UNDONE)
    return redirect(url_for(".list_pauses"), code=303)


@blueprint.post("/<row:id>/resume")
@operator_required
def resume(account: Account, id: int) -> ResponseReturnValue:
    """Ends a pause; an operation brings back the rows that it had set aside, each at its own time."""
    require(account, "resume")
    try:
        why = read_why()
    except Refused as refused:
        flash(f"{refused} It is still paused.")
        return redirect(url_for(".list_pauses"), code=303)
    with context.transaction() as connection:
        found = found_or_404(queries.one(connection, id=id))
        operation = pauses.resume(connection, id=id, actor=f"operator:{account.id}", reason=why)
    if operation is None:
        flash("It was over already.")
        return redirect(url_for(".list_pauses"), code=303)
    security_log.record("pause_ended", account=account.id, pause=id, operation=operation)
    if found.kind in queries.BROAD:
        again = {"priority" if found.kind == "class" else found.kind: found.value, "kind": found.kind}
        flash("Resumed.", undo=url_for(".begin"), why=found.reason, **again)
    return redirect(url_for("admin_operations.show", id=operation), code=303)


def _preview_page(connection: Connection, scope: Scope, *, problem: str | None = None) -> str:
    due = statements.count_due(connection, kind=scope.kind, value=scope.value)
    return render_template(
        "operators/pause_preview.html",
        scope=scope,
        words=scope_in_words(scope.kind, scope.value),
        due=due,
        max_looked_at=statements.MAX_LOOKED_AT,
        problem=problem,
        given=request.form,
        units=UNITS,
        max_why_length=MAX_REASON_LENGTH,
    )


def _require(account: Account, scope: Scope) -> None:
    require(account, "mark_invalid" if scope.kind == "invalid" else "pause")
