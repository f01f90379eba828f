"""Links in reminders. Opening one changes nothing, as mail scanners open them too; its buttons act on one occurrence
and can be undone. The signed token is the credential, so no sign-in is needed; the path behind it names an act."""

from collections.abc import Iterator
from contextlib import contextmanager

from flask import Blueprint, abort, g, make_response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import Connection

from snoozer import telemetry
from snoozer.db.queries import accounts
from snoozer.db.statements import database_time
from snoozer.mail import links
from snoozer.mail.links import InvalidLink, Link
from snoozer.people import quotas
from snoozer.snoozes import reminder_links, stopping
from snoozer.snoozes.reminder_links import Occurrence
from snoozer.web import context
from snoozer.web.snoozes.forms import SnoozeForm, read_submission, snooze_form
from snoozer.web.text.time_format import TimeFormatter

blueprint = Blueprint("reminder_links", __name__, url_prefix="/r")

ROUTE = "link"


@blueprint.get("/<token>", strict_slashes=False)
@blueprint.get("/<token>/<act>")
def show(token: str, act: str | None = None) -> ResponseReturnValue:
    """The occurrence that the link is about, and what can be done with it; first of all what the act asks for."""
    with _occurrence(token, act=act) as (_, link, occurrence):
        return _page(token, link, occurrence, act=act, form=snooze_form(g.times, note=occurrence.note))


@blueprint.post("/<token>/done")
def done(token: str) -> ResponseReturnValue:
    with _occurrence(token, acting=True) as (connection, _, occurrence):
        if not links.is_old(occurrence.mailed_at, g.times.now):
            reminder_links.done(connection, occurrence=occurrence, route=ROUTE)
    return redirect(url_for(".show", token=token), code=303)


@blueprint.post("/<token>/again")
def again(token: str) -> ResponseReturnValue:
    """Snoozes the message again, or shows the reading of a typed phrase, which changes nothing. 403 when the account is
    closed: its links snooze nothing."""
    with _occurrence(token, acting=True) as (connection, link, occurrence):
        if occurrence.closed:
            page, _ = _page(token, link, occurrence, form=snooze_form(g.times, note=occurrence.note))
            return page, 403
        if not links.is_old(occurrence.mailed_at, g.times.now) and occurrence.status != "asleep":
            submitted = read_submission(request.form, times=g.times)
            if isinstance(submitted, SnoozeForm):
                return _page(token, link, occurrence, form=submitted)
            quotas.spend_snooze(connection, context.settings().limits, user_email=occurrence.user_email)
            reminder_links.snooze_again(
                connection,
                occurrence=occurrence,
                reminder_time=submitted.reminder_time,
                route=ROUTE,
                traceparent=telemetry.traceparent(),
            )
    return redirect(url_for(".show", token=token), code=303)


@blueprint.post("/<token>/undo")
def undo(token: str) -> ResponseReturnValue:
    """Undoes the last action of this reminder's link."""
    with _occurrence(token, acting=True) as (connection, _, occurrence):
        reminder_links.undo(connection, occurrence=occurrence, route=ROUTE)
    return redirect(url_for(".show", token=token), code=303)


@blueprint.get(f"/<token>/{links.STOP}")
def ask_to_stop(token: str) -> ResponseReturnValue:
    """What List-Unsubscribe would stop, or has stopped."""
    with _occurrence(token) as (connection, _, occurrence):
        return _stop_page(connection, token, occurrence)


@blueprint.post(f"/<token>/{links.STOP}")
def stop(token: str) -> ResponseReturnValue:
    """The one click of List-Unsubscribe. The answer is the page itself, since a mail program that clicks must not be
    redirected (RFC 8058)."""
    with _occurrence(token, acting=True) as (connection, _, occurrence):
        if not links.is_old(occurrence.mailed_at, g.times.now):
            stopping.stop(connection, occurrence=occurrence, route=ROUTE)
        return _stop_page(connection, token, occurrence)


@blueprint.post(f"/<token>/{links.STOP}/undo")
def resume(token: str) -> ResponseReturnValue:
    """Undoes what List-Unsubscribe stopped."""
    with _occurrence(token, acting=True) as (connection, _, occurrence):
        if not links.is_old(occurrence.mailed_at, g.times.now):
            stopping.resume(connection, occurrence=occurrence, route=ROUTE)
    return redirect(url_for(".ask_to_stop", token=token), code=303)


@contextmanager
def _occurrence(
    token: str, *, act: str | None = None, acting: bool = False
) -> Iterator[tuple[Connection, Link, Occurrence]]:
    """One transaction on the link's occurrence; ends the request with 404 for an invalid link or an act that no mail
    offers, 410 for a deleted occurrence."""
    try:
        link = links.verify(token, keys=context.settings().keys)
    except InvalidLink:
        abort(make_response(render_template("snoozes/reminder_links/unknown.html"), 404))
    if act is not None:
        try:
            link = links.with_act(link, act)
        except InvalidLink:
            abort(make_response(render_template("snoozes/reminder_links/no_act.html", token=token), 404))
    with context.transaction() as connection:
        occurrence = reminder_links.find(connection, link=link, acting=acting)
        if occurrence is None:
            abort(make_response(render_template("snoozes/reminder_links/gone.html"), 410))
        locale = accounts.locale_of(connection, user_email=occurrence.user_email)
        g.times = TimeFormatter(now=database_time(connection), zone=occurrence.zone, locale=locale)
        yield connection, link, occurrence


def _page(
    token: str, link: Link, occurrence: Occurrence, *, act: str | None = None, form: SnoozeForm
) -> tuple[str, int]:
    page = render_template(
        "snoozes/reminder_links/show.html",
        token=token,
        act=act,
        link=link,
        occurrence=occurrence,
        old=links.is_old(occurrence.mailed_at, g.times.now),
        unchanged="keep" in request.args,
        suggested=snooze_form(g.times, phrase=link.phrase or "" if link.action == "again" else ""),
        has_passed=link.at is not None and link.at <= g.times.now,
        form=form,
    )
    return page, form.status


def _stop_page(connection: Connection, token: str, occurrence: Occurrence) -> str:
    return render_template(
        "snoozes/reminder_links/stop.html",
        token=token,
        occurrence=occurrence,
        found=stopping.find(connection, occurrence=occurrence),
        old=links.is_old(occurrence.mailed_at, g.times.now),
        unchanged="keep" in request.args,
    )
