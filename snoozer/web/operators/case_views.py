"""Named filters of the list of cases, shown above it to the operator who saved them."""

from flask import Blueprint, redirect, request, url_for
from flask.typing import ResponseReturnValue

from snoozer.db import case_views
from snoozer.db.models import Account
from snoozer.web import context
from snoozer.web.auth import viewer_required
from snoozer.web.context import flash
from snoozer.web.forms import one_line
from snoozer.web.operators.case_forms import selected
from snoozer.web.text.redaction import without_addresses

blueprint = Blueprint("admin_case_views", __name__, url_prefix="/admin/cases/views")

MAX_NAME_LENGTH = 60


@blueprint.post("")
@viewer_required
def save(account: Account) -> ResponseReturnValue:
    """Saves the filter of the list under a name."""
    filter = selected(request.form)
    name = one_line(without_addresses(request.form.get("name", "")), max_length=MAX_NAME_LENGTH)
    if name is None:
        flash("Not saved: a view needs a name.")
    else:
        with context.transaction() as connection:
            id = case_views.save(connection, account_id=account.id, name=name, filter=filter)
        full = f"Not saved: you have {case_views.MAX_VIEWS} views already. Delete one first."
        flash(full if id is None else f"Saved as {name}.")
    return redirect(url_for("admin_cases.list_cases", **filter.as_args()), code=303)


@blueprint.post("/<row:id>/delete")
@viewer_required
def delete(account: Account, id: int) -> ResponseReturnValue:
    """Deletes a view of the account's own."""
    filter = selected(request.form)
    with context.transaction() as connection:
        name = case_views.delete(connection, account_id=account.id, id=id)
    flash("You have no such view any more." if name is None else f"Deleted the view {name}.")
    return redirect(url_for("admin_cases.list_cases", **filter.as_args()), code=303)
