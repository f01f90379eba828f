"""The routes of snoozes. A reminder goes to the address of the token's owner and to no other.

The docstrings of the routes are published in openapi.json.
"""

from dataclasses import replace
from datetime import timedelta
from urllib.parse import urlsplit
from uuid import uuid4

from flask import Response, url_for
from sqlalchemy import Connection

from snoozer import quotas, snoozing, telemetry
from snoozer.db.models import Account
from snoozer.db.queries import Found, api_snoozes, snoozes
from snoozer.db.queue import ReminderTime
from snoozer.db.statements import database_time
from snoozer.domain.scopes import Scope
from snoozer.timephrase import ParsedTime
from snoozer.web import context
from snoozer.web.api import serializers
from snoozer.web.api.auth import bearer_token, caller
from snoozer.web.api.blueprint import ROUTE, blueprint
from snoozer.web.api.idempotency import respond, run_once
from snoozer.web.api.models.headers import IdempotencyHeaders
from snoozer.web.api.models.snoozes import Change, NewSnooze, Snooze, SnoozeHistory, SnoozePage, SnoozeQuery
from snoozer.web.api.openapi import operation
from snoozer.web.api.problems import Refused, invalid_fields
from snoozer.web.api.validation import json_object, query_of, validate
from snoozer.web.text.status import row_state

MAX_SENDS = 50
RequestedTime = tuple[ReminderTime, ParsedTime | None]


@blueprint.post("/snoozes")
@operation(
    "createSnooze",
    scope=Scope.SNOOZES_WRITE,
    json=NewSnooze,
    headers=IdempotencyHeaders,
    returns={
        201: (Snooze, "A new snooze; Location names it."),
        200: (Snooze, "The message was away already and now has this time."),
    },
    refuses=(400, 403, 415, 422),
)
def create() -> Response:
    """Put a message away

    Snoozing a message that is away already changes its time and note and answers 200.
    """
    with caller(verified=True) as (connection, account):
        body = json_object()
        new = validate(NewSnooze, body)
        return run_once(connection, account_id=account.id, body=body, act=lambda: _create(connection, account, new))


@blueprint.get("/snoozes")
@operation(
    "listSnoozes", scope=Scope.SNOOZES_READ, query=SnoozeQuery, returns={200: (SnoozePage, "One page.")}, refuses=(422,)
)
def browse() -> Response:
    """The owner's snoozes, newest first"""
    with caller() as (connection, account):
        query = query_of(SnoozeQuery)
        now = database_time(connection)
        page = api_snoozes.browse(
            connection, user_email=account.email, now=now, state=query.state, after=query.cursor, size=query.limit
        )
    listed = [serializers.snooze(row, account=account, now=now) for row in page.rows]
    path = url_for(".browse", limit=query.limit, state=query.state, cursor=page.next_cursor)
    return respond(200, SnoozePage(snoozes=listed, next=serializers.absolute(path) if page.next_cursor else None))


@blueprint.get("/snoozes/<row:id>")
@operation("getSnooze", scope=Scope.SNOOZES_READ, returns={200: (SnoozeHistory, "The snooze.")}, refuses=(404,))
def show(id: int) -> Response:
    """One snooze and what became of it"""
    with caller() as (connection, account):
        row = _own(connection, account, id)
        now = database_time(connection)
        sends = snoozes.sends(connection, id=id, size=MAX_SENDS)
        return respond(200, serializers.history(row, sends, account=account, now=now))


@blueprint.patch("/snoozes/<row:id>")
@operation(
    "changeSnooze",
    scope=Scope.SNOOZES_WRITE,
    json=Change,
    returns={200: (Snooze, "The snooze as it is now.")},
    refuses=(400, 403, 404, 409, 415, 422),
)
def change(id: int) -> Response:
    """Another time, another note, another reply policy

    What is not named stays. Without a new time the promised one is kept.
    """
    with caller(verified=True) as (connection, account):
        wanted = validate(Change, json_object())
        row = _own(connection, account, id, lock=True)
        time, parsed = _changed_time(connection, account, wanted, row)
        ended = snoozing.ended_recurrence(row.recurrence, time) is not None
        if not snoozing.change(
            connection, id=id, user_email=account.email, reminder_time=time, route=ROUTE, reading=parsed
        ):
            raise _over(connection, row)
        _spend_snooze(connection, account)
        return respond(200, _snooze(connection, account, id, parsed, ended=ended))


@blueprint.delete("/snoozes/<row:id>")
@operation(
    "cancelSnooze", scope=Scope.SNOOZES_WRITE, returns={200: (Snooze, "The snooze, cancelled.")}, refuses=(404, 409)
)
def cancel(id: int) -> Response:
    """No reminder after all"""
    with caller() as (connection, account):
        row = _own(connection, account, id, lock=True)
        if not snoozing.cancel(connection, id=id, user_email=account.email, message_id=row.message_id, route=ROUTE):
            raise _over(connection, row)
        return respond(200, _snooze(connection, account, id))


def _spend_snooze(connection: Connection, account: Account) -> None:
    """Counts a snooze, or a change of one, whose row is locked: locks are always taken in this order."""
    quotas.spend_snooze(connection, context.settings().limits, user_email=account.email, token=bearer_token())


def _create(connection: Connection, account: Account, new: NewSnooze) -> tuple[int, Snooze]:
    time, parsed = _time(connection, account, new, note=new.note)
    id, is_new, ended = snoozing.snooze(
        connection,
        user_email=account.email,
        message=_message(connection, account, new),
        reminder_time=time,
        reading=parsed,
        route=ROUTE,
        traceparent=telemetry.traceparent(),
    )
    _spend_snooze(connection, account)
    return 201 if is_new else 200, _snooze(connection, account, id, parsed, ended=ended is not None)


def _message(connection: Connection, account: Account, new: NewSnooze) -> snoozing.Message:
    """The named message, with what is stored of it; or a new name for one that has a subject only."""
    if new.message_id is None:
        if new.subject is None:
            raise invalid_fields({"message_id": "message_id is missing: name the message, or give a subject."})
        host = urlsplit(context.settings().base_url).hostname or "snoozer.invalid"
        return snoozing.Message(message_id=f"<{uuid4()}@{host}>", subject=new.subject, sender_email=new.sender_email)
    subject, sender = api_snoozes.envelope(connection, user_email=account.email, message_id=new.message_id)
    return snoozing.Message(
        message_id=new.message_id, subject=new.subject or subject, sender_email=new.sender_email or sender
    )


def _time(connection: Connection, account: Account, body: NewSnooze | Change, *, note: str | None) -> RequestedTime:
    """The time in `remind_at` or `when`, parsed where it was a phrase. Raises SnoozeError when it cannot be kept."""
    now, zone = database_time(connection), body.zone or account.zone
    if body.remind_at is not None and body.remind_at.tzinfo is not None:
        return _answered(snoozing.reminder_time_at(body.remind_at, now=now, zone=zone, note=note), body), None
    phrase = body.remind_at.isoformat() if body.remind_at is not None else body.when or ""
    parsed = snoozing.parse_phrase(phrase, now=now, zone=zone, locale=body.locale or account.locale)
    return _answered(snoozing.reminder_time_of(parsed, now=now, note=note), body), parsed


def _answered(time: ReminderTime, body: NewSnooze | Change) -> ReminderTime:
    """The time with what a reply does and whether a rest defers it, where the body names that."""
    policy = body.reply_policy or time.reply_policy
    any_hour = time.at_any_hour if body.at_any_hour is None else body.at_any_hour
    return replace(time, reply_policy=policy, reply_scope=body.reply_scope, at_any_hour=any_hour)


def _changed_time(connection: Connection, account: Account, body: Change, row: Found) -> RequestedTime:
    """The row's time after a PATCH. Without a new time the promise is kept."""
    note = body.note if "note" in body.model_fields_set else row.note
    if body.has_time():
        return _time(connection, account, body, note=note)
    now = min(database_time(connection), row.promise - timedelta(seconds=1))
    same = snoozing.reminder_time_at(row.promise, now=now, zone=account.zone, note=note)
    terms = ("duration_hours", "wall_time", "zone", "time_kind", "recurrence", "at_any_hour")
    kept = {name: getattr(row, name) for name in terms}
    return _answered(replace(same, **kept), body), None


def _snooze(
    connection: Connection, account: Account, id: int, parsed: ParsedTime | None = None, *, ended: bool = False
) -> Snooze:
    """The snooze as it is now, with the reading and the flags of `parsed`, and a flag for a recurrence that ended."""
    row = _own(connection, account, id)
    snooze = serializers.snooze(row, account=account, now=database_time(connection))
    if parsed is not None:
        snooze.reading, snooze.flags = parsed.sentence, list(parsed.flags)
    if ended:
        snooze.flags = [*snooze.flags, "repetition_ended"]
    return snooze


def _own(connection: Connection, account: Account, id: int, *, lock: bool = False) -> Found:
    row = api_snoozes.one(connection, id=id, user_email=account.email, changing=lock)
    if row is None:
        raise Refused(404, "not_found", f"You have no snooze {id}.")
    return row


def _over(connection: Connection, row: Found) -> Refused:
    state = row_state(row, now=database_time(connection))
    return Refused(409, "over", f"This snooze is over: it is {state}. Put the message away anew instead.", state=state)
