"""Accounts with their roles, for admins. Addresses are masked; changing a role or showing an address needs a reason and
a recent confirmation of the admin's identity."""

from flask import Blueprint, abort, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from snoozer.db import audit
from snoozer.db.audit import Entry
from snoozer.db.models import Account
from snoozer.db.queries import account_roles as queries
from snoozer.db.queries import cases
from snoozer.db.roles import ROLES, Role
from snoozer.people import accounts
from snoozer.people.accounts import LastAdmin
from snoozer.telemetry import security_log
from snoozer.web import context
from snoozer.web.auth import admin_required, confirmation_required, local_path
from snoozer.web.context import flash, found_or_404
from snoozer.web.forms import row_number
from snoozer.web.operators.reasons import MAX_REASON_LENGTH, given_reason, request_id
from snoozer.web.text.redaction import masked

blueprint = Blueprint("admin_accounts", __name__, url_prefix="/admin")

NO_REASON = "Say why in a few words. Nothing was done yet."


@blueprint.get("/accounts")
@admin_required
def list_accounts(account: Account) -> ResponseReturnValue:
    """Accounts by their ids; with `role` only accounts that have it."""
    role = _role(request.args["role"]) if request.args.get("role") else None
    return _list(role=role, after=_row_id(request.args.get("after")) or 0)


@blueprint.post("/accounts/find")
@admin_required
def find(account: Account) -> ResponseReturnValue:
    """The account of a whole address, which is posted so that no URL holds it."""
    try:
        with context.transaction() as connection:
            id = accounts.id_of(connection, email=request.form.get("email", "")[:1_000])
    except accounts.InvalidAddress as error:
        return _list(missing=str(error)), 422
    if id is None:
        return _list(missing="No account has this address."), 404
    return redirect(url_for(".show", id=id), code=303)


@blueprint.get("/accounts/<row:id>")
@admin_required
def show(account: Account, id: int) -> ResponseReturnValue:
    """One account, with the forms to change its role and to see its address."""
    return _page(id)


@blueprint.post("/accounts/<row:id>/role")
@admin_required
@confirmation_required
def change_role(account: Account, id: int) -> ResponseReturnValue:
    """Gives a role, and records the actor, the reason, and the previous role."""
    role, why = _role(request.form.get("role")), given_reason()
    if why is None:
        return _page(id, error=NO_REASON, why_of="role"), 422
    try:
        with context.transaction() as connection:
            changed = found_or_404(accounts.set_role(connection, id=id, role=role))
            if changed.role != changed.role_before:
                audit.append(
                    connection,
                    actor=f"operator:{account.id}",
                    act="change_role",
                    reason=why,
                    request_id=request_id(),
                    entries=[
                        Entry(
                            target=f"account:{id}", before={"role": changed.role_before}, after={"role": changed.role}
                        )
                    ],
                )
    except LastAdmin as error:
        return _page(id, error=str(error), why_of="role"), 409
    if changed.role != changed.role_before:
        security_log.record("role_changed", account=id, role=role, by=account.id)
        flash(f"Account {id} is now {role}, and was {changed.role_before}.")
    else:
        flash(f"Account {id} has the role {role} already.")
    return redirect(url_for(".show", id=id), code=303)


@blueprint.post("/unmask")
@admin_required
@confirmation_required
def unmask(account: Account) -> ResponseReturnValue:
    """Shows the address of one row, a snooze or an account, on this response only. The audit log records it before it
    is shown."""
    snooze_id, account_id = _row_id(request.form.get("snooze")), _row_id(request.form.get("account"))
    if (snooze_id is None) == (account_id is None):
        abort(400)
    back, why = local_path(request.form.get("here")), given_reason()
    if why is None:
        return render_template("operators/unmasked.html", address=None, back=back, error=NO_REASON), 422
    with context.transaction() as connection:
        if snooze_id is not None:
            address = found_or_404(cases.one(connection, id=snooze_id)).user_email
            entry = Entry(snooze_id=snooze_id)
        else:
            address = found_or_404(queries.find(connection, id=account_id or 0)).email
            entry = Entry(target=f"account:{account_id}")
        audit.append(
            connection,
            actor=f"operator:{account.id}",
            act="unmask",
            reason=why,
            request_id=request_id(),
            entries=[entry],
        )
    security_log.record("address_shown", by=account.id, snooze=snooze_id, account=account_id)
    of = f"snooze {snooze_id}" if snooze_id is not None else f"account {account_id}"
    return render_template("operators/unmasked.html", address=address, of=of, back=back, error=None)


def _list(*, role: Role | None = None, after: int = 0, missing: str | None = None) -> str:
    with context.transaction() as connection:
        page = queries.page(connection, role=role, after=after)
    return render_template(
        "operators/accounts.html",
        page=page,
        role=role,
        roles=ROLES,
        masked=masked,
        first_page=not after,
        missing=missing,
    )


def _page(id: int, *, error: str | None = None, why_of: str | None = None) -> str:
    with context.transaction() as connection:
        row = found_or_404(queries.find(connection, id=id))
    return render_template(
        "operators/account.html",
        row=row,
        roles=ROLES,
        masked=masked,
        error=error,
        why_of=why_of,
        max_reason_length=MAX_REASON_LENGTH,
    )


def _role(text: str | None) -> Role:
    """400 for an unknown role."""
    return next((role for role in ROLES if role == text), None) or abort(400)


def _row_id(text: str | None) -> int | None:
    """None if missing; 400 if it is not a row's id."""
    return row_number(text) or abort(400) if text else None
