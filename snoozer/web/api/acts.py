"""The routes of what an owner does to a snooze, as its page does it. Each may name an Idempotency-Key and If-Match.

The docstrings of the routes are published in openapi.json.
"""

from collections.abc import Callable
from typing import TypeVar

from flask import Response
from sqlalchemy import Connection

from snoozer import occurrences, reminder_actions, snoozing
from snoozer.db.models import Account
from snoozer.db.queries import Found, snooze_events
from snoozer.domain.links import Link
from snoozer.domain.scopes import Scope
from snoozer.snoozing import SnoozeError
from snoozer.timephrase.zones import resolve_wall_time, zone_of
from snoozer.translations import gettext as _
from snoozer.web.api import own_snoozes
from snoozer.web.api.auth import caller
from snoozer.web.api.blueprint import ROUTE, blueprint
from snoozer.web.api.idempotency import run_once
from snoozer.web.api.models.acts import Nothing, SeriesEnd, Skip, Undo
from snoozer.web.api.models.fields import Request
from snoozer.web.api.models.headers import ActHeaders
from snoozer.web.api.models.snoozes import Snooze
from snoozer.web.api.openapi import operation
from snoozer.web.api.validation import optional_object, validate

WRITE = Scope.SNOOZES_WRITE
RETURNS = {200: (Snooze, "The snooze as it is now; `event` undoes it.")}
REFUSES = (400, 403, 404, 409, 412, 415, 422)

Body = TypeVar("Body", bound=Request)
# Does it to a row that is locked, and returns the event by which it is undone.
Act = Callable[[Connection, Account, Found, Body], int | None]


@blueprint.post("/snoozes/<row:id>/wake")
@operation("wakeSnooze", scope=WRITE, json=Nothing, headers=ActHeaders, returns=RETURNS, refuses=REFUSES)
def wake(id: int) -> Response:
    """Back now

    No reminder is sent for a message that returns to a mailbox; of another one the reminder is what comes. What repeats
    goes on after the time that this one takes the place of.
    """
    return _act(id, Nothing, _wake, spends=True)


@blueprint.post("/snoozes/<row:id>/done")
@operation("finishSnooze", scope=WRITE, json=Nothing, headers=ActHeaders, returns=RETURNS, refuses=REFUSES)
def done(id: int) -> Response:
    """Done with what came back

    Its message leaves the inbox. What repeats comes again at its next time. 409 for what has not come back yet: that is
    cancelled.
    """
    return _act(id, Nothing, _done)


@blueprint.post("/snoozes/<row:id>/skip")
@operation("skipOccurrence", scope=WRITE, json=Skip, headers=ActHeaders, returns=RETURNS, refuses=REFUSES)
def skip(id: int) -> Response:
    """Leave out the next time of what repeats"""
    return _act(id, Skip, _skip)


@blueprint.post("/snoozes/<row:id>/pause")
@operation("pauseSnooze", scope=WRITE, json=Nothing, headers=ActHeaders, returns=RETURNS, refuses=REFUSES)
def pause(id: int) -> Response:
    """Nothing comes until it is resumed"""
    return _act(id, Nothing, _pause)


@blueprint.post("/snoozes/<row:id>/resume")
@operation("resumeSnooze", scope=WRITE, json=Nothing, headers=ActHeaders, returns=RETURNS, refuses=REFUSES)
def resume(id: int) -> Response:
    """Go on with what is paused

    Where its time has passed it goes on with its next one; without one it comes back now.
    """
    return _act(id, Nothing, _resume, spends=True)


@blueprint.post("/snoozes/<row:id>/end")
@operation("endSeries", scope=WRITE, json=SeriesEnd, headers=ActHeaders, returns=RETURNS, refuses=REFUSES)
def set_end(id: int) -> Response:
    """When what repeats ends"""
    return _act(id, SeriesEnd, _set_end)


@blueprint.post("/snoozes/<row:id>/undo")
@operation("undoAct", scope=WRITE, json=Undo, headers=ActHeaders, returns=RETURNS, refuses=REFUSES)
def undo(id: int) -> Response:
    """Undo an act, or a cancellation

    409 where the snooze was changed since. A PATCH is not undone: it says what was before by another one.
    """
    return _act(id, Undo, _undo)


def _act(id: int, model: type[Body], act: "Act[Body]", *, spends: bool = False) -> Response:
    """Does it once. `spends` where it may be a mail at once: it counts as a snooze then, as on the pages."""
    with caller(verified=spends) as (connection, account):
        body = optional_object()
        wanted = validate(model, body)

        def perform() -> tuple[int, Snooze]:
            row = own_snoozes.to_change(connection, account, id)
            if spends:
                own_snoozes.spend_snooze(connection, account)
            return 200, own_snoozes.shown(connection, account, id, event=do(connection, account, row, wanted, act))

        return run_once(connection, account_id=account.id, body=body, act=perform)


def do(connection: Connection, account: Account, row: Found, wanted: Body, act: "Act[Body]") -> int | None:
    """Do it to a row that is locked. Raises Refused with 409 where the row does not allow it."""
    try:
        return act(connection, account, row, wanted)
    except SnoozeError as error:
        raise own_snoozes.conflict(connection, row, error) from None


def _wake(connection: Connection, account: Account, row: Found, _wanted: Nothing) -> int:
    return occurrences.bring_back(connection, id=row.id, user_email=account.email, route=ROUTE).event


def _pause(connection: Connection, account: Account, row: Found, _wanted: Nothing) -> int:
    return occurrences.pause(connection, id=row.id, user_email=account.email, route=ROUTE).event


def _resume(connection: Connection, account: Account, row: Found, _wanted: Nothing) -> int:
    return occurrences.resume(connection, id=row.id, user_email=account.email, route=ROUTE).event


def _skip(connection: Connection, account: Account, row: Found, wanted: Skip) -> int:
    promise = wanted.scheduled_for or row.promise
    if promise.tzinfo is None:
        promise, _flags = resolve_wall_time(promise, zone_of(row.zone or account.zone))
    return occurrences.skip(connection, id=row.id, user_email=account.email, promise=promise, route=ROUTE).event


def _set_end(connection: Connection, account: Account, row: Found, wanted: SeriesEnd) -> int:
    return occurrences.set_end(
        connection, id=row.id, user_email=account.email, until=wanted.until, times=wanted.times, route=ROUTE
    ).event


def _done(connection: Connection, account: Account, row: Found, _wanted: Nothing) -> int | None:
    occurrence = _came_back(connection, row)
    if occurrence is None:
        raise SnoozeError("not_back", _("It has not come back yet, so there is nothing to be done with. Cancel it."))
    if not reminder_actions.done(connection, occurrence=occurrence, route=ROUTE):
        code = "done" if occurrence.status == "done" else "snoozed"
        raise SnoozeError(code, _("It is done already, or snoozed again, so nothing was changed."))
    act = snooze_events.last_act(connection, id=row.id)
    return None if act is None else int(act.id)


def _undo(connection: Connection, account: Account, row: Found, wanted: Undo) -> None:
    act = snooze_events.last_act(connection, id=row.id, event=wanted.event)
    if act is None:
        raise SnoozeError("nothing_to_undo", _("There is nothing to undo."))
    owner = {"id": row.id, "user_email": account.email}
    if act.kind == "cancelled":
        undone = snoozing.undo(connection, **owner, message_id=row.message_id, route=ROUTE)
    elif act.kind == "done":
        occurrence = _came_back(connection, row)
        undone = occurrence is not None and reminder_actions.undo(connection, occurrence=occurrence, route=ROUTE)
    elif act.kind == "noted":
        before = snoozing.note_before(connection, id=row.id, event=act.id)
        undone = snoozing.change_note(connection, **owner, note=before, before=row.note, route=ROUTE) is not None
    else:
        occurrences.undo(connection, **owner, event=act.id, route=ROUTE)
        return
    if not undone:
        raise SnoozeError("changed", _("It was changed since, or its reminder is out, so nothing was undone."))


def _came_back(connection: Connection, row: Found) -> reminder_actions.Occurrence | None:
    """The newest time that came of a snooze; None where nothing has come of it yet."""
    promise = snooze_events.last_promise(connection, id=row.id)
    if promise is None:
        return None
    link = Link(snooze_id=row.id, scheduled_for=promise, action="done")
    return reminder_actions.find(connection, link=link, acting=True)
