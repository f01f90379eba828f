"""USE CASE of the mail's reader: what a link in a reminder may do, and what became of it.

A link speaks for one occurrence of one snooze. Acting twice changes nothing, and a link whose message was put away
anew since explains that and does nothing. What repeats goes on, whatever a link does: it ends and changes on the pages.
"""

import logging
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection, Row, func, or_, select

from snoozer.domain.links import Link
from snoozer.domain.times import promise_after
from snoozer.postgres import clock, events, kept, ledger, queue
from snoozer.postgres.appointment import Appointment
from snoozer.postgres.models import Event, Send, Snooze

Standing = Literal["open", "done", "asleep"]

_promise = func.coalesce(Snooze.scheduled_for, Snooze.remind_at).label("promise")

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Occurrence:
    """One promise that was kept, as its link may see it; nothing else of the person's mail.

    `asleep_until` is when the message comes back if it has been put away anew, or repeats and has gone on; `by_link`
    whether this very reminder's link put it away, and so may undo it. `goes_on_at` is the next occurrence of what
    repeats and has not gone on yet, because nobody knows for sure that this one came.
    """

    snooze_id: int
    user_email: str
    message_id: str
    scheduled_for: datetime
    subject: str | None
    sender_email: str | None
    note: str | None
    zone: str
    standing: Standing
    asleep_until: datetime | None
    asleep_id: int | None
    by_link: bool
    repeats: bool
    goes_on_at: datetime | None


def find(connection: Connection, *, link: Link, acting: bool = False) -> Occurrence | None:
    """The occurrence a link speaks for; None when there is none (any more).

    With `acting`, the snooze stays as it is read here until this transaction ends: others who act on it wait, and a
    worker that holds it has either settled it before or finds its claim gone.
    """
    row = _snooze(connection, id=link.snooze_id, acting=acting)
    send = connection.execute(
        select(
            Send.snooze_id,
            Send.user_email,
            Send.message_id,
            Send.subject,
            Send.sender_email,
            Send.note,
            Send.zone,
            Send.scheduled_for,
        ).where(Send.snooze_id == link.snooze_id, Send.scheduled_for == link.scheduled_for)
    ).first()
    if row is None or send is None:
        return None
    last = _last_act(connection, link=link)
    newer = _put_away_anew(connection, send=send)
    return Occurrence(
        standing=_standing(newer, last),
        asleep_until=newer.remind_at if newer else None,
        asleep_id=newer.id if newer else None,
        by_link=bool(newer and last and last.kind == "again" and last.detail.get("snooze") == newer.id),
        repeats=bool(newer and newer.id == row.id and newer.recurrence is not None),
        goes_on_at=_goes_on_at(connection, row) if row.promise == link.scheduled_for else None,
        **send._mapping,
    )


def done(connection: Connection, *, occurrence: Occurrence, route: str) -> bool:
    """The person is done with the message, until its next occurrence if it repeats; False when it was done already or
    is asleep again."""
    if occurrence.standing != "open" or not _settle(connection, occurrence):
        return False
    kept.settle(connection, user_email=occurrence.user_email, message_id=occurrence.message_id)
    following = {} if occurrence.goes_on_at is None else {"next": occurrence.goes_on_at.isoformat()}
    _write_down(connection, occurrence, kind="done", route=route, **following)
    return True


def again(connection: Connection, *, occurrence: Occurrence, appointment: Appointment, route: str) -> bool:
    """Put the message away once more; False when it is asleep already, or repeats and so comes back by itself."""
    if occurrence.asleep_id is not None:
        return False
    if occurrence.goes_on_at is not None:
        if _settle(connection, occurrence):
            kept.surface(connection, snooze_ids=[occurrence.snooze_id])
            _write_down(connection, occurrence, kind="answered", route=route)
        return False
    ledger.acknowledge(connection, snooze_id=occurrence.snooze_id, scheduled_for=occurrence.scheduled_for)
    id, _ = queue.enqueue(
        connection,
        user_email=occurrence.user_email,
        message_id=occurrence.message_id,
        subject=occurrence.subject,
        sender_email=occurrence.sender_email,
        appointment=appointment,
    )
    kept.put_away(connection, user_email=occurrence.user_email, message_id=occurrence.message_id)
    _write_down(connection, occurrence, kind="again", route=route, snooze=id)
    return True


def undo(connection: Connection, *, occurrence: Occurrence, route: str) -> bool:
    """Take back what this reminder's link did last; False when there is nothing of its own to take back."""
    owner = {"user_email": occurrence.user_email, "message_id": occurrence.message_id}
    if occurrence.standing == "asleep" and occurrence.by_link and occurrence.asleep_id is not None:
        if not queue.cancel(connection, id=occurrence.asleep_id, user_email=occurrence.user_email):
            return False
    elif occurrence.standing != "done":
        return False
    kept.take_back(connection, **owner)
    _write_down(connection, occurrence, kind="undone", route=route)
    return True


def _settle(connection: Connection, occurrence: Occurrence) -> bool:
    """Who answers a reminder has it: no second copy of it leaves, and what repeats goes on, as it does when the mail
    server has said so. False when what repeats has gone on already."""
    id, email, promised = occurrence.snooze_id, occurrence.user_email, occurrence.scheduled_for
    at = occurrence.goes_on_at
    if at is None:
        queue.cancel(connection, id=id, user_email=email, scheduled_for=promised)
    elif not queue.go_on(connection, id=id, user_email=email, scheduled_for=promised, remind_at=at):
        return False
    ledger.acknowledge(connection, snooze_id=id, scheduled_for=promised)
    return True


def _standing(newer: Row[*tuple[Any, ...]] | None, last: Row[*tuple[Any, ...]] | None) -> Standing:
    """Done with it is only what this link did last and what nothing has happened to since."""
    if newer is None:
        return "done" if last and last.kind == "done" else "open"
    went_on = last.detail.get("next") if last and last.kind == "done" else None
    return "done" if went_on and datetime.fromisoformat(went_on) == newer.promise else "asleep"


def _goes_on_at(connection: Connection, row: Row[*tuple[Any, ...]]) -> datetime | None:
    """The occurrence after the promised one; None for what does not repeat, is over, or was asked for the last time."""
    if row.recurrence is None or row.outcome is not None:
        return None
    try:
        return promise_after(row.recurrence, promised=row.promise, now=clock.now(connection), zone=row.zone)
    except (KeyError, ValueError):
        log.warning("the recurrence of snooze %d cannot be read: this occurrence is its last", row.id)
        return None


def _snooze(connection: Connection, *, id: int, acting: bool) -> Row[*tuple[Any, ...]] | None:
    """The row that a link speaks for; with `acting` it is locked, before its sends as everywhere."""
    sought = select(Snooze.id, Snooze.outcome, Snooze.recurrence, Snooze.zone, _promise).where(Snooze.id == id)
    return connection.execute(sought.with_for_update(key_share=True) if acting else sought).first()


def _put_away_anew(connection: Connection, *, send: Row[*tuple[Any, ...]]) -> Row[*tuple[Any, ...]] | None:
    """The living snooze of the same message that is not this promise itself, waiting to be sent once more."""
    return connection.execute(
        select(Snooze.id, Snooze.remind_at, Snooze.recurrence, _promise).where(
            Snooze.user_email == send.user_email,
            Snooze.message_id == send.message_id,
            ~Snooze.inactive,
            or_(Snooze.id != send.snooze_id, _promise != send.scheduled_for),
        )
    ).first()


def _last_act(connection: Connection, *, link: Link) -> Row[*tuple[Any, ...]] | None:
    return connection.execute(
        select(Event.kind, Event.detail)
        .where(
            Event.snooze_id == link.snooze_id,
            Event.kind.in_(("done", "again", "undone")),
            Event.detail["promise"].astext == link.scheduled_for.isoformat(),
        )
        .order_by(Event.id.desc())
        .limit(1)
    ).first()


def _write_down(connection: Connection, occurrence: Occurrence, *, kind: str, route: str, **detail: object) -> None:
    events.append(
        connection,
        snooze_id=occurrence.snooze_id,
        kind=kind,
        actor="user",
        route=route,
        promise=occurrence.scheduled_for.isoformat(),
        **detail,
    )
