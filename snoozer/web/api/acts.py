"""The routes of an owner's acts on a snooze, with the same effect as on its page. Each accepts an Idempotency-Key and
If-Match.

The docstrings of the routes are published in openapi.json.
"""

from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from flask import Response
from sqlalchemy import Connection

from snoozer.db.models import Account
from snoozer.db.queries import Found, snooze_events
from snoozer.db.scopes import Scope
from snoozer.mail.links import Link
from snoozer.snoozes import acts, reminder_links
from snoozer.snoozes.input import SnoozeError
from snoozer.timephrase.zones import resolve_wall_time, zone_of
from snoozer.web.api import own_snoozes
from snoozer.web.api.auth import by_program, caller
from snoozer.web.api.blueprint import blueprint
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


@blueprint.post("/snoozes/<row:id>/wake")
@operation("wakeSnooze", scope=WRITE, json=Nothing, headers=ActHeaders, returns=RETURNS, refuses=REFUSES)
def wake(id: int) -> Response:
    """Back now

    No reminder is sent for a message that returns to a mailbox; of any other message the reminder is sent. A
    repeating snooze continues after the time that this return replaces.
    """
    return _act(id, Nothing, lambda *_: acts.Wake(), spends=True)


@blueprint.post("/snoozes/<row:id>/done")
@operation("finishSnooze", scope=WRITE, json=Nothing, headers=ActHeaders, returns=RETURNS, refuses=REFUSES)
def done(id: int) -> Response:
    """Done with what came back

    Its message leaves the inbox. A repeating snooze comes again at its next time. Returns 409 for a snooze that has not
    come back yet: cancel it instead.
    """
    return _perform(id, Nothing, lambda connection, account, row, _wanted: finish(connection, account, row))


@blueprint.post("/snoozes/<row:id>/skip")
@operation("skipOccurrence", scope=WRITE, json=Skip, headers=ActHeaders, returns=RETURNS, refuses=REFUSES)
def skip(id: int) -> Response:
    """Skip the next time of a repeating snooze"""
    return _act(id, Skip, lambda wanted, row, account: acts.Skip(promise=_skipped(wanted, row, account)))


@blueprint.post("/snoozes/<row:id>/pause")
@operation("pauseSnooze", scope=WRITE, json=Nothing, headers=ActHeaders, returns=RETURNS, refuses=REFUSES)
def pause(id: int) -> Response:
    """Nothing comes until it is resumed"""
    return _act(id, Nothing, lambda *_: acts.Pause())


@blueprint.post("/snoozes/<row:id>/resume")
@operation("resumeSnooze", scope=WRITE, json=Nothing, headers=ActHeaders, returns=RETURNS, refuses=REFUSES)
def resume(id: int) -> Response:
    """Resume a paused snooze

    If its time has passed, it continues with the next one; if there is none, it comes back now.
    """
    return _act(id, Nothing, lambda *_: acts.Resume(), spends=True)


@blueprint.post("/snoozes/<row:id>/end")
@operation("endSeries", scope=WRITE, json=SeriesEnd, headers=ActHeaders, returns=RETURNS, refuses=REFUSES)
def set_end(id: int) -> Response:
    """Set the end of a repeating snooze"""
    return _act(id, SeriesEnd, lambda wanted, *_: acts.End(until=wanted.until, times=wanted.times))


@blueprint.post("/snoozes/<row:id>/undo")
@operation("undoAct", scope=WRITE, json=Undo, headers=ActHeaders, returns=RETURNS, refuses=REFUSES)
def undo(id: int) -> Response:
    """Undo an act, or a cancellation

    Returns 409 if the snooze was changed since. A PATCH without a move is undone by another PATCH.
    """

    def undo_act(connection: Connection, account: Account, row: Found, wanted: Undo) -> acts.Result:
        done = None if wanted.event is None else [wanted.event]
        (result,) = acts.undo(connection, [row.id], by_program(account), done=done)
        return own_snoozes.undone_or_refused(connection, row, result)

    return _perform(id, Undo, undo_act)


def finish(connection: Connection, account: Account, row: Found) -> acts.Result:
    """Marks the newest delivery of a locked snooze as done. Raises Refused with 409."""
    promise = snooze_events.last_promise(connection, id=row.id)
    link = None if promise is None else Link(snooze_id=row.id, scheduled_for=promise, action="done")
    occurrence = None if link is None else reminder_links.find(connection, link=link, acting=True)
    if occurrence is None:
        sentence = "It has not come back yet, so there is nothing to be done with. Cancel it."
        raise own_snoozes.conflict(connection, row, SnoozeError("not_back", sentence))
    by = by_program(account)
    if not reminder_links.done(connection, occurrence=occurrence, route=by.door, token_id=by.token_id):
        code = "done" if occurrence.status == "done" else "snoozed"
        sentence = "It is done already, or snoozed again, so nothing was changed."
        raise own_snoozes.conflict(connection, row, SnoozeError(code, sentence))
    act = snooze_events.last_act(connection, id=row.id)
    event = None if act is None else act.id
    return acts.Result(id=row.id, before=None, event=event, may_arrive=occurrence.on_its_way)


def _act(
    id: int, model: type[Body], act: Callable[[Body, Found, Account], acts.Act], *, spends: bool = False
) -> Response:
    return _perform(
        id,
        model,
        lambda connection, account, row, wanted: own_snoozes.act_on(
            connection, account, row, act(wanted, row, account)
        ),
        spends=spends,
    )


def _perform(
    id: int,
    model: type[Body],
    do: Callable[[Connection, Account, Found, Body], acts.Result],
    *,
    spends: bool = False,
) -> Response:
    """Performs the act once. `spends` if it may send a mail at once: then it counts as a snooze, as on the pages."""
    with caller(verified=spends) as (connection, account):
        body = optional_object()
        wanted = validate(model, body)

        def perform() -> tuple[int, Snooze]:
            row = own_snoozes.to_change(connection, account, id)
            result = do(connection, account, row, wanted)
            if spends:
                own_snoozes.spend_snooze(connection, account)
            return 200, own_snoozes.shown(connection, account, id, result=result)

        return run_once(connection, account_id=account.id, body=body, act=perform)


def _skipped(wanted: Skip, row: Found, account: Account) -> datetime:
    promise: datetime = wanted.scheduled_for or row.promise
    if promise.tzinfo is None:
        promise, _flags = resolve_wall_time(promise, zone_of(row.zone or account.zone))
    return promise
