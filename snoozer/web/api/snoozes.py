"""`/api/v1/snoozes`: put away, look, change, cancel. The reminder goes to the token's owner and to nobody else."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, get_args
from urllib.parse import urlsplit
from uuid import uuid4

from flask import Response, url_for
from sqlalchemy import Connection

from snoozer import snoozing, telemetry
from snoozer.db.models import Account
from snoozer.db.queries import Cursor, Found, InvalidCursor, api_snoozes, snoozes
from snoozer.db.queue import ReminderTime
from snoozer.db.statements import database_time
from snoozer.domain.state import State
from snoozer.timephrase import ParsedTime
from snoozer.web import context
from snoozer.web.api import serializers, validation
from snoozer.web.api.auth import caller, verified
from snoozer.web.api.idempotency import answer, once
from snoozer.web.api.problems import Refused, fields_refused

ROUTE = "api"
MOST_ROWS = 200
MOST_SENDS = 50
STATES = get_args(State)

_WHEN = {"remind_at", "when", "zone", "locale"}
_Given = dict[str, str | None]


@dataclass(frozen=True, kw_only=True)
class Wish:
    """When somebody wants a message back; `reading` only where they said it in words."""

    appointment: ReminderTime
    reading: ParsedTime | None = None


def create() -> Response:
    """POST: 201 for a new snooze, 200 when the message was away already and now has another time."""
    with context.transaction() as connection:
        account = verified(connection)
        given = validation.of_body({"message_id", "subject", "sender_email", "note", *_WHEN})
        return once(connection, account_id=account.id, body=given, act=lambda: _create(connection, account, given))


def browse() -> Response:
    """GET: the caller's snoozes, newest first, page by page."""
    with context.transaction() as connection:
        account = caller(connection)
        given = validation.of_query({"limit", "cursor", "state"})
        size = _size(given.get("limit"))
        state = next((state for state in STATES if state == given.get("state")), None)
        if given.get("state") is not None and state is None:
            raise fields_refused({"state": f"state must be one of {', '.join(STATES)}."})
        now = database_time(connection)
        page = api_snoozes.browse(
            connection, user_email=account.email, now=now, state=state, after=_cursor(given.get("cursor")), size=size
        )
    following = url_for(".browse", limit=size, state=state, cursor=page.next_cursor)
    return answer(
        200,
        {
            "snoozes": [serializers.of(row, account=account, now=now) for row in page.rows],
            "next": serializers.absolute(following) if page.next_cursor else None,
        },
    )


def show(id: int) -> Response:
    """GET: one snooze with what became of it."""
    with context.transaction() as connection:
        account = caller(connection)
        row = _mine(connection, account, id)
        now = database_time(connection)
        body = serializers.of(row, account=account, now=now)
        return answer(
            200,
            body
            | serializers.history(row, snoozes.sends(connection, id=id, size=MOST_SENDS), account=account, now=now),
        )


def change(id: int) -> Response:
    """PATCH: another time, another note, or both."""
    with context.transaction() as connection:
        account = verified(connection)
        given = validation.of_body({"note", *_WHEN})
        row = _mine(connection, account, id, changing=True)
        wish = _changed(connection, account, given, row)
        ended = snoozing.ended_recurrence(row.recurrence, wish.appointment) is not None
        if not snoozing.change(
            connection,
            id=id,
            user_email=account.email,
            reminder_time=wish.appointment,
            route=ROUTE,
            reading=wish.reading,
        ):
            raise _over(row, now=database_time(connection))
        return answer(200, _told(connection, account, id, wish, ended=ended))


def cancel(id: int) -> Response:
    """DELETE: no reminder after all."""
    with context.transaction() as connection:
        account = caller(connection)
        row = _mine(connection, account, id, changing=True)
        if not snoozing.cancel(connection, id=id, user_email=account.email, message_id=row.message_id, route=ROUTE):
            raise _over(row, now=database_time(connection))
        return answer(200, _told(connection, account, id, None))


def _create(connection: Connection, account: Account, given: _Given) -> tuple[int, dict[str, Any]]:
    wish = _wish(connection, account, given, note=given.get("note"))
    id, new, ended = snoozing.snooze(
        connection,
        user_email=account.email,
        message=_message(connection, account, given),
        reminder_time=wish.appointment,
        reading=wish.reading,
        route=ROUTE,
        traceparent=telemetry.traceparent(),
    )
    return 201 if new else 200, _told(connection, account, id, wish, ended=ended is not None)


def _message(connection: Connection, account: Account, given: _Given) -> snoozing.Message:
    """The message meant: a named one, or a new name for something that has a subject only."""
    subject, sender = validation.subject_of(given.get("subject")), validation.address_of(given.get("sender_email"))
    message_id = given.get("message_id")
    if message_id is None:
        if subject is None:
            raise fields_refused({"message_id": "message_id is missing: name the message, or give a subject."})
        return snoozing.Message(message_id=_new_name(), subject=subject, sender_email=sender)
    kept_subject, kept_sender = api_snoozes.envelope(connection, user_email=account.email, message_id=message_id)
    return snoozing.Message(message_id=message_id, subject=subject or kept_subject, sender_email=sender or kept_sender)


def _new_name() -> str:
    return f"<{uuid4()}@{urlsplit(context.settings().base_url).hostname or 'snoozer.invalid'}>"


def _wish(connection: Connection, account: Account, given: _Given, *, note: str | None) -> Wish:
    """The time in `remind_at` or `when`. Refused unless there is exactly one of them and it can be kept."""
    at, phrase = given.get("remind_at"), given.get("when")
    if (at is None) == (phrase is None):
        wrong = "Give exactly one of remind_at (a date and time) and when (a phrase such as tomorrow 8am)."
        raise fields_refused({"when" if at is None else "remind_at": wrong})
    now = database_time(connection)
    zone = validation.zone_of(given.get("zone"), default=account.zone)
    locale = validation.locale_of(given.get("locale"), default=account.locale)
    if at is not None:
        moment = validation.instant_of(at, field="remind_at")
        if moment.tzinfo is not None:
            return Wish(appointment=snoozing.reminder_time_at(moment, now=now, zone=zone, note=note))
        phrase = moment.isoformat()
    reading = snoozing.parse_phrase(phrase or "", now=now, zone=zone, locale=locale)
    return Wish(appointment=snoozing.reminder_time_of(reading, now=now, note=note), reading=reading)


def _changed(connection: Connection, account: Account, given: _Given, row: Found) -> Wish:
    """The wish that a PATCH makes of a row: what it does not name stays. A new note alone keeps the promise."""
    note = given.get("note") if "note" in given else row.note
    if given.get("remind_at") is not None or given.get("when") is not None:
        return _wish(connection, account, given, note=note)
    if "note" not in given or set(given) & _WHEN:
        raise fields_refused({"when": "Give a new time (remind_at or when), a new note, or both."})
    now = min(database_time(connection), row.promise - timedelta(seconds=1))
    same = snoozing.reminder_time_at(row.promise, now=now, zone=account.zone, note=note)
    unmoved = {name: getattr(row, name) for name in ("duration_hours", "wall_time", "zone", "time_kind", "recurrence")}
    return Wish(appointment=replace(same, **unmoved))


def _told(
    connection: Connection, account: Account, id: int, wish: Wish | None, *, ended: bool = False
) -> dict[str, Any]:
    """The snooze as it stands now, with what there is to know about the reading; `ended` says that the new time took
    the place of a repetition."""
    row = _mine(connection, account, id)
    body = serializers.of(row, account=account, now=database_time(connection))
    if wish is not None and wish.reading is not None:
        body |= {"reading": wish.reading.sentence, "flags": list(wish.reading.flags)}
    if ended:
        body["flags"] = [*body.get("flags", ()), "repetition_ended"]
    return body


def _mine(connection: Connection, account: Account, id: int, *, changing: bool = False) -> Found:
    row = api_snoozes.one(connection, id=id, user_email=account.email, changing=changing)
    if row is None:
        raise Refused(404, "not_found", f"You have no snooze {id}.")
    return row


def _over(row: Found, *, now: datetime) -> Refused:
    state = serializers.state(row, now=now)
    return Refused(409, "over", f"This snooze is over: it is {state}. Put the message away anew instead.", state=state)


def _size(limit: str | None) -> int:
    if limit is None:
        return 50
    if not (limit.isascii() and limit.isdigit() and len(limit) <= 3 and 1 <= int(limit) <= MOST_ROWS):
        raise fields_refused({"limit": f"limit must be a number from 1 to {MOST_ROWS}."})
    return int(limit)


def _cursor(text: str | None) -> Cursor | None:
    try:
        return None if text is None else Cursor.parse(text)
    except InvalidCursor as bad:
        raise fields_refused({"cursor": f"{bad} Take it from `next`, unchanged."}) from None
