"""A person's programs: their API tokens, made with scopes and an expiry, shown once, and revoked; and their acts of
today, with one Undo for all."""

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta

from flask import Blueprint, abort, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import Connection

from snoozer.db.models import Account
from snoozer.db.queries import Found, snooze_events
from snoozer.db.scopes import Scope
from snoozer.db.statements import database_time
from snoozer.people import api_tokens
from snoozer.people.api_tokens import MAX_NAME_LENGTH, MAX_TOKENS
from snoozer.queue.events import Done
from snoozer.queue.limits import MAX_CHOSEN
from snoozer.snoozes import bulk
from snoozer.snoozes.acts import By
from snoozer.telemetry import security_log
from snoozer.timephrase.zones import zone_or_utc
from snoozer.translations import N_
from snoozer.translations import gettext as _
from snoozer.web import context
from snoozer.web.auth import login_required, time_formatter
from snoozer.web.context import ROUTE, flash
from snoozer.web.text.bulk_text import undone_text
from snoozer.web.text.history import event_text

blueprint = Blueprint("programs", __name__, url_prefix="/settings/programs")

# The permissions of a scope, in words.
WORDS = {
    Scope.SNOOZES_READ: N_("See what is snoozed and what came back"),
    Scope.SNOOZES_WRITE: N_("Snooze, change and cancel"),
    Scope.SETTINGS_READ: N_("See settings: time zone, language, usual times"),
    Scope.SETTINGS_WRITE: N_("Change settings"),
    Scope.MAILBOXES_READ: N_("See which mailboxes are connected"),
    Scope.WEBHOOKS_READ: N_("See webhooks and what was delivered"),
    Scope.WEBHOOKS_WRITE: N_("Add, change and remove webhooks"),
}
LIFETIMES = {"30": N_("30 days"), "90": N_("90 days"), "365": N_("one year"), "never": N_("no end")}
USUAL_LIFETIME = "90"
USUAL_SCOPES = (Scope.SNOOZES_READ, Scope.SNOOZES_WRITE)


@blueprint.get("")
@login_required
def index(account: Account) -> ResponseReturnValue:
    """The tokens, without their secrets, and a form for a new one."""
    with context.transaction() as connection:
        return _page(connection, account)


@blueprint.post("")
@login_required
def make(account: Account) -> ResponseReturnValue:
    """Makes a token and shows it once: it is not stored, so no redirect can show it."""
    form = request.form
    name, lifetime = form.get("name", ""), form.get("lifetime", USUAL_LIFETIME)
    scopes = [scope for scope in Scope if scope in form.getlist("scope")]
    if lifetime not in LIFETIMES or len(scopes) != len(set(form.getlist("scope"))):
        abort(400)
    with context.transaction() as connection:
        error = None
        if not name.strip():
            error = _("Give it a name, so that you know later what it is for.")
        elif not scopes:
            error = _("Choose what the program may do: one thing at least.")
        elif len(api_tokens.not_revoked(connection, email=account.email)) >= MAX_TOKENS:
            error = _("You have %(most)s tokens, which is the limit. Revoke one first.", most=MAX_TOKENS)
        if error is not None:
            return _page(connection, account, error=error, chosen=scopes, lifetime=lifetime, name=name), 422
        expires_at = None if lifetime == "never" else database_time(connection) + timedelta(days=int(lifetime))
        made = api_tokens.create(connection, email=account.email, name=name, scopes=scopes, expires_at=expires_at)
        if made is None:
            abort(403)
        page = _page(connection, account, secret=made.secret)
    security_log.record("token_created", account=account.id)
    return page


@blueprint.post("/<row:id>/revoke")
@login_required
def revoke(account: Account, id: int) -> ResponseReturnValue:
    with context.transaction() as connection:
        revoked = api_tokens.revoke_own(connection, id=id, account_id=account.id)
    if revoked:
        security_log.record("tokens_revoked", account=account.id, tokens=id)
    flash(_("That token is refused from now on.") if revoked else _("That token was revoked already."))
    return redirect(url_for(".index"), code=303)


@blueprint.get("/today")
@login_required
def today(account: Account) -> ResponseReturnValue:
    """Today's acts of programs, acts to undo first."""
    times = time_formatter()
    day = times.local(times.now).date()
    with context.transaction() as connection:
        found = _acts_of(connection, account, day, size=MAX_CHOSEN + 1)
        shown = found[:MAX_CHOSEN]
        open_acts = [row for row in shown if row.can_be_undone]
        done = [Done(**{field: getattr(row, field) for field in Done.__dataclass_fields__}) for row in open_acts]
        left = bulk.not_undoable(connection, done)
    return render_template(
        "people/programs/today.html",
        acts=[(row, event_text(row, times)) for row in shown],
        left={id: error.code for id, error in left.items()},
        undoable=len(open_acts) - len(left),
        newest=max((row.id for row in found), default=0),
        more=len(found) > MAX_CHOSEN,
        day=day,
    )


@blueprint.post("/today/undo")
@login_required
def undo_today(account: Account) -> ResponseReturnValue:
    """Undoes what programs did on a day, up to the newest act that the page showed."""
    try:
        day, newest = date.fromisoformat(request.form["day"]), int(request.form["newest"][:18])
        day + timedelta(days=1)
    except (ValueError, OverflowError):
        abort(400)

    def undo(connection: Connection) -> bulk.Undone:
        found = _acts_of(connection, account, day, size=MAX_CHOSEN, newest=newest)
        done = [(row.snooze_id, row.id) for row in found if row.can_be_undone]
        return bulk.undo_acts(connection, done, By(account.email, ROUTE))

    flash(undone_text(context.retried(undo)))
    return redirect(url_for(".today"), code=303)


def _acts_of(
    connection: Connection, account: Account, day: date, *, size: int, newest: int | None = None
) -> Sequence[Found]:
    """The acts of the person's programs on a day of their zone."""
    zone = zone_or_utc(account.zone)
    since, until = (datetime.combine(day + timedelta(days=days), time(), tzinfo=zone) for days in (0, 1))
    return snooze_events.by_programs(
        connection, account_id=account.id, since=since, until=until, size=size, newest=newest
    )


def _page(
    connection: Connection,
    account: Account,
    *,
    secret: str | None = None,
    error: str | None = None,
    chosen: list[Scope] | None = None,
    lifetime: str = USUAL_LIFETIME,
    name: str = "",
) -> str:
    return render_template(
        "people/programs/list.html",
        tokens=api_tokens.not_revoked(connection, email=account.email),
        secret=secret,
        error=error,
        name=name,
        scopes={scope.value: _(words) for scope, words in WORDS.items()},
        chosen=USUAL_SCOPES if chosen is None else chosen,
        lifetimes={days: _(words) for days, words in LIFETIMES.items()},
        lifetime=lifetime,
        most=MAX_TOKENS,
        max_name_length=MAX_NAME_LENGTH,
    )
