"""The routes of what an owner does to a snooze, as its page does it. Each may name an Idempotency-Key and If-Match.

The docstrings of the routes are published in openapi.json.
"""

from typing import TypeVar

from flask import Response

from snoozer.domain.scopes import Scope
from snoozer.web.api import own_snoozes, single_acts
from snoozer.web.api.auth import caller
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

    No reminder is sent for a message that returns to a mailbox; of another one the reminder is what comes. What repeats
    goes on after the time that this one takes the place of.
    """
    return _act(id, Nothing, single_acts.wake, spends=True)


@blueprint.post("/snoozes/<row:id>/done")
@operation("finishSnooze", scope=WRITE, json=Nothing, headers=ActHeaders, returns=RETURNS, refuses=REFUSES)
def done(id: int) -> Response:
    """Done with what came back

    Its message leaves the inbox. What repeats comes again at its next time. 409 for what has not come back yet: that is
    cancelled.
    """
    return _act(id, Nothing, single_acts.done)


@blueprint.post("/snoozes/<row:id>/skip")
@operation("skipOccurrence", scope=WRITE, json=Skip, headers=ActHeaders, returns=RETURNS, refuses=REFUSES)
def skip(id: int) -> Response:
    """Leave out the next time of what repeats"""
    return _act(id, Skip, single_acts.skip)


@blueprint.post("/snoozes/<row:id>/pause")
@operation("pauseSnooze", scope=WRITE, json=Nothing, headers=ActHeaders, returns=RETURNS, refuses=REFUSES)
def pause(id: int) -> Response:
    """Nothing comes until it is resumed"""
    return _act(id, Nothing, single_acts.pause)


@blueprint.post("/snoozes/<row:id>/resume")
@operation("resumeSnooze", scope=WRITE, json=Nothing, headers=ActHeaders, returns=RETURNS, refuses=REFUSES)
def resume(id: int) -> Response:
    """Go on with what is paused

    Where its time has passed it goes on with its next one; without one it comes back now.
    """
    return _act(id, Nothing, single_acts.resume, spends=True)


@blueprint.post("/snoozes/<row:id>/end")
@operation("endSeries", scope=WRITE, json=SeriesEnd, headers=ActHeaders, returns=RETURNS, refuses=REFUSES)
def set_end(id: int) -> Response:
    """When what repeats ends"""
    return _act(id, SeriesEnd, single_acts.set_end)


@blueprint.post("/snoozes/<row:id>/undo")
@operation("undoAct", scope=WRITE, json=Undo, headers=ActHeaders, returns=RETURNS, refuses=REFUSES)
def undo(id: int) -> Response:
    """Undo an act, or a cancellation

    409 where the snooze was changed since. A PATCH is not undone: it says what was before by another one.
    """
    return _act(id, Undo, single_acts.undo)


def _act(id: int, model: type[Body], act: "single_acts.Act[Body]", *, spends: bool = False) -> Response:
    """Does it once. `spends` where it may be a mail at once: it counts as a snooze then, as on the pages."""
    with caller(verified=spends) as (connection, account):
        body = optional_object()
        wanted = validate(model, body)

        def perform() -> tuple[int, Snooze]:
            row = own_snoozes.to_change(connection, account, id)
            event = single_acts.do(connection, account, row, wanted, act)
            if spends:
                own_snoozes.spend_snooze(connection, account)
            return 200, own_snoozes.shown(connection, account, id, event=event)

        return run_once(connection, account_id=account.id, body=body, act=perform)
