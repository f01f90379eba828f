"""Links in reminders: looking at one changes nothing, whoever looks; a button acts, on one occurrence, undoably."""

from flask import Blueprint, g, make_response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import Connection

from snoozer import reminder_actions, telemetry
from snoozer.db import accounts
from snoozer.db.statements import database_time
from snoozer.domain import links
from snoozer.domain.links import InvalidLink, Link
from snoozer.reminder_actions import Occurrence
from snoozer.web import context
from snoozer.web.snoozes.forms import Sheet, answer, sheet
from snoozer.web.text.time_format import Clock

blueprint = Blueprint("links", __name__, url_prefix="/r")

ROUTE = "link"


@blueprint.get("/<token>")
def show(token: str) -> ResponseReturnValue:
    """The occurrence this link speaks for, and what can be done about it."""
    link = _link(token)
    if link is None:
        return _unknown()
    with context.transaction() as connection:
        occurrence = _found(connection, link)
        if occurrence is None:
            return _gone()
        return _page(token, link, occurrence, asked=sheet(g.clock, note=occurrence.note))


@blueprint.post("/<token>/done")
def done(token: str) -> ResponseReturnValue:
    """Done with the message."""
    link = _link(token)
    if link is None:
        return _unknown()
    with context.transaction() as connection:
        occurrence = _found(connection, link, acting=True)
        if occurrence is None:
            return _gone()
        if not links.is_old(occurrence.mailed_at, g.clock.now):
            reminder_actions.done(connection, occurrence=occurrence, route=ROUTE)
    return redirect(url_for(".show", token=token), code=303)


@blueprint.post("/<token>/again")
def again(token: str) -> ResponseReturnValue:
    """Put the message away once more; or read what was typed, which changes nothing."""
    link = _link(token)
    if link is None:
        return _unknown()
    with context.transaction() as connection:
        occurrence = _found(connection, link, acting=True)
        if occurrence is None:
            return _gone()
        if not links.is_old(occurrence.mailed_at, g.clock.now) and occurrence.status != "asleep":
            answered = answer(request.form, clock=g.clock)
            if isinstance(answered, Sheet):
                return _page(token, link, occurrence, asked=answered)
            reminder_actions.snooze_again(
                connection,
                occurrence=occurrence,
                reminder_time=answered.appointment,
                route=ROUTE,
                traceparent=telemetry.traceparent(),
            )
    return redirect(url_for(".show", token=token), code=303)


@blueprint.post("/<token>/undo")
def undo(token: str) -> ResponseReturnValue:
    """Take back what this reminder's link did last."""
    link = _link(token)
    if link is None:
        return _unknown()
    with context.transaction() as connection:
        occurrence = _found(connection, link, acting=True)
        if occurrence is None:
            return _gone()
        reminder_actions.undo(connection, occurrence=occurrence, route=ROUTE)
    return redirect(url_for(".show", token=token), code=303)


def _link(token: str) -> Link | None:
    try:
        return links.verify(token, keys=context.settings().keys)
    except InvalidLink:
        return None


def _found(connection: Connection, link: Link, *, acting: bool = False) -> Occurrence | None:
    occurrence = reminder_actions.find(connection, link=link, acting=acting)
    if occurrence is not None:
        locale = accounts.locale_of(connection, user_email=occurrence.user_email)
        g.clock = Clock(now=database_time(connection), zone=occurrence.zone, locale=locale)
    return occurrence


def _page(token: str, link: Link, occurrence: Occurrence, *, asked: Sheet) -> ResponseReturnValue:
    page = render_template(
        "links/show.html",
        token=token,
        link=link,
        occurrence=occurrence,
        old=links.is_old(occurrence.mailed_at, g.clock.now),
        left_alone="keep" in request.args,
        proposed=sheet(g.clock, phrase=link.phrase or "" if link.action == "again" else ""),
        sheet=asked,
    )
    return page, asked.status


def _unknown() -> ResponseReturnValue:
    return make_response(render_template("links/unknown.html"), 404)


def _gone() -> ResponseReturnValue:
    return make_response(render_template("links/gone.html"), 410)
