"""Links in reminders: looking at one changes nothing, whoever looks; a button acts, on one occurrence, undoably."""

from flask import Blueprint, g, make_response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import Connection

from snoozer import answering, snoozing, telemetry
from snoozer.answering import Occurrence
from snoozer.domain import links
from snoozer.domain.links import Link, LinkRefused
from snoozer.postgres.pages import people
from snoozer.web import current
from snoozer.web.moments import Clock
from snoozer.web.sheet import Sheet, answer, sheet

blueprint = Blueprint("links", __name__, url_prefix="/r")

ROUTE = "link"


@blueprint.get("/<token>")
def show(token: str) -> ResponseReturnValue:
    """The occurrence this link speaks for, and what can be done about it."""
    link = _link(token)
    if link is None:
        return _unknown()
    with current.transaction() as connection:
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
    with current.transaction() as connection:
        occurrence = _found(connection, link, acting=True)
        if occurrence is None:
            return _gone()
        if not links.is_old(occurrence.mailed_at, g.clock.now):
            answering.done(connection, occurrence=occurrence, route=ROUTE)
    return redirect(url_for(".show", token=token), code=303)


@blueprint.post("/<token>/again")
def again(token: str) -> ResponseReturnValue:
    """Put the message away once more; or read what was typed, which changes nothing."""
    link = _link(token)
    if link is None:
        return _unknown()
    with current.transaction() as connection:
        occurrence = _found(connection, link, acting=True)
        if occurrence is None:
            return _gone()
        if not links.is_old(occurrence.mailed_at, g.clock.now) and occurrence.standing != "asleep":
            answered = answer(request.form, clock=g.clock)
            if isinstance(answered, Sheet):
                return _page(token, link, occurrence, asked=answered)
            answering.again(
                connection,
                occurrence=occurrence,
                appointment=answered.appointment,
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
    with current.transaction() as connection:
        occurrence = _found(connection, link, acting=True)
        if occurrence is None:
            return _gone()
        answering.undo(connection, occurrence=occurrence, route=ROUTE)
    return redirect(url_for(".show", token=token), code=303)


def _link(token: str) -> Link | None:
    try:
        return links.verify(token, keys=current.settings().keys)
    except LinkRefused:
        return None


def _found(connection: Connection, link: Link, *, acting: bool = False) -> Occurrence | None:
    occurrence = answering.find(connection, link=link, acting=acting)
    if occurrence is not None:
        locale = people.locale_of(connection, user_email=occurrence.user_email)
        g.clock = Clock(now=snoozing.now(connection), zone=occurrence.zone, locale=locale)
    return occurrence


def _page(token: str, link: Link, occurrence: Occurrence, *, asked: Sheet) -> ResponseReturnValue:
    page = render_template(
        "links/show.html",
        token=token,
        link=link,
        occurrence=occurrence,
        old=links.is_old(occurrence.mailed_at, g.clock.now),
        left_alone="keep" in request.args,
        proposed=sheet(g.clock, phrase=link.phrase or "" if link.act == "again" else ""),
        sheet=asked,
    )
    return page, asked.status


def _unknown() -> ResponseReturnValue:
    return make_response(render_template("links/unknown.html"), 404)


def _gone() -> ResponseReturnValue:
    return make_response(render_template("links/gone.html"), 410)
