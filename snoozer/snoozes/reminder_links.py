"""USE CASE of links in reminders, and of buttons on notifications: the state of the occurrence that a link names, and
the actions on it. A notification may come before the reminder is sent, or without one.

A link names one occurrence of one snooze. Acting twice changes nothing, and a link whose message was snoozed again
since then does nothing. No button ends or changes a recurrence; that is done on the pages, or by List-Unsubscribe
(`stopping`). A recurring snooze that was promised again was not snoozed by the person, so until its next occurrence
begins the link still acts on the message.
"""

import logging
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection, func, or_, select

from snoozer.db import mailbox_store, statements
from snoozer.db.models import EMAIL, Account, Event, MailboxMessage, Send, Snooze, is_message_of, promised_time
from snoozer.db.queries import Found, columns
from snoozer.mail.links import Link
from snoozer.queue import events, ledger
from snoozer.queue.promise import ReminderTime
from snoozer.snoozes import acts, recurrence
from snoozer.snoozes.acts import Acknowledge, By, Cancel, Move, Wanted
from snoozer.snoozes.input import Message
from snoozer.timephrase.recurrence import next_reminder_after

# In the detail of an event: the event of the act on the snooze, which its undo takes back.
_ACT = "act"

OccurrenceStatus = Literal["open", "done", "asleep"]

_promise = promised_time().label("promise")

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Occurrence:
    """One promise and its message, as far as a link may show it.

    `asleep_until`, `asleep_id` and `recurrence` belong to the message's live snooze: snoozed again, or recurring with
    its next occurrence promised. `by_link` is True if this reminder's link snoozed it, and so may undo that. `repeats`
    is True if the next occurrence of this series was promised, `superseded` if a later occurrence of it has begun.
    `next_at` is the next occurrence of a series that was not promised yet, because this send is not recorded as sent.
    `closed` is True when the person's account is closed: nothing is snoozed for it any more. `by_mail` is True when the
    link is in the reminder, not a button of a notification. `on_its_way` is True while the reminder itself may still
    arrive; no link in the mail says so. `ends_when_done` is True if nothing comes again once its person is done with
    it, `is_review` if it has no date.
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
    next_at: datetime | None
    closed: bool
    by_mail: bool
    on_its_way: bool
    ends_when_done: bool
    is_review: bool

    @property
    def returns_at(self) -> datetime | None:
        """The next occurrence of this one's series; None when it does not recur or is over."""
        return self.asleep_until if self.repeats else self.next_at


def find(connection: Connection, *, link: Link, acting: bool = False) -> Occurrence | None:
    """The occurrence that a link names; None when it does not exist (any more).

    With `acting`, the snooze is locked until the transaction ends: concurrent actions wait, and a worker that holds it
    has either finished before or finds its claim gone.
    """
    shown = columns(Snooze, "id outcome recurrence zone subject sender_email note")
    snooze = select(*shown, _promise).where(Snooze.id == link.snooze_id)
    # The snooze is locked before its sends, as in all transactions.
    row = connection.execute(snooze.with_for_update(key_share=True) if acting else snooze).first()
    send = connection.execute(
        select(
            *columns(
                Send, "channel state snooze_id user_email message_id subject sender_email note zone scheduled_for"
            ),
            func.coalesce(Send.sent_at, Send.dot_authorised_at, Send.reserved_at).label("mailed_at"),
        )
        .where(Send.snooze_id == link.snooze_id, Send.scheduled_for == link.scheduled_for)
        # Prefer the reminder; a return contains nothing of the message.
        .order_by(Send.channel != EMAIL)
        .limit(1)
    ).first()
    if row is None or send is None:
        return None
    last = _last_action(connection, link=link)
    live = _live_snooze(connection, send=send)
    repeats = live is not None and live.id == row.id and live.recurrence is not None
    superseded = repeats and _is_superseded(connection, send=send)
    kind = (row.recurrence or {}).get("kind", "series") if row.outcome is None else "series"
    is_review = kind == "someday"
    is_here = is_review or not _is_snoozed(connection, send=send)
    awake = live is None or (repeats and not superseded and is_here)
    return Occurrence(
        status="asleep" if not awake else "done" if last and last.kind == "done" else "open",
        asleep_until=live.remind_at if live else None,
        asleep_id=live.id if live else None,
        recurrence=live.recurrence if live else None,
        by_link=bool(live and last and last.kind == "again" and last.detail.get("snooze") == live.id),
        repeats=repeats,
        superseded=superseded,
        next_at=_next_occurrence(connection, row) if row.promise == link.scheduled_for else None,
        closed=_is_closed(connection, email=send.user_email, acting=acting),
        by_mail=link.action == "see",
        ends_when_done=kind != "series",
        is_review=is_review,
        on_its_way=link.action != "see" and send.channel == EMAIL and send.state == "sending",
        **_content(send, row),
    )


def _content(send: Found, row: Found) -> dict[str, Any]:
    """The ledger's content of the occurrence, and the snooze of its message."""
    content = dict(send._mapping)
    del content["state"]
    if content.pop("channel") != EMAIL:
        content |= {name: getattr(row, name) for name in ("subject", "sender_email", "note")}
    return content


def done(connection: Connection, *, occurrence: Occurrence, route: str, token_id: int | None = None) -> bool:
    """Mark the message as done, until its next occurrence if it recurs. Returns False when it is done or snoozed."""
    if occurrence.status != "open" or not _acknowledge(connection, occurrence, route=route):
        return False
    ended = None
    if occurrence.ends_when_done:
        by = By(occurrence.user_email, route)
        (ended,) = acts.act(connection, [occurrence.snooze_id], Cancel(folder=None), by)
    mailbox_store.move(connection, user_email=occurrence.user_email, message_id=occurrence.message_id, folder="done")
    detail: dict[str, object] = {} if ended is None or ended.event is None else {_ACT: ended.event}
    if occurrence.returns_at is not None and not occurrence.ends_when_done:
        detail = {"next": occurrence.returns_at.isoformat()}
    _append_event(connection, occurrence, kind="done", route=route, token_id=token_id, **detail)
    return True


def snooze_again(
    connection: Connection,
    *,
    occurrence: Occurrence,
    reminder_time: ReminderTime,
    route: str,
    traceparent: str | None = None,
) -> bool:
    """Snooze the message again, or give it a date if it is reviewed. Returns False when it is snoozed, recurs and so
    returns without this, or its person's account is closed."""
    if occurrence.is_review and not occurrence.closed and occurrence.status == "open":
        if not _acknowledge(connection, occurrence, route=route):
            return False
        what = Move(time=reminder_time)
        (moved,) = acts.act(connection, [occurrence.snooze_id], what, By(occurrence.user_email, route))
        detail = {"snooze": moved.id, _ACT: moved.event}
        _append_event(connection, occurrence, kind="again", route=route, **detail)
        return moved.left is None
    if occurrence.closed or occurrence.asleep_id is not None:
        return False
    if occurrence.next_at is not None:
        mailbox_store.return_due(connection, batch_size=1, snooze_ids=[occurrence.snooze_id])
        if _acknowledge(connection, occurrence, route=route):
            _append_event(connection, occurrence, kind="answered", route=route)
        return False
    _record_arrival(connection, occurrence)
    message = Message(
        message_id=occurrence.message_id, subject=occurrence.subject, sender_email=occurrence.sender_email
    )
    wanted = Wanted(message=message, time=reminder_time)
    by = By(occurrence.user_email, route)
    (made,) = acts.snooze(connection, [wanted], by, traceparent=traceparent, kind=None)
    _append_event(connection, occurrence, kind="again", route=route, snooze=made.id)
    return True


def undo(connection: Connection, *, occurrence: Occurrence, route: str) -> bool:
    """Undo the last action of this reminder's link. Returns False when there is none to undo."""
    last = _last_action(connection, link=Link(snooze_id=occurrence.snooze_id, scheduled_for=occurrence.scheduled_for))
    act = last.detail.get(_ACT) if last is not None and last.kind != "undone" else None
    if act is not None:
        by = By(occurrence.user_email, route)
        (undone,) = acts.undo(connection, [occurrence.snooze_id], by, done=[act])
        if undone.left is not None:
            return False
        if undone.terms is not None and recurrence.is_someday(undone.terms):
            # It stays on the list, and out of the inbox.
            _append_event(connection, occurrence, kind="undone", route=route)
            return True
    elif occurrence.status == "asleep" and occurrence.by_link and occurrence.asleep_id is not None:
        (cancelled,) = acts.act(connection, [occurrence.asleep_id], Cancel(), By(occurrence.user_email, route))
        if cancelled.left is not None:
            return False
    elif occurrence.status != "done":
        return False
    mailbox_store.move(connection, user_email=occurrence.user_email, message_id=occurrence.message_id, folder="inbox")
    _append_event(connection, occurrence, kind="undone", route=route)
    return True


def _acknowledge(connection: Connection, occurrence: Occurrence, *, route: str) -> bool:
    """Record that the reminder arrived: no second copy is sent, and the next occurrence of a series is promised, as
    after a reply of the mail server. Returns False if a concurrent transaction moved the series."""
    if occurrence.repeats:
        return True
    what = Acknowledge(promise=occurrence.scheduled_for, following=occurrence.next_at)
    (acknowledged,) = acts.act(connection, [occurrence.snooze_id], what, By(occurrence.user_email, route))
    if acknowledged.left is not None and occurrence.next_at is not None:
        return False
    _record_arrival(connection, occurrence)
    return True


def _record_arrival(connection: Connection, occurrence: Occurrence) -> None:
    id, promised = occurrence.snooze_id, occurrence.scheduled_for
    ledger.acknowledge(connection, snooze_id=id, scheduled_for=promised, by_mail=occurrence.by_mail)


def _next_occurrence(connection: Connection, row: Found) -> datetime | None:
    """The occurrence after the promised one; None if there is none, or the row is over."""
    if row.recurrence is None or row.outcome is not None:
        return None
    now = statements.database_time(connection)
    try:
        return next_reminder_after(row.recurrence, promised=row.promise, now=now, zone=row.zone)
    except (KeyError, ValueError):
        log.warning("the recurrence of snooze %d cannot be read: this occurrence is its last", row.id)
        return None


def _live_snooze(connection: Connection, *, send: Found) -> Found | None:
    """The live snooze of the same message, unless it is this very promise, waiting for a resend."""
    return connection.execute(
        select(Snooze.id, Snooze.remind_at, Snooze.recurrence).where(
            Snooze.user_email == send.user_email,
            Snooze.message_id == send.message_id,
            ~Snooze.inactive,
            or_(Snooze.id != send.snooze_id, _promise != send.scheduled_for),
        )
    ).first()


def _is_closed(connection: Connection, *, email: str, acting: bool) -> bool:
    """Whether the person's account is closed; while a link acts on it, it cannot be closed."""
    account = select(Account.disabled_at).where(Account.email == email.lower())
    row = connection.execute(account.with_for_update(read=True) if acting else account).first()
    return row is not None and row.disabled_at is not None


def _is_superseded(connection: Connection, *, send: Found) -> bool:
    """Whether a later occurrence of the same snooze has begun; then its links act on the message."""
    later = select(Send.id).where(Send.snooze_id == send.snooze_id, Send.scheduled_for > send.scheduled_for)
    return connection.execute(later.limit(1)).first() is not None


def _is_snoozed(connection: Connection, *, send: Found) -> bool:
    """Whether the kept message was snoozed after it returned; promising the next occurrence does not move it."""
    folder = select(MailboxMessage.folder).where(is_message_of(send), MailboxMessage.is_kept)
    return connection.execute(folder).scalar_one_or_none() == "snoozed"


def _last_action(connection: Connection, *, link: Link) -> Found | None:
    actions = select(Event.kind, Event.detail).where(
        Event.snooze_id == link.snooze_id,
        Event.kind.in_(("done", "again", "undone")),
        Event.detail["promise"].astext == link.scheduled_for.isoformat(),
    )
    return connection.execute(actions.order_by(Event.id.desc()).limit(1)).first()


def _append_event(
    connection: Connection,
    occurrence: Occurrence,
    *,
    kind: str,
    route: str,
    token_id: int | None = None,
    **detail: object,
) -> None:
    lines = [(occurrence.snooze_id, {"promise": occurrence.scheduled_for.isoformat(), **detail})]
    events.append_many(connection, kind=kind, actor="user", route=route, lines=lines, token_id=token_id)
