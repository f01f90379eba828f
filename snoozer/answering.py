"""USE CASE of the mail's reader: what a link in a reminder may do, and what became of it.

A link speaks for one occurrence of one snooze. Acting twice changes nothing, and a link whose message was put away
anew since explains that and does nothing.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection, Row, func, or_, select

from snoozer.domain.links import Link
from snoozer.postgres import events, kept, queue
from snoozer.postgres.appointment import Appointment
from snoozer.postgres.models import Event, Send, Snooze

Standing = Literal["open", "done", "asleep"]


@dataclass(frozen=True, kw_only=True)
class Occurrence:
    """One promise that was kept, as its link may see it; nothing else of the person's mail.

    `asleep_until` is when the message comes back if it has been put away anew; `by_link` whether this very reminder's
    link did that, and so may undo it.
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


def find(connection: Connection, *, link: Link, acting: bool = False) -> Occurrence | None:
    """The occurrence a link speaks for; None when there is none (any more).

    With `acting`, others who act on the same occurrence wait until this transaction ends.
    """
    sought = select(
        Send.snooze_id,
        Send.user_email,
        Send.message_id,
        Send.subject,
        Send.sender_email,
        Send.note,
        Send.zone,
        Send.scheduled_for,
    ).where(Send.snooze_id == link.snooze_id, Send.scheduled_for == link.scheduled_for)
    send = connection.execute(sought.with_for_update(key_share=True) if acting else sought).first()
    if send is None:
        return None
    last = _last_act(connection, link=link)
    newer = _put_away_anew(connection, send=send)
    standing: Standing = "asleep" if newer else "done" if last and last.kind == "done" else "open"
    return Occurrence(
        standing=standing,
        asleep_until=newer.remind_at if newer else None,
        asleep_id=newer.id if newer else None,
        by_link=bool(newer and last and last.kind == "again" and last.detail.get("snooze") == newer.id),
        **send._mapping,
    )


def done(connection: Connection, *, occurrence: Occurrence, route: str) -> bool:
    """The person is done with the message; False when it was done already or is asleep again."""
    if occurrence.standing != "open":
        return False
    queue.cancel(
        connection,
        id=occurrence.snooze_id,
        user_email=occurrence.user_email,
        scheduled_for=occurrence.scheduled_for,
    )
    kept.settle(connection, user_email=occurrence.user_email, message_id=occurrence.message_id)
    _write_down(connection, occurrence, kind="done", route=route)
    return True


def again(connection: Connection, *, occurrence: Occurrence, appointment: Appointment, route: str) -> bool:
    """Put the message away once more; False when it is asleep already."""
    if occurrence.standing == "asleep":
        return False
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


def _put_away_anew(connection: Connection, *, send: Row[*tuple[Any, ...]]) -> Row[*tuple[Any, ...]] | None:
    """The living snooze of the same message that is not this promise itself, waiting to be sent once more."""
    return connection.execute(
        select(Snooze.id, Snooze.remind_at).where(
            Snooze.user_email == send.user_email,
            Snooze.message_id == send.message_id,
            ~Snooze.inactive,
            or_(
                Snooze.id != send.snooze_id,
                func.coalesce(Snooze.scheduled_for, Snooze.remind_at) != send.scheduled_for,
            ),
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
