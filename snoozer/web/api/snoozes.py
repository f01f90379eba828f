"""The routes of snoozes. A reminder goes to the address of the token's owner and to no other.

The docstrings of the routes are published in openapi.json.
"""

from dataclasses import replace
from datetime import datetime

from flask import Response, url_for
from sqlalchemy import Connection

from snoozer import telemetry
from snoozer.db.models import Account
from snoozer.db.queries import Found, Page, api_snoozes, snoozes
from snoozer.db.scopes import Scope
from snoozer.db.statements import database_time
from snoozer.snoozes import acts
from snoozer.web.api import own_snoozes, preconditions, requested, serializers
from snoozer.web.api.auth import by_program, caller
from snoozer.web.api.blueprint import blueprint
from snoozer.web.api.idempotency import respond, run_once
from snoozer.web.api.models.headers import ChangeHeaders, IdempotencyHeaders, ReadHeaders
from snoozer.web.api.models.snoozes import Change, NewSnooze, Snooze, SnoozeHistory, SnoozePage, SnoozeQuery
from snoozer.web.api.openapi import NOT_MODIFIED, operation
from snoozer.web.api.problems import invalid_fields
from snoozer.web.api.validation import json_object, query_of, validate
from snoozer.web.snoozes import search
from snoozer.web.snoozes.search import SearchError
from snoozer.web.text.time_format import TimeFormatter

MAX_SENDS = 50


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
    "listSnoozes",
    scope=Scope.SNOOZES_READ,
    query=SnoozeQuery,
    headers=ReadHeaders,
    returns={200: (SnoozePage, "One page."), 304: NOT_MODIFIED},
    refuses=(422,),
)
def browse() -> Response:
    """The owner's snoozes, newest first

    With `q` what a search finds, as the search of the page does: what has not come back, the next one first. With
    `message_id` one snooze for each of these messages.
    """
    with caller() as (connection, account):
        query = query_of(SnoozeQuery)
        now = database_time(connection)
        if query.message_id:
            return _of_messages(connection, account, query, now=now)
        if query.q is not None:
            page = _found(connection, account, query, now=now)
        else:
            page = api_snoozes.browse(
                connection, user_email=account.email, now=now, state=query.state, after=query.cursor, size=query.limit
            )
    listed = [serializers.snooze(row, account=account, now=now) for row in page.rows]
    path = url_for(".browse", limit=query.limit, state=query.state, q=query.q, cursor=page.next_cursor)
    return respond(200, SnoozePage(snoozes=listed, next=serializers.absolute(path) if page.next_cursor else None))


@blueprint.get("/snoozes/<row:id>")
@operation(
    "getSnooze",
    scope=Scope.SNOOZES_READ,
    headers=ReadHeaders,
    returns={200: (SnoozeHistory, "The snooze."), 304: NOT_MODIFIED},
    refuses=(404,),
)
def show(id: int) -> Response:
    """One snooze and what became of it"""
    with caller() as (connection, account):
        row = own_snoozes.own(connection, account, id)
        now = database_time(connection)
        sends = snoozes.sends(connection, id=id, size=MAX_SENDS)
        return respond(200, serializers.history(row, sends, account=account, now=now))


@blueprint.patch("/snoozes/<row:id>")
@operation(
    "changeSnooze",
    scope=Scope.SNOOZES_WRITE,
    json=Change,
    headers=ChangeHeaders,
    returns={200: (Snooze, "The snooze as it is now.")},
    refuses=(400, 403, 404, 409, 412, 415, 422),
)
def change(id: int) -> Response:
    """Another time, another note, another reply policy, other options

    Fields that are not given stay as they are. Without a new time the promised one is kept. Options alone change
    neither the promise nor the count of attempts. With `occurrence` a repeating snooze continues, and `event` undoes
    the move.
    """
    with caller(verified=True) as (connection, account):
        wanted = validate(Change, json_object())
        row = own_snoozes.to_change(connection, account, id)
        parsed, result = None, None
        if wanted.moves_occurrence():
            time, parsed = requested.changed_time(connection, account, wanted, row)
            every = wanted.occurrence == "every"
            result = own_snoozes.act_on(connection, account, row, acts.Move(time=time, every=every, reading=parsed))
            if time.recurrence is None:
                result = replace(result, before=None)  # Its repetition goes on, at other times.
        elif wanted.changes_note_alone():
            result = own_snoozes.act_on(connection, account, row, acts.Annotate(note=wanted.note))
        elif wanted.changes_promise():
            time, parsed = requested.changed_time(connection, account, wanted, row)
            result = own_snoozes.act_on(connection, account, row, acts.Snooze(time=time, reading=parsed))
        if wanted.changes_options():
            keeps_key = "serialization_key" not in wanted.model_fields_set
            options = acts.SetOptions(options=requested.options_of(account, wanted), keeps_key=keeps_key)
            set_too = own_snoozes.act_on(connection, account, row, options)
            result = result or replace(set_too, event=None)
        own_snoozes.spend_snooze(connection, account)
        return respond(200, own_snoozes.shown(connection, account, id, parsed, result=result))


@blueprint.delete("/snoozes/<row:id>")
@operation(
    "cancelSnooze",
    scope=Scope.SNOOZES_WRITE,
    headers=ChangeHeaders,
    returns={200: (Snooze, "The snooze, cancelled.")},
    refuses=(404, 409, 412),
)
def cancel(id: int) -> Response:
    """No reminder after all"""
    with caller() as (connection, account):
        row = own_snoozes.to_change(connection, account, id)
        result = own_snoozes.act_on(connection, account, row, acts.Cancel())
        return respond(200, own_snoozes.shown(connection, account, id, result=result))


def _create(connection: Connection, account: Account, new: NewSnooze) -> tuple[int, Snooze]:
    wanted = requested.wanted(connection, account, new)
    by = by_program(account)
    (result,) = acts.snooze(connection, [wanted], by, traceparent=telemetry.traceparent())
    own_snoozes.spend_snooze(connection, account)
    status = 201 if result.before is None else 200
    return status, own_snoozes.shown(connection, account, result.id, wanted.reading, result=result)


def _of_messages(connection: Connection, account: Account, query: SnoozeQuery, *, now: datetime) -> Response:
    rows = api_snoozes.of_messages(connection, user_email=account.email, message_ids=query.message_id)
    listed = [serializers.snooze(row, account=account, now=now) for row in rows]
    response = respond(200, SnoozePage(snoozes=listed, next=None))
    return preconditions.answer(response, preconditions.list_etag(snooze.etag for snooze in listed))


def _found(connection: Connection, account: Account, query: SnoozeQuery, *, now: datetime) -> Page[Found]:
    times = TimeFormatter(now=now, zone=account.zone, locale=account.locale)
    try:
        filters = search.parse(query.q or "", times=times)
    except SearchError as error:
        raise invalid_fields({"q": error.message}) from None
    return snoozes.found(
        connection, user_email=account.email, filters=filters, now=now, after=query.cursor, size=query.limit
    )
