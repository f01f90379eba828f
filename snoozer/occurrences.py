"""USE CASE of the page of a snooze: what repeats is skipped, moved, given an end, paused and resumed, and a message
comes back at once. Each can be undone, while the snooze is as it left it.

What cannot be done raises SnoozeError, with a sentence for people. A reminder whose last dot is authorised is being
sent: until the mail server has answered nothing is changed about its promise. Before that, the person wins.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, exists, func, or_, select

from snoozer import snoozing
from snoozer.db import events, mailbox_store, queue
from snoozer.db.models import EMAIL, Event, MailboxMessage, Send, Snooze, SnoozedMessage, promised_time
from snoozer.db.queries import Found, columns
from snoozer.db.queue import ReminderTime, Terms
from snoozer.snoozing import SnoozeError
from snoozer.timephrase import ParsedTime, Recurrence, next_occurrence, next_reminder_after
from snoozer.timephrase import series as rules
from snoozer.timephrase.zones import resolve_wall_time, wall_time, zone_of
from snoozer.translations import gettext as _

_COLUMNS = (
    "id user_email message_id remind_at recurrence wall_time zone time_kind inactive outcome note at_any_hour "
    "deferred_until paused_by"
)
_UNDOABLE = ("edited", "skipped", "paused", "resumed", "back")


@dataclass(frozen=True, kw_only=True)
class Change:
    """What was done: the id of its event, which undoes it, and what the snooze promises now. `outcome` is set where it
    is over, `by_mail` where a message comes back by its reminder alone."""

    event: int
    promise: datetime
    recurrence: dict[str, Any] | None
    outcome: str | None = None
    by_mail: bool = False


def skip(connection: Connection, *, id: int, user_email: str, promise: datetime, route: str) -> Change:
    """Leave out the occurrence that is promised, if it is still `promise`."""
    row = _lock(connection, id=id, user_email=user_email)
    following = _following(row, _series(row), now=_now(connection))
    if row.promise != promise:
        raise SnoozeError("changed", _("It had changed already, so nothing was skipped. This is how it is now."))
    if following is None:
        raise SnoozeError("last", _("That is its last time, so there is nothing to skip to. Cancel it instead."))

    def write() -> None:
        queue.skip_occurrence(connection, id=id, user_email=user_email, scheduled_for=promise, remind_at=following)

    return _apply(connection, row, write, kind="skipped", route=route, was=promise.isoformat())


def move(
    connection: Connection,
    *,
    id: int,
    user_email: str,
    reminder_time: ReminderTime,
    every: bool,
    route: str,
    reading: ParsedTime | None = None,
) -> Change:
    """Another time. Of what repeats it is for this occurrence only, or for every one from this on; a time that repeats
    itself takes the place of the series. What is paused is resumed."""
    row = _lock(connection, id=id, user_email=user_email)
    scope: dict[str, object] = {}
    if row.recurrence is not None and reminder_time.recurrence is None:
        scope = {"scope": "every" if every else "once"}
        reminder_time = every_time(row, reminder_time) if every else _only_this(row, reminder_time)

    def write() -> None:
        _reschedule(connection, row, reminder_time)

    detail = snoozing.event_detail(reading, reminder_time, None) | scope
    return _apply(connection, row, write, kind="edited", route=route, **detail)


def every_time(row: Found, new: ReminderTime) -> ReminderTime:
    """What `move` makes of a time for every occurrence: the series from it on, and its next one. Raises SnoozeError."""
    zone = _zone(row)
    wall = wall_time(new.remind_at, zone).replace(second=0, microsecond=0)
    try:
        series = rules.moved(_series(row), row.promise, zone, wall=wall)
    except rules.SeriesError as error:
        raise SnoozeError("past", str(error)) from None
    at, _ = resolve_wall_time(wall, zone_of(zone))
    return replace(new, remind_at=at, recurrence=series.as_json(), wall_time=wall, zone=row.zone, time_kind="wall")


def set_end(
    connection: Connection,
    *,
    id: int,
    user_email: str,
    route: str,
    until: date | None = None,
    times: int | None = None,
) -> Change:
    """The last day of what repeats, or how many times it still comes; neither for no end."""
    row = _lock(connection, id=id, user_email=user_email)
    try:
        left = rules.ending(_series(row), row.promise, _zone(row), until=until, times=times)
    except rules.SeriesError as error:
        raise SnoozeError("past", str(error)) from None
    same = replace(_same_time(row), recurrence=None if left is None else left.as_json())

    def write() -> None:
        _reschedule(connection, row, same)

    return _apply(connection, row, write, kind="edited", route=route, scope="end")


def pause(connection: Connection, *, id: int, user_email: str, route: str) -> Change:
    """Nothing is sent or returned until it is resumed."""
    row = _lock(connection, id=id, user_email=user_email)
    if _is_paused(row):
        raise SnoozeError("paused", _("It is paused already."))

    def write() -> None:
        queue.pause(connection, id=id, user_email=user_email, scheduled_for=row.promise)

    return _apply(connection, row, write, kind="paused", route=route)


def resume(connection: Connection, *, id: int, user_email: str, route: str) -> Change:
    """Go on with what is promised or, where that has passed, with the next occurrence; without one it comes now."""
    row, now = _lock(connection, id=id, user_email=user_email), _now(connection)
    if not _is_paused(row):
        raise SnoozeError("not_paused", _("It is not paused any more."))
    at = row.promise if row.promise > now else None
    if at is None and row.recurrence is not None:
        at = _following(row, _series(row), now=now)
    if at is None:
        return _bring_back(connection, row, now=now, rest=None, route=route)

    def write() -> None:
        if not queue.resume(connection, id=id, user_email=user_email, remind_at=at):
            raise _snoozed_anew()

    return _apply(connection, row, write, kind="resumed", route=route)


def bring_back(connection: Connection, *, id: int, user_email: str, route: str) -> Change:
    """The message comes back now: what repeats goes on after the occurrence that this one takes the place of.

    No reminder is sent for a message that returns to a mailbox; of another one the reminder is what comes.
    """
    row, now = _lock(connection, id=id, user_email=user_email), _now(connection)
    is_deferred = row.deferred_until is not None and row.deferred_until > now
    if row.promise <= now and not row.inactive and not is_deferred:
        raise SnoozeError("due", _("Its time has come already, so it is on its way."))
    rest = None if row.recurrence is None else rules.rest(_series(row), row.promise, _zone(row))
    return _bring_back(connection, row, now=now, rest=rest, route=route)


def undo(connection: Connection, *, id: int, user_email: str, event: int, route: str) -> Change:
    """Undo what an event of this snooze records, unless anything about it changed since."""
    row = _lock(connection, id=id, user_email=user_email, over=True)
    done = connection.execute(
        select(Event.kind, Event.detail).where(
            Event.id == event, Event.snooze_id == row.id, Event.actor == "user", Event.kind.in_(_UNDOABLE)
        )
    ).first()
    if done is None or "before" not in done.detail:
        raise SnoozeError("changed", _("There is nothing to undo."))
    before, after = (Terms.from_json(done.detail[key]) for key in ("before", "after"))
    if before.remind_at <= _now(connection) and not before.paused:
        raise SnoozeError("past", _("The earlier time has passed, so it stays as it is now."))
    if done.kind == "back" and not _can_leave_again(connection, row):
        raise SnoozeError("changed", _("Its message was moved since, so nothing was undone."))
    if not queue.put_back(connection, id=row.id, user_email=user_email, before=before, now=after):
        raise SnoozeError("changed", _("It was changed since, or its reminder is out, so nothing was undone."))
    if done.kind == "back":
        mailbox_store.move_to_snoozed(connection, user_email=user_email, message_id=row.message_id)
    undone = events.append(connection, snooze_id=row.id, kind="undone", actor="user", route=route, of=event)
    return Change(event=undone, promise=before.remind_at, recurrence=before.recurrence)


def _bring_back(connection: Connection, row: Found, *, now: datetime, rest: Recurrence | None, route: str) -> Change:
    at_once = replace(
        _same_time(row), remind_at=now, recurrence=None if rest is None else rest.as_json(), wall_time=None
    )
    if rest is None:
        at_once = replace(at_once, at_any_hour=True)
    owner = {"id": row.id, "user_email": row.user_email}

    def write() -> None:
        if not queue.reschedule(connection, **owner, reminder_time=at_once):
            raise _snoozed_anew()
        if not _returns_now(connection, row, now=now):
            return
        mailbox_store.return_due(connection, batch_size=1, snooze_ids=[row.id])
        following = None if rest is None else next_occurrence(rest, after=now, zone=_zone(row))
        if following is None:
            queue.cancel(connection, **owner, scheduled_for=now)
        else:
            queue.skip_occurrence(connection, **owner, scheduled_for=now, remind_at=following)

    # By the promise that the event names, a rest defers neither this reminder nor this return (`snooze_deferral`).
    was, promise = row.promise.isoformat(), now.isoformat()
    return _apply(connection, row, write, kind="back", route=route, was=was, promise=promise)


def _apply(
    connection: Connection, row: Found, write: Callable[[], None], *, kind: str, route: str, **detail: object
) -> Change:
    """Do it, and record the terms before and after it, by which it is undone."""
    if not row.inactive and _is_being_sent(connection, row):
        raise SnoozeError("being_sent", _("Its reminder is being sent at this moment, so nothing was changed."))
    before = _terms(row)
    write()
    now = connection.execute(_rows().where(Snooze.id == row.id)).one()
    terms = {"before": before.as_json(), "after": _terms(now).as_json()}
    event = events.append(connection, snooze_id=row.id, kind=kind, actor="user", route=route, **detail, **terms)
    by_mail = kind == "back" and now.outcome is None and now.promise <= _now(connection)
    return Change(event=event, promise=now.promise, recurrence=now.recurrence, outcome=now.outcome, by_mail=by_mail)


def _only_this(row: Found, new: ReminderTime) -> ReminderTime:
    """The same series without this occurrence, which has the new time. It stays a time on the clock of the series, also
    where it was asked for as so much time from now: the row's kind is that of all its occurrences."""
    left = rules.rest(_series(row), row.promise, _zone(row))
    wall = wall_time(new.remind_at, _zone(row))
    kept = None if left is None else left.as_json()
    return replace(new, recurrence=kept, wall_time=wall, zone=row.zone, time_kind="wall")


def _reschedule(connection: Connection, row: Found, reminder_time: ReminderTime) -> None:
    if not snoozing.reschedule(connection, id=row.id, user_email=row.user_email, reminder_time=reminder_time):
        raise _snoozed_anew()


def _same_time(row: Found) -> ReminderTime:
    return ReminderTime(
        remind_at=row.promise,
        duration_hours=row.duration_hours,
        note=row.note,
        wall_time=row.wall_time,
        zone=row.zone,
        time_kind=row.time_kind,
        recurrence=row.recurrence,
        at_any_hour=row.at_any_hour,
    )


def _terms(row: Found) -> Terms:
    return Terms(
        remind_at=row.promise,
        recurrence=row.recurrence,
        wall_time=row.wall_time,
        zone=row.zone,
        time_kind=row.time_kind,
        paused=_is_paused(row),
        outcome=row.outcome,
        at_any_hour=row.at_any_hour,
    )


def _is_paused(row: Found) -> bool:
    """By its owner, and not by operators."""
    return bool(row.inactive and row.outcome is None and row.paused_by is None)


def _lock(connection: Connection, *, id: int, user_email: str, over: bool = False) -> Found:
    """The snooze, locked until the transaction ends, and then its message."""
    own = _rows().where(Snooze.id == id, Snooze.user_email == user_email)
    row = connection.execute(own.with_for_update(key_share=True)).first()
    if row is None or (row.outcome is not None and not over):
        raise SnoozeError("over", _("It is over already, so there was nothing to change."))
    mailbox_store.lock_message(connection, user_email=user_email, message_id=row.message_id)
    return row


def _rows() -> Any:
    duration = Snooze.snooze_duration_hours.label("duration_hours")
    return select(*columns(Snooze, _COLUMNS), duration, promised_time().label("promise"))


def _now(connection: Connection) -> datetime:
    """The time of this transaction: what is promised for it is due in it."""
    now: datetime = connection.execute(select(func.now())).scalar_one()
    return now


def _zone(row: Found) -> str:
    return row.zone or "UTC"


def _series(row: Found) -> Recurrence:
    if row.recurrence is None:
        raise SnoozeError("single", _("It does not repeat any more."))
    try:
        zone_of(_zone(row))
        return Recurrence.from_json(row.recurrence)
    except (KeyError, ValueError):
        raise SnoozeError(
            "unreadable", _("This Snoozer cannot read how it repeats. Give it a new time that repeats, or cancel it.")
        ) from None


def _following(row: Found, series: Recurrence, *, now: datetime) -> datetime | None:
    return next_reminder_after(series.as_json(), promised=row.promise, now=now, zone=row.zone)


def _is_being_sent(connection: Connection, row: Found) -> bool:
    """Read with the row locked, which the mark of a dot locks, too. What is sent is promised anew or over at once."""
    sending = exists().where(
        Send.user_email == row.user_email,
        Send.message_id == row.message_id,
        Send.scheduled_for == row.promise,
        Send.channel == EMAIL,
        Send.state.in_(("sending", "sent")),
    )
    return bool(connection.execute(select(sending)).scalar_one())


def _returns_now(connection: Connection, row: Found, *, now: datetime) -> bool:
    """Whether its message returns to a mailbox, here or a connected one, for the promise of this moment."""
    returns = (
        exists().where(*_its_message(model, row), model.snooze_id == row.id, model.returns_at <= now)
        for model in (MailboxMessage, SnoozedMessage)
    )
    return bool(connection.execute(select(or_(*returns))).scalar_one())


def _can_leave_again(connection: Connection, row: Found) -> bool:
    """Whether its message is where it came back to, and so may be snoozed again; a message that is nowhere may, too."""
    folder = select(MailboxMessage.folder).where(*_its_message(MailboxMessage, row))
    place = select(SnoozedMessage.place).where(*_its_message(SnoozedMessage, row), SnoozedMessage.returns)
    return connection.execute(folder.with_for_update(key_share=True)).scalar_one_or_none() in {
        None,
        "inbox",
    } and connection.execute(place.with_for_update(key_share=True)).scalar_one_or_none() in {None, "home"}


def _its_message(model: type[MailboxMessage] | type[SnoozedMessage], row: Found) -> tuple[ColumnElement[bool], ...]:
    return model.user_email == row.user_email, model.message_id == row.message_id


def _snoozed_anew() -> SnoozeError:
    return SnoozeError("snoozed", _("Its message was snoozed anew, and that one counts. This one stays paused."))
