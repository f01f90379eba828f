"""USE CASE of the mail's reader: what a link in a reminder may do, and what became of it.

A link speaks for one occurrence of one snooze. Acting twice changes nothing, and a link whose message was put away
anew since explains that and does nothing. What repeats goes on, whatever a link does: it ends and changes on the pages.
Having gone on to its next time is no wish of the person, so until that time the link still speaks for the message.
"""

import logging
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection, Row, func, or_, select

from snoozer.db import events, ledger, mailbox_store, queue, statements
from snoozer.db.models import Event, MailboxMessage, Send, Snooze, promised_time
from snoozer.db.queue import ReminderTime
from snoozer.domain.links import Link
from snoozer.timephrase import next_reminder_after

OccurrenceStatus = Literal["open", "done", "asleep"]

_promise = promised_time().label("promise")

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Occurrence:
    """One promise that was kept, as its link may see it; nothing else of the person's mail.

    `asleep_until` is when the message comes back if it has been put away anew, or repeats and has gone on, and
    `recurrence` how it goes on from there; `by_link` whether this very reminder's link put it away, and so may undo
    it. `repeats` says that the series which this occurrence belongs to has gone on, and `overtaken` that a later one
    of it has begun as well. `goes_on_at` is the next occurrence of what repeats and has not gone on yet, because
    nobody knows for sure that this one came.
    """

    snooze_id: int
    user_email: str
    message_id: str
    scheduled_for: datetime
    mailed_at: datetime
    subject: str | None
    sender_email: str | None
    note: str | None
    zone: str
    status: OccurrenceStatus
    asleep_until: datetime | None
    asleep_id: int | None
    recurrence: dict[str, Any] | None
    by_link: bool
    repeats: bool
    superseded: bool
    goes_on_at: datetime | None

    @property
    def comes_by_itself_at(self) -> datetime | None:
        """The next time of the series that this occurrence belongs to; None when it has none, or is over."""
        return self.asleep_until if self.repeats else self.goes_on_at


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
            func.coalesce(Send.sent_at, Send.dot_authorised_at, Send.reserved_at).label("mailed_at"),
        ).where(Send.snooze_id == link.snooze_id, Send.scheduled_for == link.scheduled_for)
    ).first()
    if row is None or send is None:
        return None
    last = _last_act(connection, link=link)
    newer = _still_to_come(connection, send=send)
    repeats = newer is not None and newer.id == row.id and newer.recurrence is not None
    overtaken = repeats and _is_superseded(connection, send=send)
    here = newer is None or (repeats and not overtaken and not _put_away_since(connection, send=send))
    return Occurrence(
        status=_status(last) if here else "asleep",
        asleep_until=newer.remind_at if newer else None,
        asleep_id=newer.id if newer else None,
        recurrence=newer.recurrence if newer else None,
        by_link=bool(newer and last and last.kind == "again" and last.detail.get("snooze") == newer.id),
        repeats=repeats,
        superseded=overtaken,
        goes_on_at=_goes_on_at(connection, row) if row.promise == link.scheduled_for else None,
        **send._mapping,
    )


def done(connection: Connection, *, occurrence: Occurrence, route: str) -> bool:
    """The person is done with the message, until its next occurrence if it repeats; False when it was done already or
    is asleep again."""
    if occurrence.status != "open" or not _settle(connection, occurrence):
        return False
    mailbox_store.mark_done(connection, user_email=occurrence.user_email, message_id=occurrence.message_id)
    following = {} if occurrence.comes_by_itself_at is None else {"next": occurrence.comes_by_itself_at.isoformat()}
    _append_event(connection, occurrence, kind="done", route=route, **following)
    return True


def snooze_again(
    connection: Connection,
    *,
    occurrence: Occurrence,
    reminder_time: ReminderTime,
    route: str,
    traceparent: str | None = None,
) -> bool:
    """Put the message away once more; False when it is asleep already, or repeats and so comes back by itself."""
    if occurrence.asleep_id is not None:
        return False
    if occurrence.goes_on_at is not None:
        if _settle(connection, occurrence):
            mailbox_store.return_to_inbox(connection, snooze_ids=[occurrence.snooze_id])
            _append_event(connection, occurrence, kind="answered", route=route)
        return False
    ledger.acknowledge(connection, snooze_id=occurrence.snooze_id, scheduled_for=occurrence.scheduled_for)
    id, _ = queue.enqueue(
        connection,
        user_email=occurrence.user_email,
        message_id=occurrence.message_id,
        subject=occurrence.subject,
        sender_email=occurrence.sender_email,
        reminder_time=reminder_time,
        traceparent=traceparent,
    )
    mailbox_store.move_to_snoozed(connection, user_email=occurrence.user_email, message_id=occurrence.message_id)
    _append_event(connection, occurrence, kind="again", route=route, snooze=id)
    return True


def undo(connection: Connection, *, occurrence: Occurrence, route: str) -> bool:
    """Take back what this reminder's link did last; False when there is nothing of its own to take back."""
    owner = {"user_email": occurrence.user_email, "message_id": occurrence.message_id}
    if occurrence.status == "asleep" and occurrence.by_link and occurrence.asleep_id is not None:
        if not queue.cancel(connection, id=occurrence.asleep_id, user_email=occurrence.user_email):
            return False
    elif occurrence.status != "done":
        return False
    mailbox_store.move_to_inbox(connection, **owner)
    _append_event(connection, occurrence, kind="undone", route=route)
    return True


def _settle(connection: Connection, occurrence: Occurrence) -> bool:
    """Who answers a reminder has it: no second copy of it leaves, and what repeats goes on, as it does when the mail
    server has said so. False when somebody else has moved what repeats meanwhile."""
    if occurrence.repeats:
        return True
    id, email, promised = occurrence.snooze_id, occurrence.user_email, occurrence.scheduled_for
    at = occurrence.goes_on_at
    if at is None:
        queue.cancel(connection, id=id, user_email=email, scheduled_for=promised)
    elif not queue.skip_occurrence(connection, id=id, user_email=email, scheduled_for=promised, remind_at=at):
        return False
    ledger.acknowledge(connection, snooze_id=id, scheduled_for=promised)
    return True


def _status(last: Row[*tuple[Any, ...]] | None) -> OccurrenceStatus:
    """Of a message that is where its reminder brought it: done with it is only what this link did last."""
    return "done" if last and last.kind == "done" else "open"


def _goes_on_at(connection: Connection, row: Row[*tuple[Any, ...]]) -> datetime | None:
    """The occurrence after the promised one; None for what does not repeat, is over, or was asked for the last time."""
    if row.recurrence is None or row.outcome is not None:
        return None
    try:
        return next_reminder_after(
            row.recurrence, promised=row.promise, now=statements.database_time(connection), zone=row.zone
        )
    except (KeyError, ValueError):
        log.warning("the recurrence of snooze %d cannot be read: this occurrence is its last", row.id)
        return None


def _snooze(connection: Connection, *, id: int, acting: bool) -> Row[*tuple[Any, ...]] | None:
    """The row that a link speaks for; with `acting` it is locked, before its sends as everywhere."""
    sought = select(Snooze.id, Snooze.outcome, Snooze.recurrence, Snooze.zone, _promise).where(Snooze.id == id)
    return connection.execute(sought.with_for_update(key_share=True) if acting else sought).first()


def _still_to_come(connection: Connection, *, send: Row[*tuple[Any, ...]]) -> Row[*tuple[Any, ...]] | None:
    """The living snooze of the same message that is not this promise itself, waiting to be sent once more."""
    return connection.execute(
        select(Snooze.id, Snooze.remind_at, Snooze.recurrence).where(
            Snooze.user_email == send.user_email,
            Snooze.message_id == send.message_id,
            ~Snooze.inactive,
            or_(Snooze.id != send.snooze_id, _promise != send.scheduled_for),
        )
    ).first()


def _is_superseded(connection: Connection, *, send: Row[*tuple[Any, ...]]) -> bool:
    """Has a later occurrence of the same snooze begun? Then that one's links speak for the message."""
    later = select(Send.id).where(Send.snooze_id == send.snooze_id, Send.scheduled_for > send.scheduled_for)
    return connection.execute(later.limit(1)).first() is not None


def _put_away_since(connection: Connection, *, send: Row[*tuple[Any, ...]]) -> bool:
    """Did the person put the message away after it had come? Going on to the next time leaves it where it is."""
    folder = select(MailboxMessage.folder).where(
        MailboxMessage.user_email == send.user_email, MailboxMessage.message_id == send.message_id
    )
    return connection.execute(folder).scalar_one_or_none() == "snoozed"


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


def _append_event(connection: Connection, occurrence: Occurrence, *, kind: str, route: str, **detail: object) -> None:
    events.append(
        connection,
        snooze_id=occurrence.snooze_id,
        kind=kind,
        actor="user",
        route=route,
        promise=occurrence.scheduled_for.isoformat(),
        **detail,
    )
