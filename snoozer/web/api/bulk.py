"""The route of acts on many snoozes. Each is done or left with its reason, all in one transaction.

The docstrings of the routes are published in openapi.json.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID, uuid4

from flask import Response
from sqlalchemy import Connection

from snoozer import telemetry
from snoozer.db.models import Account
from snoozer.db.queries import api_snoozes
from snoozer.db.scopes import Scope
from snoozer.db.statements import database_time
from snoozer.people import quotas
from snoozer.snoozes import acts, bulk
from snoozer.snoozes.acts import Wanted
from snoozer.snoozes.bulk import Done
from snoozer.snoozes.input import SnoozeError
from snoozer.web import context
from snoozer.web.api import own_snoozes, problems, rate_limits, requested
from snoozer.web.api.acts import finish
from snoozer.web.api.auth import bearer_token, by_program, caller
from snoozer.web.api.blueprint import blueprint
from snoozer.web.api.idempotency import run_once
from snoozer.web.api.models.acts import Nothing
from snoozer.web.api.models.bulk import (
    Bulk,
    BulkAct,
    BulkCreate,
    BulkReply,
    BulkReschedule,
    BulkResult,
    Undone,
)
from snoozer.web.api.models.headers import IdempotencyHeaders
from snoozer.web.api.models.snoozes import NewSnooze
from snoozer.web.api.openapi import operation
from snoozer.web.api.problems import Refused, invalid_fields
from snoozer.web.api.validation import json_object, optional_object, validate

_ACTS: dict[str, acts.Act] = {
    "wake": acts.Wake(),
    "cancel": acts.Cancel(),
    "skip": acts.Skip(),
    "pause": acts.Pause(),
    "resume": acts.Resume(),
}


@blueprint.post("/snoozes/bulk")
@operation(
    "changeSnoozes",
    scope=Scope.SNOOZES_WRITE,
    json=Bulk,
    headers=IdempotencyHeaders,
    returns={200: (BulkReply, "A result for each, in the order of the request.")},
    refuses=(400, 403, 415, 422),
)
def change_many() -> Response:
    """One act on up to 500 snoozes

    Each is done or left: its result has the status that a request of its own would have had, and the snooze or the
    problem. The body has at most 1 MiB. It is counted as one act in its minute, and each snooze in its day.
    """
    with caller(verified=True) as (connection, account):
        body = json_object()
        wanted = _read(body)
        return run_once(
            connection, account_id=account.id, body=body, act=lambda: (200, _perform(connection, account, wanted))
        )


@blueprint.post("/bulk/<uuid:id>/undo")
@operation(
    "undoBulk",
    scope=Scope.SNOOZES_WRITE,
    json=Nothing,
    headers=IdempotencyHeaders,
    returns={200: (Undone, "What could be put back is as before.")},
    refuses=(400, 404, 415, 422),
)
def undo_many(id: UUID) -> Response:
    """Undo an act on many snoozes

    Snoozes that were changed since stay as they are.
    """
    with caller() as (connection, account):
        body = optional_object()
        validate(Nothing, body)

        def perform() -> tuple[int, Undone]:
            undone = bulk.undo(connection, account_id=account.id, id=id, by=by_program(account))
            if undone is None:
                raise Refused(404, "not_found", "There is no such act, it is a day ago, or it was undone.")
            left = {str(reason): count for reason, count in undone.left.items()}
            reply = Undone(done=undone.done, left=left)
            if undone.may_arrive:
                reply.may_arrive = True
            return 200, reply

        return run_once(connection, account_id=account.id, body=body, act=perform)


def _read(body: dict[str, Any]) -> BulkCreate | BulkReschedule | BulkAct:
    match body.get("act"):
        case "create":
            return validate(BulkCreate, body)
        case "reschedule":
            return validate(BulkReschedule, body)
        case "wake" | "cancel" | "done" | "skip" | "pause" | "resume":
            return validate(BulkAct, body)
    names = "create, reschedule, wake, cancel, done, skip, pause, resume"
    raise invalid_fields({"act": f"act must be one of {names}."})


def _perform(connection: Connection, account: Account, wanted: BulkCreate | BulkReschedule | BulkAct) -> BulkReply:
    by = by_program(account)
    if isinstance(wanted, BulkCreate):
        return _create(connection, account, wanted.snoozes)
    if isinstance(wanted, BulkReschedule):
        time, reading = requested.time_of(connection, account, wanted, note=wanted.note)
        what = acts.Snooze(time=time, reading=reading, keeps_note=True)
        traceparent = telemetry.traceparent()
        done = partial(bulk.reschedule, connection, wanted.ids, what, by, traceparent=traceparent)
        return _at_once(connection, account, wanted, done)
    if wanted.act == "done":
        return _finish(connection, account, wanted)
    act = _ACTS[wanted.act]
    return _at_once(
        connection, account, wanted, lambda: bulk.summed(wanted.act, acts.act(connection, wanted.ids, act, by))
    )


def _create(connection: Connection, account: Account, items: Sequence[Any]) -> BulkReply:
    answers: dict[int, BulkResult] = {}
    asked: dict[int, Wanted] = {}
    for index, item in enumerate(items):
        try:
            if not isinstance(item, dict):
                raise invalid_fields({"snoozes": "snoozes must hold objects."})
            asked[index] = requested.wanted(connection, account, validate(NewSnooze, item))
        except SnoozeError as error:
            answers[index] = _problem(problems.refused(error))
        except Refused as error:
            answers[index] = _problem(error)
    by, traceparent = by_program(account), telemetry.traceparent()
    made: dict[int, acts.Result] = {}
    for indexes in _without_repeats(asked):
        results = acts.snooze(connection, [asked[index] for index in indexes], by, traceparent=traceparent)
        made |= dict(zip(indexes, results, strict=True))
    _spend(connection, account, len(made))
    rows = api_snoozes.many(connection, ids=[one.id for one in made.values()], user_email=account.email)
    now = database_time(connection)
    for index, result in made.items():
        snooze = own_snoozes.answer_of(rows[result.id], account, asked[index].reading, result, now=now)
        answers[index] = BulkResult(status=201 if result.before is None else 200, id=result.id, snooze=snooze)
    return BulkReply(act="create", done=len(made), undo=None, results=[answers[index] for index in range(len(items))])


def _without_repeats(asked: Mapping[int, Wanted]) -> list[list[int]]:
    """The entries' indexes in turns, so that no turn names a message twice, and a later entry changes the snooze that
    an earlier one made."""
    turns: list[list[int]] = []
    named: Counter[str] = Counter()
    for index, one in asked.items():
        turn = named[one.message.message_id]
        named[one.message.message_id] += 1
        if turn == len(turns):
            turns.append([])
        turns[turn].append(index)
    return turns


def _at_once(
    connection: Connection, account: Account, wanted: BulkReschedule | BulkAct, act: Callable[[], Done]
) -> BulkReply:
    """Runs under an id that undoes the whole act."""
    undo, kept = uuid4(), list[Done]()

    def perform() -> Done:
        kept.append(act())
        return kept[0]

    bulk.once(connection, account_id=account.id, id=undo, act=perform)
    done = kept[0]
    if wanted.act not in {"cancel", "skip", "pause"}:
        _spend(connection, account, done.summary.done)
    ids = [one.id for one in done.results]
    rows, now = api_snoozes.many(connection, ids=ids, user_email=account.email), database_time(connection)

    def judge(id: int, result: acts.Result) -> BulkResult:
        if result.left is None:
            snooze = own_snoozes.answer_of(rows[result.id], account, None, result, now=now)
            return BulkResult(status=200, id=id, snooze=snooze)
        if result.before is None:
            return _problem(Refused(404, "not_found", f"You have no snooze {id}."), id=id)
        return _problem(own_snoozes.refusal(connection, rows[id], result.left), id=id)

    results = [judge(id, result) for id, result in zip(wanted.ids, done.results, strict=True)]
    return BulkReply(act=wanted.act, done=done.summary.done, undo=undo if done.summary.done else None, results=results)


def _finish(connection: Connection, account: Account, wanted: BulkAct) -> BulkReply:
    """Marks each as done, in the order of their ids."""
    found: dict[int, BulkResult] = {}
    for id in sorted(wanted.ids):
        try:
            row = own_snoozes.own(connection, account, id)
            result = finish(connection, account, row)
            found[id] = BulkResult(status=200, id=id, snooze=own_snoozes.shown(connection, account, id, result=result))
        except Refused as error:
            found[id] = _problem(error, id=id)
    done = sum(one.status < 400 for one in found.values())
    return BulkReply(act="done", done=done, undo=None, results=[found[id] for id in wanted.ids])


def _spend(connection: Connection, account: Account, count: int) -> None:
    if count:
        limits = context.settings().limits
        left = quotas.spend_snoozes(connection, limits, user_email=account.email, count=count, token=bearer_token())
        rate_limits.note(left)


def _problem(refused: Refused, *, id: int | None = None) -> BulkResult:
    result = BulkResult(status=refused.problem.status, problem=refused.problem)
    if id is not None:
        result.id = id
    return result
