"""What an owner does to one snooze whose row is locked, of one route or of many in a bulk request."""

from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection

from snoozer import occurrences, reminder_actions, snoozing
from snoozer.db.models import Account
from snoozer.db.queries import Found, snooze_events
from snoozer.db.queue import ReminderTime
from snoozer.domain.links import Link
from snoozer.snoozing import SnoozeError
from snoozer.timephrase import ParsedTime
from snoozer.timephrase.zones import resolve_wall_time, zone_of
from snoozer.translations import gettext as _
from snoozer.web.api import own_snoozes
from snoozer.web.api.blueprint import ROUTE
from snoozer.web.api.models.acts import Nothing, SeriesEnd, Skip, Undo
from snoozer.web.api.models.fields import Request
from snoozer.web.api.models.snoozes import Change

Body = TypeVar("Body", bound=Request)
# Does it to a row that is locked, and returns the event by which it is undone.
Act = Callable[[Connection, Account, Found, Body], int | None]


def do(connection: Connection, account: Account, row: Found, wanted: Body, act: "Act[Body]") -> int | None:
    """Do it to a row that is locked. Raises Refused with 409 where the row does not allow it."""
    try:
        return act(connection, account, row, wanted)
    except SnoozeError as error:
        raise own_snoozes.conflict(connection, row, error) from None


def wake(connection: Connection, account: Account, row: Found, _wanted: Nothing) -> int:
    """Bring it back now."""
    return occurrences.bring_back(connection, id=row.id, user_email=account.email, route=ROUTE).event


def pause(connection: Connection, account: Account, row: Found, _wanted: Nothing) -> int:
    """Nothing comes until it is resumed."""
    return occurrences.pause(connection, id=row.id, user_email=account.email, route=ROUTE).event


def resume(connection: Connection, account: Account, row: Found, _wanted: Nothing) -> int:
    """Go on with what is paused."""
    return occurrences.resume(connection, id=row.id, user_email=account.email, route=ROUTE).event


def skip(connection: Connection, account: Account, row: Found, wanted: Skip) -> int:
    """Leave out a time of what repeats."""
    promise = wanted.scheduled_for or row.promise
    if promise.tzinfo is None:
        promise, _flags = resolve_wall_time(promise, zone_of(row.zone or account.zone))
    return occurrences.skip(connection, id=row.id, user_email=account.email, promise=promise, route=ROUTE).event


def move(time: ReminderTime, reading: ParsedTime | None) -> "Act[Change]":
    """Another time for one occurrence of what repeats, or for every one."""

    def act(connection: Connection, account: Account, row: Found, wanted: Change) -> int:
        every = wanted.occurrence == "every"
        return occurrences.move(
            connection,
            id=row.id,
            user_email=account.email,
            reminder_time=time,
            every=every,
            reading=reading,
            route=ROUTE,
        ).event

    return act


def set_end(connection: Connection, account: Account, row: Found, wanted: SeriesEnd) -> int:
    """When what repeats ends."""
    return occurrences.set_end(
        connection, id=row.id, user_email=account.email, until=wanted.until, times=wanted.times, route=ROUTE
    ).event


def done(connection: Connection, account: Account, row: Found, _wanted: Nothing) -> int | None:
    """Done with what came back."""
    occurrence = _came_back(connection, row)
    if occurrence is None:
        raise SnoozeError("not_back", "It has not come back yet, so there is nothing to be done with. Cancel it.")
    if not reminder_actions.done(connection, occurrence=occurrence, route=ROUTE):
        code = "done" if occurrence.status == "done" else "snoozed"
        raise SnoozeError(code, "It is done already, or snoozed again, so nothing was changed.")
    act = snooze_events.last_act(connection, id=row.id)
    return None if act is None else int(act.id)


def undo(connection: Connection, account: Account, row: Found, wanted: Undo) -> None:
    """Undo an act, or a cancellation."""
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
