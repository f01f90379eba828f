"""The route of acts on many snoozes. Each is done or left with its reason, all in one transaction.

The docstrings of the routes are published in openapi.json.
"""

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID, uuid4

from flask import Response
from sqlalchemy import Connection

from snoozer import quotas, telemetry
from snoozer.bulk_acts import acts, record
from snoozer.bulk_acts.results import Done, Reason
from snoozer.db.models import Account
from snoozer.db.queries import Found, api_snoozes
from snoozer.db.queue_many import Chosen
from snoozer.db.statements import database_time
from snoozer.domain.scopes import Scope
from snoozer.snoozing import SnoozeError
from snoozer.timephrase import ParsedTime
from snoozer.web import context
from snoozer.web.api import own_snoozes, problems, rate_limits, requested, serializers, single_acts
from snoozer.web.api.auth import bearer_token, caller
from snoozer.web.api.blueprint import ROUTE, blueprint
from snoozer.web.api.idempotency import run_once
from snoozer.web.api.models.acts import Nothing, Skip
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

_ACTS: dict[str, Callable[[Connection, Account, Found], int | None]] = {
    "done": lambda connection, account, row: single_acts.done(connection, account, row, Nothing()),
    "skip": lambda connection, account, row: single_acts.skip(connection, account, row, Skip()),
    "pause": lambda connection, account, row: single_acts.pause(connection, account, row, Nothing()),
    "resume": lambda connection, account, row: single_acts.resume(connection, account, row, Nothing()),
}
_LEFT: dict[Reason, str] = {
    "came_back": "It came back already.",
    "being_sent": "Its reminder is being sent at this moment.",
    "due": "Its time has come already, so it is on its way.",
    "cancelled": "It is cancelled.",
    "stuck": "It could not be delivered, and is a case of the operators.",
    "paused": "It is paused.",
    "snoozed": "Its message was snoozed anew.",
    "changed": "It was changed meanwhile.",
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

    What was changed since stays as it is.
    """
    with caller() as (connection, account):
        body = optional_object()
        validate(Nothing, body)

        def perform() -> tuple[int, Undone]:
            undone = record.undo(connection, account_id=account.id, user_email=account.email, id=id, route=ROUTE)
            if undone is None:
                raise Refused(404, "not_found", "There is no such act, it is a day ago, or it was undone.")
            return 200, Undone(done=undone.done, left={str(reason): count for reason, count in undone.left.items()})

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
    if isinstance(wanted, BulkCreate):
        return _create(connection, account, wanted.snoozes)
    chosen = {row.id: row for row in acts.lock(connection, user_email=account.email, ids=wanted.ids)}
    if isinstance(wanted, BulkReschedule):
        time, reading = requested.time_of(connection, account, wanted, note=wanted.note)

        def reschedule(ids: Sequence[int]) -> Done:
            return acts.reschedule(
                connection,
                user_email=account.email,
                ids=ids,
                reminder_time=time,
                route=ROUTE,
                reading=reading,
                traceparent=telemetry.traceparent(),
            )

        return _at_once(connection, account, wanted.act, wanted.ids, chosen, reschedule)
    if wanted.act == "wake" or wanted.act == "cancel":
        act = acts.wake if wanted.act == "wake" else acts.cancel
        return _at_once(
            connection,
            account,
            wanted.act,
            wanted.ids,
            chosen,
            lambda ids: act(connection, user_email=account.email, ids=ids, route=ROUTE),
        )
    return _one_by_one(connection, account, wanted)


def _create(connection: Connection, account: Account, items: Sequence[Any]) -> BulkReply:
    """In the order of the Message-IDs, after what is there was locked, so that two requests wait for each other and do
    not deadlock."""
    made: dict[int, tuple[int, int, ParsedTime | None, bool]] = {}
    refused: dict[int, BulkResult] = {}
    asked: dict[int, NewSnooze] = {}
    for index, item in enumerate(items):
        try:
            if not isinstance(item, dict):
                raise invalid_fields({"snoozes": "snoozes must hold objects."})
            asked[index] = validate(NewSnooze, item)
        except Refused as error:
            refused[index] = _problem(error)
    named = {new.message_id for new in asked.values() if new.message_id is not None}
    acts.lock(connection, user_email=account.email, message_ids=named)
    for index, new in sorted(asked.items(), key=lambda one: (one[1].message_id or "", one[0])):
        try:
            id, is_new, ended, parsed = requested.snooze(connection, account, new)
            made[index] = (201 if is_new else 200, id, parsed, ended)
        except SnoozeError as error:
            refused[index] = _problem(problems.refused(error))
        except Refused as error:
            refused[index] = _problem(error)
    _spend(connection, account, len(made))
    rows = api_snoozes.many(connection, ids=[id for _, id, _, _ in made.values()], user_email=account.email)
    now = database_time(connection)
    for index, (status, id, parsed, replaced) in made.items():
        snooze = serializers.snooze(rows[id], account=account, now=now)
        if parsed is not None:
            snooze.reading, snooze.flags = parsed.sentence, list(parsed.flags)
        if replaced:
            snooze.flags = [*snooze.flags, "repetition_ended"]
        refused[index] = BulkResult(status=status, id=id, snooze=snooze)
    return BulkReply(act="create", done=len(made), undo=None, results=[refused[index] for index in range(len(items))])


def _at_once(
    connection: Connection,
    account: Account,
    name: str,
    ids: Sequence[int],
    chosen: dict[int, Chosen],
    act: Callable[[Sequence[int]], Done],
) -> BulkReply:
    """By the act of the pages, which has an Undo. The rows are locked, so what it leaves is known before it."""
    leaves = {id: acts.LEAVES[name](row) for id, row in chosen.items()}
    taken = [id for id, reason in leaves.items() if reason is None]
    undo = uuid4()
    created: dict[str, Found] = {}

    def perform() -> Done:
        done = act(taken)
        found = api_snoozes.many(connection, ids=done.before.created, user_email=account.email)
        created.update({row.message_id: row for row in found.values()})
        return done

    result = record.once(connection, account_id=account.id, id=undo, act=perform) if taken else None
    if result is not None and name != "cancel":
        _spend(connection, account, result.done)
    rows, now = api_snoozes.many(connection, ids=taken, user_email=account.email), database_time(connection)

    def judge(id: int) -> BulkResult:
        if id not in chosen:
            return _problem(Refused(404, "not_found", f"You have no snooze {id}."), id=id)
        reason = leaves[id]
        stuck = chosen[id].outcome == "retired"
        row = created.get(chosen[id].message_id) if stuck else rows.get(id)
        if reason is None and row is None:
            reason = "snoozed"
        if reason is not None or row is None:
            code = reason or "changed"
            return _problem(Refused(409, code, _LEFT.get(code, "It was left as it is.")), id=id)
        return BulkResult(status=200, id=id, snooze=serializers.snooze(row, account=account, now=now))

    results = [judge(id) for id in ids]
    done = sum(one.status < 400 for one in results)
    return BulkReply(act=name, done=done, undo=undo if done else None, results=results)


def _one_by_one(connection: Connection, account: Account, wanted: BulkAct) -> BulkReply:
    found: dict[int, BulkResult] = {}
    for id in sorted(wanted.ids):
        try:
            row = own_snoozes.own(connection, account, id)
            with connection.begin_nested():
                event = single_acts.do(
                    connection, account, row, Nothing(), lambda db, who, row, _: _ACTS[wanted.act](db, who, row)
                )
            found[id] = BulkResult(status=200, id=id, snooze=own_snoozes.shown(connection, account, id, event=event))
        except Refused as error:
            found[id] = _problem(error, id=id)
    done = sum(one.status < 400 for one in found.values())
    if wanted.act == "resume":
        _spend(connection, account, done)
    return BulkReply(act=wanted.act, done=done, undo=None, results=[found[id] for id in wanted.ids])


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
