"""USE CASE of List-Unsubscribe: one click ends the series of a reminder, or sends the reminders that a digest gathers
singly from now on; and takes that back."""

from dataclasses import dataclass, replace
from typing import Literal

from sqlalchemy import Connection, select

from snoozer.db.models import Digest, Event, Snooze
from snoozer.queue import events
from snoozer.snoozes import acts, chosen_shape
from snoozer.snoozes.acts import By, Cancel
from snoozer.snoozes.day_shapes import NO_SHAPE
from snoozer.snoozes.reminder_links import Occurrence

# In the detail of an event: the promise whose reminder was clicked.
_CLICKED = "clicked"
_SINGLY = "sent singly"


@dataclass(frozen=True, kw_only=True)
class Stoppable:
    """The target of one click: `what` is None if the reminder neither repeats nor is a digest. `stopped` is the act to
    undo, if this reminder's link stopped it and it is still stopped. Digests list more than `gathers_over` reminders of
    the account."""

    what: Literal["series", "digest"] | None
    stopped: events.Done | None = None
    account_id: int | None = None
    gathers_over: int | None = None


def find(connection: Connection, *, occurrence: Occurrence) -> Stoppable:
    """The target of this reminder's List-Unsubscribe."""
    id, promise = occurrence.snooze_id, occurrence.scheduled_for
    its = (Digest.snooze_id == id, Digest.scheduled_for == promise)
    account_id = connection.execute(select(Digest.account_id).where(*its)).scalar_one_or_none()
    stopped = _last_click(connection, occurrence)
    if account_id is not None:
        shape = chosen_shape.find(connection, account_id=account_id) or NO_SHAPE
        if shape.gathers_over is not None:
            return Stoppable(what="digest", account_id=account_id, gathers_over=shape.gathers_over)
        return Stoppable(what="digest" if stopped else None, stopped=stopped, account_id=account_id)
    row = connection.execute(select(Snooze.recurrence, Snooze.outcome).where(Snooze.id == id)).one()
    if row.recurrence is None or row.outcome not in {None, "cancelled"}:
        return Stoppable(what=None)
    if row.outcome is None:
        return Stoppable(what="series")
    return Stoppable(what="series" if stopped else None, stopped=stopped)


def stop(connection: Connection, *, occurrence: Occurrence, route: str) -> None:
    """Stop it, if it is not stopped."""
    found, id = find(connection, occurrence=occurrence), occurrence.snooze_id
    clicked: dict[str, object] = {_CLICKED: occurrence.scheduled_for.isoformat()}
    if found.what is None or found.stopped is not None:
        return
    if found.account_id is None:
        acts.act(connection, [id], Cancel(detail=clicked), By(occurrence.user_email, route))
        return
    _gather(connection, found.account_id, gathers_over=None)
    detail = clicked | {"gathers_over": found.gathers_over}
    events.append_many(connection, kind=_SINGLY, actor="user", route=route, lines=[(id, detail)])


def resume(connection: Connection, *, occurrence: Occurrence, route: str) -> None:
    """Take it back, if this reminder's link stopped it."""
    found, id = find(connection, occurrence=occurrence), occurrence.snooze_id
    if found.stopped is None:
        return
    if found.account_id is None:
        acts.undo(connection, [id], By(occurrence.user_email, route), done=[found.stopped.id])
        return
    gathers_over = found.stopped.detail["gathers_over"]
    _gather(connection, found.account_id, gathers_over=gathers_over)
    detail = {"of": found.stopped.id, "gathers_over": gathers_over}
    events.append_many(connection, kind="undone", actor="user", route=route, lines=[(id, detail)])


def _gather(connection: Connection, account_id: int, *, gathers_over: int | None) -> None:
    shape = chosen_shape.find(connection, account_id=account_id) or NO_SHAPE
    chosen_shape.choose(connection, account_id=account_id, shape=replace(shape, gathers_over=gathers_over))


def _last_click(connection: Connection, occurrence: Occurrence) -> events.Done | None:
    """The last act of this reminder's List-Unsubscribe, unless it was undone."""
    clicked = select(Event.id).where(
        Event.snooze_id == occurrence.snooze_id,
        Event.detail[_CLICKED].astext == occurrence.scheduled_for.isoformat(),
    )
    last = connection.execute(clicked.order_by(Event.id.desc()).limit(1)).scalar_one_or_none()
    if last is None:
        return None
    return events.undoable(connection, ids=[occurrence.snooze_id], events=[last]).get(occurrence.snooze_id)
