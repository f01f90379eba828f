"""Operations: operators' acts on many rows, previewed with a count, done in chunks, with a result for each row.

An act on one row, from its page, is also an operation, and is done in the request.
"""

from flask import Blueprint, abort, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy.exc import DBAPIError

from snoozer.db.engine import limit_transaction
from snoozer.db.errors import is_transient
from snoozer.db.models import Account
from snoozer.db.queries import Found, cases
from snoozer.db.queries import operations as queries
from snoozer.db.roles import CONFIRMED_IN_BULK
from snoozer.operators import chunks
from snoozer.operators.chunks import MAX_MEMBERS, Request
from snoozer.operators.row_acts import UNDOABLE
from snoozer.telemetry import security_log
from snoozer.web import context
from snoozer.web.auth import confirmation_first, operator_required, require, time_formatter, viewer_required
from snoozer.web.context import flash, found_or_404
from snoozer.web.forms import page_cursor, row_number
from snoozer.web.operators.act_texts import ACT_TEXTS
from snoozer.web.operators.operation_forms import (
    MAX_MORE_ATTEMPTS,
    UNITS,
    Refused,
    Selection,
    read_parameters,
    read_selection,
    read_why,
)
from snoozer.web.operators.reasons import MAX_REASON_LENGTH

blueprint = Blueprint("admin_operations", __name__, url_prefix="/admin/operations")

RESULTS = ("done", "unchanged", "failed", "open")
# The page of an unfinished operation refreshes itself after this time; without scripts, it reloads.
REFRESH_SECONDS = 2
# Timeout for each query of a preview.
COUNT_SECONDS = 4.0


@blueprint.get("")
@viewer_required
def list_operations(account: Account) -> ResponseReturnValue:
    """Lists operations: actor, act, number of rows, reason and progress."""
    with context.transaction() as connection:
        page = queries.page(connection, before=page_cursor("before"))
    return render_template(
        "operators/operations.html", page=page, texts=ACT_TEXTS, first_page="before" not in request.args
    )


@blueprint.get("/<row:id>")
@viewer_required
def show(account: Account, id: int) -> ResponseReturnValue:
    """The progress of an operation, and the result of each of its rows."""
    result = request.args.get("result") or None
    if result not in {None, *RESULTS}:
        abort(404)
    with context.transaction() as connection:
        operation = found_or_404(queries.one(connection, id=id))
        members = queries.members(connection, id=id, result=result, after=_after())
    follows = operation.finished_at is None and request.args.get("live") != "off" and "after" not in request.args
    return render_template(
        "operators/operation.html",
        operation=operation,
        text=ACT_TEXTS.get(operation.act),
        members=members,
        is_undoable=_is_undoable(operation) and account.may("undo_operation"),
        result=result,
        refresh_seconds=REFRESH_SECONDS if follows else None,
    )


@blueprint.post("/preview")
@operator_required
def preview(account: Account) -> ResponseReturnValue:
    """Shows the effect of the button, with a count, before any change; if the count takes too long, the
    page says so."""
    selection = read_selection(as_of=time_formatter().now)
    require(account, selection.act)
    if selection.ids == []:
        flash("Pick at least one case first.")
        return redirect(url_for("admin_cases.list_cases", **selection.filter.as_args()), code=303)
    return _preview_page(selection)


@blueprint.post("")
@operator_required
def enter(account: Account) -> ResponseReturnValue:
    """Creates the operation with its rows, frozen. A single row, from its page, is handled at once."""
    selection = read_selection()
    require(account, selection.act)
    try:
        asked = Request(
            form=selection.form,
            act=selection.act,
            actor=f"operator:{account.id}",
            reason=read_why(),
            parameters=selection.parameters | read_parameters(selection.act),
        )
    except Refused as refused:
        return _preview_page(selection, problem=str(refused)), 422
    is_one = request.form.get("from") == "case" and selection.ids is not None and len(selection.ids) == 1
    if selection.act in CONFIRMED_IN_BULK and not is_one and (first := confirmation_first()) is not None:
        return first
    with context.transaction() as connection:
        id, is_new = chunks.enter(connection, asked, batches=selection.batches(connection))
    if is_new:
        security_log.record("operation_entered", account=account.id, act=selection.act, operation=id)
    if is_one and selection.ids is not None:
        chunks.finish(context.engine(), id)
        with context.transaction() as connection:
            [member] = queries.members(connection, id=id, result=None).rows
        is_undoable = selection.act in UNDOABLE and member.result == "done"
        flash(_row_text(selection, member), undo=url_for(".undo", id=id) if is_undoable else None)
        return redirect(url_for("admin_cases.show", id=selection.ids[0]), code=303)
    return redirect(url_for(".show", id=id), code=303)


@blueprint.post("/<row:id>/cancel")
@operator_required
def cancel(account: Account, id: int) -> ResponseReturnValue:
    """Cancels an operation: finished rows stay finished, and the rest is not touched."""
    require(account, "cancel_operation")
    with context.transaction() as connection:
        found_or_404(queries.one(connection, id=id))
        untouched = chunks.cancel(connection, id=id, actor=f"operator:{account.id}")
    if untouched is None:
        flash("It was finished already, or brings back what was paused; pause that again instead.")
    else:
        security_log.record("operation_cancelled", account=account.id, operation=id)
        flash(f"Cancelled. {untouched:,} {'row was' if untouched == 1 else 'rows were'} not touched.")
    return redirect(url_for(".show", id=id), code=303)


@blueprint.post("/<row:id>/undo")
@operator_required
def undo(account: Account, id: int) -> ResponseReturnValue:
    """Undoes an operation that finished lately, by another operation; few rows are handled at once."""
    require(account, "undo_operation")
    with context.transaction() as connection:
        found = found_or_404(queries.one(connection, id=id))
        new = chunks.undo(connection, id=id, actor=f"operator:{account.id}")
    if new is None:
        flash("It was undone already, or it is too late for that.")
        return redirect(url_for(".show", id=id), code=303)
    security_log.record("operation_undone", account=account.id, act=found.act, operation=id)
    if found.done <= chunks.CHUNK_SIZE:
        chunks.finish(context.engine(), new)
    return redirect(url_for(".show", id=new), code=303)


def _is_undoable(operation: Found) -> bool:
    ended = operation.finished_at
    is_late = ended is None or ended < time_formatter().now - chunks.UNDO_FOR
    return operation.act in UNDOABLE and operation.done > 0 and not is_late


def _preview_page(selection: Selection, *, problem: str | None = None) -> str:
    try:
        with context.transaction() as connection:
            limit_transaction(connection, seconds=COUNT_SECONDS)
            count = selection.count(connection)
            reason_text = cases.error_text(connection, selection.filter) if selection.filter.reason else None
    except DBAPIError as error:
        if not is_transient(error):
            raise
        return render_template("operators/not_counted.html", selection=selection)
    return render_template(
        "operators/operation_preview.html",
        selection=selection,
        text=selection.text,
        count=min(count.rows, MAX_MEMBERS),
        more=count.rows > MAX_MEMBERS,
        uncertain=count.uncertain,
        impossible=count.impossible,
        hopeless=count.hopeless,
        reason_text=reason_text,
        problem=problem,
        given=request.form,
        units=UNITS,
        max_why_length=MAX_REASON_LENGTH,
        max_more_attempts=MAX_MORE_ATTEMPTS,
        came_from=request.form.get("from", ""),
    )


def _row_text(selection: Selection, member: Found) -> str:
    match member.result:
        case "done":
            return selection.text.done
        case "unchanged":
            return f"It stays as it was: {member.detail}."
        case "failed":
            return f"It could not be changed: {member.detail}."
        case _:
            return "Another transaction holds the row at this moment; the clock goes on with it."


def _after() -> int:
    after = request.args.get("after", "0")
    return 0 if after == "0" else row_number(after) or abort(404)
