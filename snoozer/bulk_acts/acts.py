"""USE CASE of acts on many messages at once: each is changed or left with its reason, all in one transaction.

Snoozes are locked before their messages, both in the order of their ids, and before anything is inserted.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, func, select

from snoozer import replies, snoozing, timephrase
from snoozer.bulk_acts.results import Before, Done, Reason, Result, counted, left_as, reason_to_leave
from snoozer.db import events, mailbox_messages, mailbox_store, queue_many
from snoozer.db.mailbox_store import KeptFolder
from snoozer.db.queries import snoozes
from snoozer.db.queue import ReminderTime
from snoozer.db.queue_many import Chosen
from snoozer.snoozing import Message
from snoozer.timephrase import next_reminder_after

# Enters what was snoozed in a connected mailbox, by its Message-ID.
Enter = Callable[[Connection, Collection[str]], None]
# Why an act leaves a snooze as it is; None where it changes it. One that could not be delivered is snoozed anew.
LEAVES: Mapping[str, Callable[[Chosen], Reason | None]] = {
    "reschedule": lambda row: None if row.outcome == "retired" else reason_to_leave(row),
    "wake": lambda row: reason_to_leave(row) or ("due" if row.is_due else None),
    "cancel": lambda row: reason_to_leave(row, paused=None),
}


def lock(
    connection: Connection, *, user_email: str, ids: Collection[int] = (), message_ids: Collection[str] = ()
) -> list[Chosen]:
    """Lock snoozes by their ids, or the live ones of these messages, and then all these messages: whatever is done with
    them one by one afterwards, in any order, no other act on many waits for what this transaction waits for."""
    chosen = queue_many.lock_chosen(connection, user_email=user_email, ids=list(ids), message_ids=list(message_ids))
    messages = {*message_ids, *(row.message_id for row in chosen)}
    mailbox_store.lock_many(connection, user_email=user_email, message_ids=messages)
    mailbox_messages.lock_chosen(connection, user_email=user_email, message_ids=messages)
    return chosen


def reschedule(
    connection: Connection,
    *,
    user_email: str,
    ids: Collection[int],
    reminder_time: ReminderTime,
    route: str,
    reading: timephrase.ParsedTime | None = None,
    traceparent: str | None = None,
) -> Done:
    """Another time for live snoozes; a new snooze for those that could not be delivered. What is paused is left as
    it is, with its repetition."""
    chosen, left = _lock(connection, user_email=user_email, ids=ids)
    stuck = [row for row in chosen if row.outcome == "retired"]
    live = _without(chosen, left, LEAVES["reschedule"])
    messages = [Message(message_id=row.message_id, subject=row.subject, sender_email=row.sender_email) for row in stuck]
    return _snooze(
        connection,
        user_email=user_email,
        live=[row for row in live if row not in stuck],
        messages=messages,
        left=left,
        reminder_time=reminder_time,
        route=route,
        reading=reading,
        traceparent=traceparent,
        from_inbox=False,
    )


def snooze(
    connection: Connection,
    *,
    user_email: str,
    messages: Sequence[Message],
    reminder_time: ReminderTime,
    route: str,
    missing: int = 0,
    reading: timephrase.ParsedTime | None = None,
    traceparent: str | None = None,
    enter: Enter | None = None,
) -> Done:
    """Snooze messages, or change the times of their live snoozes; those that Snoozer keeps leave the inbox. `missing`
    is how many of the chosen ones are not there any more. `enter` is called with what was snoozed, by Message-ID."""
    left = left_as(gone=missing)
    chosen = queue_many.lock_chosen(connection, user_email=user_email, message_ids=[one.message_id for one in messages])
    live = _without(chosen, left, reason_to_leave)
    known = {row.message_id for row in chosen}
    return _snooze(
        connection,
        user_email=user_email,
        live=live,
        messages=[one for one in messages if one.message_id not in known],
        left=left,
        reminder_time=reminder_time,
        route=route,
        reading=reading,
        traceparent=traceparent,
        from_inbox=True,
        enter=enter,
    )


def wake(
    connection: Connection,
    *,
    user_email: str,
    route: str,
    ids: Collection[int] = (),
    message_ids: Collection[str] = (),
    missing: int = 0,
) -> Done:
    """Bring messages back now. What repeats goes on after the occurrence that this one takes the place of.

    No reminder is sent for a message that returns to a mailbox; of another one the reminder is what comes.
    """
    chosen, left = _lock(connection, user_email=user_email, ids=ids, message_ids=message_ids)
    left["gone"] += missing
    over = set(message_ids) - {row.message_id for row in chosen}
    paused = snoozes.paused(connection, user_email=user_email, message_ids=over)
    left["paused"] += len(paused)
    left["came_back"] += len(over - paused)
    asleep = _without(chosen, left, LEAVES["wake"])
    before = _before(connection, asleep, user_email=user_email, became="inbox")
    rests = {row.id: replies.rest_of(row.recurrence, row.promise, zone=row.zone, id=row.id) for row in asleep}
    woken = queue_many.wake_many(connection, snoozes=list(rests.items()), user_email=user_email)
    left["changed"] += len(asleep) - len(woken)
    kept = {one["message_id"] for one in before.kept if not one["is_back"]}
    elsewhere = {message_id for _, message_id, wanted in before.wanted if wanted == "snoozed"}
    returning = {id for id, message_id in woken.items() if message_id in kept | elsewhere}
    now: datetime = connection.execute(select(func.now())).scalar_one()
    ended = _return(connection, [row for row in asleep if row.id in returning], rests, now=now, user_email=user_email)
    lines = [(row.id, _back(row, now=now, is_over=row.id in ended)) for row in asleep if row.id in woken]
    events.append_many(connection, kind="back", actor="user", route=route, lines=lines)
    return Done(Result(act="wake", done=len(woken), left=counted(left)), before)


def cancel(
    connection: Connection, *, user_email: str, route: str, ids: Collection[int] = (), message_ids: Collection[str] = ()
) -> Done:
    """Cancel snoozes; their messages return to the inbox."""
    chosen, left = _lock(connection, user_email=user_email, ids=ids, message_ids=message_ids)
    live = _without(chosen, left, LEAVES["cancel"])
    before, cancelled = _cancel(connection, live, user_email=user_email, route=route)
    return Done(Result(act="cancel", done=len(cancelled), left=counted(left)), before)


def done(connection: Connection, *, user_email: str, message_ids: Sequence[str], missing: int = 0) -> Done:
    """Done with messages that Snoozer keeps: they leave the inbox for good."""
    kept = mailbox_store.lock_many(connection, user_email=user_email, message_ids=message_ids)
    moved = mailbox_store.move_many(connection, user_email=user_email, message_ids=message_ids, folder="done")
    before = Before(kept=[{**one.was, "became": "done"} for one in kept if one.message_id in moved])
    return Done(
        Result(act="done", done=len(moved), left=counted(left_as(gone=missing + len(message_ids) - len(moved)))),
        before,
    )


def to_inbox(
    connection: Connection, *, user_email: str, message_ids: Sequence[str], route: str, missing: int = 0
) -> Done:
    """Messages that Snoozer keeps back to the inbox; the snoozes of those that are asleep are cancelled."""
    chosen = queue_many.lock_chosen(connection, user_email=user_email, message_ids=message_ids)
    kept = mailbox_store.lock_many(connection, user_email=user_email, message_ids=message_ids)
    asleep = {one.message_id for one in kept if one.was["folder"] == "snoozed"}
    left = left_as(gone=missing)
    live = _without([row for row in chosen if row.message_id in asleep], left, reason_to_leave)
    busy = asleep & {row.message_id for row in chosen} - {row.message_id for row in live}
    before, _ = _cancel(connection, live, user_email=user_email, route=route)
    wanted = [message_id for message_id in message_ids if message_id not in busy]
    mailbox_store.move_many(connection, user_email=user_email, message_ids=wanted, folder="inbox")
    there = [one for one in kept if one.message_id in wanted and one.was["folder"] != "inbox"]
    left["gone"] += len(wanted) - len(there)
    before = Before(**{**vars(before), "kept": [{**one.was, "became": "inbox"} for one in there]})
    return Done(Result(act="to_inbox", done=len(there), left=counted(left)), before)


def _snooze(
    connection: Connection,
    *,
    user_email: str,
    live: Sequence[Chosen],
    messages: Sequence[Message],
    left: Counter[Reason],
    reminder_time: ReminderTime,
    route: str,
    reading: timephrase.ParsedTime | None,
    traceparent: str | None,
    from_inbox: bool,
    enter: Enter | None = None,
) -> Done:
    """Changes the times of live snoozes, whose rows are locked, and snoozes messages that have none."""
    before = _before(connection, live, user_email=user_email, became="snoozed", messages=messages)
    changed = queue_many.reschedule_many(
        connection, ids=[row.id for row in live], user_email=user_email, reminder_time=reminder_time
    )
    created = queue_many.enqueue_many(
        connection,
        user_email=user_email,
        messages=[(one.message_id, one.subject, one.sender_email) for one in messages],
        reminder_time=reminder_time,
        traceparent=traceparent,
    )
    left["snoozed"] += len(messages) - len(created)
    left["changed"] += len(live) - len(changed)
    # The message of what repeats may lie in the inbox until the next occurrence, also with another time for that.
    stays = set() if from_inbox else {one["message_id"] for one in before.kept if not one["is_back"]}
    moving = {*changed.values(), *created.values()} - stays
    mailbox_store.move_many(connection, user_email=user_email, message_ids=moving, folder="snoozed")
    if enter is not None:
        enter(connection, moving)
    ended = {row.id: snoozing.ended_recurrence(row.recurrence, reminder_time) for row in live if row.id in changed}
    detail = {id: snoozing.event_detail(reading, reminder_time, recurrence) for id, recurrence in ended.items()}
    events.append_many(connection, kind="edited", actor="user", route=route, lines=list(detail.items()))
    asked = snoozing.event_detail(reading, reminder_time, None)
    events.append_many(connection, kind="asked", actor="user", route=route, lines=[(id, asked) for id in created])
    result = Result(
        act="snooze",
        done=len(changed) + len(created),
        left=counted(left),
        ended=sum(recurrence is not None for recurrence in ended.values()),
        until=reminder_time.remind_at,
    )
    return Done(result, Before(**{**vars(before), "created": list(created)}))


def _back(row: Chosen, *, now: datetime, is_over: bool) -> dict[str, object]:
    """As `occurrences.bring_back` records it: by its promise no rest defers it, and by its outcome no undo of a
    cancellation takes it back."""
    after = {"after": {"outcome": "cancelled"}} if is_over else {}
    return {"was": row.promise.isoformat(), "promise": now.isoformat(), **after}


def _return(
    connection: Connection,
    rows: Sequence[Chosen],
    rests: Mapping[int, dict[str, Any] | None],
    *,
    now: datetime,
    user_email: str,
) -> set[int]:
    """Returns messages that are promised for this moment. Their snoozes promise what comes next, or are over: those are
    returned."""
    if not rows:
        return set()
    mailbox_store.return_due(connection, batch_size=len(rows), snooze_ids=[row.id for row in rows])
    over, repeating = [], []
    for row in rows:
        try:
            following = _following(rests[row.id], now=now, zone=row.zone)
        except (KeyError, ValueError):
            # A later version may read how it repeats; until then its reminder comes.
            continue
        if following is None:
            over.append(row.id)
        else:
            repeating.append((row.id, following))
    queue_many.skip_many(connection, snoozes=repeating, user_email=user_email, scheduled_for=now)
    return set(queue_many.cancel_many(connection, ids=over, user_email=user_email))


def _following(rest: dict[str, Any] | None, *, now: datetime, zone: str | None) -> datetime | None:
    return None if rest is None else next_reminder_after(rest, promised=now, now=now, zone=zone)


def _cancel(
    connection: Connection, rows: Sequence[Chosen], *, user_email: str, route: str
) -> tuple[Before, dict[int, str]]:
    before = _before(connection, rows, user_email=user_email, became="inbox")
    cancelled = queue_many.cancel_many(connection, ids=[row.id for row in rows], user_email=user_email)
    mailbox_store.move_many(connection, user_email=user_email, message_ids=set(cancelled.values()), folder="inbox")
    append_events(connection, "cancelled", cancelled, route=route)
    return before, cancelled


def _lock(
    connection: Connection, *, user_email: str, ids: Collection[int], message_ids: Collection[str] = ()
) -> tuple[list[Chosen], Counter[Reason]]:
    chosen = queue_many.lock_chosen(connection, user_email=user_email, ids=list(ids), message_ids=list(message_ids))
    known = {row.id for row in chosen}
    return chosen, left_as(gone=len(set(ids) - known))


def _before(
    connection: Connection,
    rows: Sequence[Chosen],
    *,
    user_email: str,
    became: KeptFolder,
    messages: Sequence[Message] = (),
) -> Before:
    """These snoozes, which are locked, and their messages as they are before an act, and locked as well."""
    ids = {row.message_id for row in rows} | {one.message_id for one in messages}
    kept = mailbox_store.lock_many(connection, user_email=user_email, message_ids=ids)
    return Before(
        snoozes=[row.was for row in rows],
        kept=[{**one.was, "is_back": one.is_back, "became": became} for one in kept],
        wanted=mailbox_messages.lock_chosen(connection, user_email=user_email, message_ids=ids),
    )


def _without(rows: Sequence[Chosen], left: Counter[Reason], reason: Callable[[Chosen], Reason | None]) -> list[Chosen]:
    """The rows that something is done with; the others are counted."""
    reasons = {row.id: reason(row) for row in rows}
    left.update(why for why in reasons.values() if why is not None)
    return [row for row in rows if reasons[row.id] is None]


def append_events(connection: Connection, kind: str, ids: Collection[int], *, route: str) -> None:
    events.append_many(connection, kind=kind, actor="user", route=route, lines=[(id, {}) for id in ids])
