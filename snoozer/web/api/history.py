"""The routes of what became of a snooze. Nothing in them has an address, a token or a worker's name.

The docstrings of the routes are published in openapi.json.
"""

from typing import Any

from flask import Response, url_for

from snoozer.db.queries import make_page, snooze_events, snoozes
from snoozer.db.scopes import Scope
from snoozer.db.statements import database_time
from snoozer.web.api import own_snoozes, serializers
from snoozer.web.api.auth import by_program, caller
from snoozer.web.api.blueprint import blueprint
from snoozer.web.api.idempotency import respond
from snoozer.web.api.models.headers import ReadHeaders
from snoozer.web.api.models.history import EventEntry, EventPage, HistoryQuery, SendPage
from snoozer.web.api.openapi import NOT_MODIFIED, operation
from snoozer.web.api.validation import query_of
from snoozer.web.text.redaction import without_addresses

# The fields of an event's detail that its owner's programs may see.
_SHOWN = {
    *("after", "alternative", "at", "before", "ended", "error", "flags", "next", "note", "of", "phrase", "promise"),
    *("code", "scope", "text", "until", "was", "why", "zone"),
}


@blueprint.get("/snoozes/<row:id>/events")
@operation(
    "listEvents",
    scope=Scope.SNOOZES_READ,
    query=HistoryQuery,
    headers=ReadHeaders,
    returns={200: (EventPage, "One page."), 304: NOT_MODIFIED},
    refuses=(404, 422),
)
def browse_events(id: int) -> Response:
    """The events of a snooze, newest first"""
    with caller() as (connection, account):
        query = query_of(HistoryQuery)
        own_snoozes.own(connection, account, id)
        page = snooze_events.page(connection, id=id, after=query.cursor, size=query.limit)
        mine = by_program(account).token_id
    events = [
        EventEntry(
            id=row.id,
            at=row.at.isoformat(),
            kind=row.kind,
            by=_by(row.actor),
            route=row.route,
            program=row.program,
            own=row.token_id is not None and row.token_id == mine,
            detail={name: _plain(value) for name, value in (row.detail or {}).items() if name in _SHOWN},
        )
        for row in page.rows
    ]
    path = url_for(".browse_events", id=id, limit=query.limit, cursor=page.next_cursor)
    return respond(200, EventPage(events=events, next=serializers.absolute(path) if page.next_cursor else None))


@blueprint.get("/snoozes/<row:id>/sends")
@operation(
    "listSends",
    scope=Scope.SNOOZES_READ,
    query=HistoryQuery,
    headers=ReadHeaders,
    returns={200: (SendPage, "One page."), 304: NOT_MODIFIED},
    refuses=(404, 422),
)
def browse_sends(id: int) -> Response:
    """The reminders of a snooze in the ledger, the newest promise first"""
    with caller() as (connection, account):
        query = query_of(HistoryQuery)
        row = own_snoozes.own(connection, account, id)
        rows = snoozes.sends(connection, id=id, size=query.limit + 1, after=query.cursor)
        now = database_time(connection)
    page = make_page(rows, size=query.limit, at=lambda send: send.scheduled_for)
    path = url_for(".browse_sends", id=id, limit=query.limit, cursor=page.next_cursor)
    sends = serializers.sends(page.rows, row=row, account=account, now=now)
    return respond(200, SendPage(sends=sends, next=serializers.absolute(path) if page.next_cursor else None))


def _by(actor: str | None) -> str:
    """The kind of actor without a name: a worker's name contains its host, an operator's their account."""
    name = (actor or "snoozer").partition(":")[0]
    return name if name in {"user", "operator", "clock", "housekeeping", "mailbox", "mail"} else "worker"


def _plain(value: Any) -> Any:
    """The value without addresses."""
    if isinstance(value, str):
        return without_addresses(value)
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list) else value
