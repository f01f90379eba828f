"""USE CASE of acts on many messages at once: each is changed or left with its reason, all in one transaction, and one
Undo gives back what nothing has changed since.

Snoozes are locked before their messages, both in the order of their ids. An act is entered under an id that is made
from the submitted form: the same form does it once.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple
from uuid import UUID

from sqlalchemy import Connection, func, select
from sqlalchemy.exc import IntegrityError

from snoozer import replies, snoozing, timephrase
from snoozer.db import bulk_acts, events, mailbox_messages, mailbox_store, queue, queue_many
from snoozer.db.mailbox_store import KeptFolder
from snoozer.db.queue import ReminderTime
from snoozer.db.queue_many import Chosen
from snoozer.timephrase import next_reminder_after

# The most messages of one act.
MAX_CHOSEN = 500

Act = Literal["snooze", "wake", "cancel", "done", "to_inbox"]
# Why a message was left as it is.
Reason = Literal["came_back", "being_sent", "due", "cancelled", "stuck", "paused", "snoozed", "changed", "gone"]


@dataclass(frozen=True, kw_only=True)
class Result:
    """How many were changed, how many were left for each reason, and how many repetitions a new time ended. `until` is
    that time; `more` is True where only the first of those that were chosen were taken."""

    act: Act
    done: int
    left: dict[Reason, int] = field(default_factory=dict)
    ended: int = 0
    until: datetime | None = None
    more: bool = False

    def as_json(self) -> dict[str, Any]:
        """The inverse of `from_json`."""
        return {**vars(self), "until": None if self.until is None else self.until.isoformat()}

    @classmethod
    def from_json(cls, json: dict[str, Any]) -> "Result":
        """What an act came to, as `bulk_acts` keeps it."""
        until = json.get("until")
        return cls(**{**json, "until": None if until is None else datetime.fromisoformat(until)})


@dataclass(frozen=True, kw_only=True)
class Undone:
    """How many are as they were before, and how many could not be put back, for each reason."""

    done: int
    left: dict[Reason, int] = field(default_factory=dict)


class Message(NamedTuple):
    """A message to be snoozed."""

    message_id: str
    subject: str | None
    sender_email: str | None


@dataclass(frozen=True, kw_only=True)
class Before:
    """What an act changed, as it was: snoozes, messages that Snoozer keeps, and where those of connected mailboxes were
    wanted. `created` are snoozes that there were none of; `moves` is for acts that a mail server did."""

    snoozes: list[dict[str, Any]] = field(default_factory=list)
    created: list[int] = field(default_factory=list)
    kept: list[dict[str, Any]] = field(default_factory=list)
    wanted: list[tuple[int, str, str]] = field(default_factory=list)
    moves: dict[str, Any] = field(default_factory=dict)


class Done(NamedTuple):
    """What an act came to, and what it changed as it was."""

    result: Result
    before: Before


def once(connection: Connection, *, account_id: int, id: UUID, act: Callable[[], Done]) -> Result:
    """Do an act under its id, unless it is done already; returns what it came to, then or now."""
    is_new = bulk_acts.begin(connection, account_id=account_id, id=id)
    known = None if is_new else bulk_acts.lock(connection, account_id=account_id, id=id)
    if known is not None:
        return Result.from_json(known.result)
    result, before = act()
    bulk_acts.finish(connection, account_id=account_id, id=id, result=result.as_json(), before=vars(before))
    return result


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
    live = _without(chosen, left, lambda row: None if row in stuck else _reason(row))
    messages = [Message(row.message_id, row.subject, row.sender_email) for row in stuck]
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
) -> Done:
    """Snooze messages, or change the times of their live snoozes; those that Snoozer keeps leave the inbox. `missing`
    is how many of the chosen ones are not there any more."""
    left = _left(gone=missing)
    chosen = queue_many.lock_chosen(connection, user_email=user_email, message_ids=[one.message_id for one in messages])
    live = _without(chosen, left, _reason)
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
    )


def wake(connection: Connection, *, user_email: str, ids: Collection[int], route: str) -> Done:
    """Bring messages back now. What repeats goes on after the occurrence that this one takes the place of.

    No reminder is sent for a message that returns to a mailbox; of another one the reminder is what comes.
    """
    chosen, left = _lock(connection, user_email=user_email, ids=ids)
    asleep = _without(chosen, left, lambda row: _reason(row) or ("due" if row.is_due else None))
    before = _before(connection, asleep, user_email=user_email, became="inbox")
    rests = {row.id: replies.rest_of(row.recurrence, row.promise, zone=row.zone, id=row.id) for row in asleep}
    woken = queue_many.wake_many(connection, snoozes=list(rests.items()), user_email=user_email)
    left["changed"] += len(asleep) - len(woken)
    kept = {one["message_id"] for one in before.kept if not one["is_back"]}
    elsewhere = {message_id for _, message_id, wanted in before.wanted if wanted == "snoozed"}
    returning = {id for id, message_id in woken.items() if message_id in kept | elsewhere}
    _return(connection, [row for row in asleep if row.id in returning], rests, user_email=user_email)
    lines = [(row.id, {"was": row.promise.isoformat()}) for row in asleep if row.id in woken]
    events.append_many(connection, kind="back", actor="user", route=route, lines=lines)
    return Done(Result(act="wake", done=len(woken), left=_counted(left)), before)


def cancel(connection: Connection, *, user_email: str, ids: Collection[int], route: str) -> Done:
    """Cancel snoozes; their kept messages return to the inbox."""
    chosen, left = _lock(connection, user_email=user_email, ids=ids)
    live = _without(chosen, left, lambda row: _reason(row, paused=None))
    before, cancelled = _cancel(connection, live, user_email=user_email, route=route)
    return Done(Result(act="cancel", done=len(cancelled), left=_counted(left)), before)


def done(connection: Connection, *, user_email: str, message_ids: Sequence[str], missing: int = 0) -> Done:
    """Done with messages that Snoozer keeps: they leave the inbox for good."""
    kept = mailbox_store.lock_many(connection, user_email=user_email, message_ids=message_ids)
    moved = mailbox_store.move_many(connection, user_email=user_email, message_ids=message_ids, folder="done")
    before = Before(kept=[{**one.was, "became": "done"} for one in kept if one.message_id in moved])
    return Done(
        Result(act="done", done=len(moved), left=_counted(_left(gone=missing + len(message_ids) - len(moved)))), before
    )


def to_inbox(
    connection: Connection, *, user_email: str, message_ids: Sequence[str], route: str, missing: int = 0
) -> Done:
    """Messages that Snoozer keeps back to the inbox; the snoozes of those that are asleep are cancelled."""
    chosen = queue_many.lock_chosen(connection, user_email=user_email, message_ids=message_ids)
    kept = mailbox_store.lock_many(connection, user_email=user_email, message_ids=message_ids)
    asleep = {one.message_id for one in kept if one.was["folder"] == "snoozed"}
    left = _left(gone=missing)
    live = _without([row for row in chosen if row.message_id in asleep], left, _reason)
    busy = asleep & {row.message_id for row in chosen} - {row.message_id for row in live}
    before, _ = _cancel(connection, live, user_email=user_email, route=route)
    wanted = [message_id for message_id in message_ids if message_id not in busy]
    mailbox_store.move_many(connection, user_email=user_email, message_ids=wanted, folder="inbox")
    there = [one for one in kept if one.message_id in wanted and one.was["folder"] != "inbox"]
    left["gone"] += len(wanted) - len(there)
    before = Before(**{**vars(before), "kept": [{**one.was, "became": "inbox"} for one in there]})
    return Done(Result(act="to_inbox", done=len(there), left=_counted(left)), before)


def undo(connection: Connection, *, account_id: int, user_email: str, id: UUID, route: str) -> Undone | None:
    """Put back what an act changed, where nothing has changed it since. Returns None for an act that is not known any
    more, or was undone already."""
    act = bulk_acts.lock(connection, account_id=account_id, id=id)
    if act is None or act.undone_at is not None:
        return None
    bulk_acts.mark_undone(connection, account_id=account_id, id=id)
    before = Before(**act.before)
    ids = [row["id"] for row in before.snoozes] + before.created
    present = queue_many.lock_chosen(connection, user_email=user_email, ids=ids)
    restored = queue_many.cancel_many(
        connection, ids=before.created, user_email=user_email, unchanged_since=act.created_at
    ) | _put_back(connection, before.snoozes, user_email=user_email, since=act.created_at)
    stayed = [row for row in present if row.id not in restored]
    beyond = {row.message_id for row in stayed} - set(restored.values())
    messages = [one for one in before.kept if one["message_id"] not in beyond]
    mailbox_store.lock_many(connection, user_email=user_email, message_ids=[one["message_id"] for one in messages])
    alone = mailbox_store.put_back(connection, user_email=user_email, before=messages) - {
        row.message_id for row in present
    }
    wanted = [(its_id, place) for its_id, message_id, place in before.wanted if message_id not in beyond]
    mailbox_messages.want_back(connection, user_email=user_email, wanted=wanted)
    _append(connection, "undone", restored, route=route)
    left = Counter[Reason](_reason(row) or "changed" for row in stayed)
    left["changed"] += len({one["message_id"] for one in messages} - alone - {row.message_id for row in present})
    left["gone"] += len(ids) - len(present)
    return Undone(done=len(restored) + len(alone), left=_counted(left))


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
) -> Done:
    """Changes the times of live snoozes, whose rows are locked, and snoozes messages that have none."""
    before = _before(connection, live, user_email=user_email, became="snoozed", messages=messages)
    changed = queue_many.reschedule_many(
        connection, ids=[row.id for row in live], user_email=user_email, reminder_time=reminder_time
    )
    created = queue_many.enqueue_many(
        connection, user_email=user_email, messages=messages, reminder_time=reminder_time, traceparent=traceparent
    )
    left["snoozed"] += len(messages) - len(created)
    left["changed"] += len(live) - len(changed)
    # The message of what repeats may lie in the inbox until the next occurrence, also with another time for that.
    stays = set() if from_inbox else {one["message_id"] for one in before.kept if not one["is_back"]}
    moving = {*changed.values(), *created.values()} - stays
    mailbox_store.move_many(connection, user_email=user_email, message_ids=moving, folder="snoozed")
    ended = {row.id: snoozing.ended_recurrence(row.recurrence, reminder_time) for row in live if row.id in changed}
    detail = {id: snoozing.event_detail(reading, reminder_time, recurrence) for id, recurrence in ended.items()}
    events.append_many(connection, kind="edited", actor="user", route=route, lines=list(detail.items()))
    asked = snoozing.event_detail(reading, reminder_time, None)
    events.append_many(connection, kind="asked", actor="user", route=route, lines=[(id, asked) for id in created])
    result = Result(
        act="snooze",
        done=len(changed) + len(created),
        left=_counted(left),
        ended=sum(recurrence is not None for recurrence in ended.values()),
        until=reminder_time.remind_at,
    )
    return Done(result, Before(**{**vars(before), "created": list(created)}))


def _return(
    connection: Connection, rows: Sequence[Chosen], rests: Mapping[int, dict[str, Any] | None], *, user_email: str
) -> None:
    """Returns messages that are promised for this moment. Their snoozes are over, or promise what comes next."""
    if not rows:
        return
    mailbox_store.return_due(connection, batch_size=len(rows), snooze_ids=[row.id for row in rows])
    now = connection.execute(select(func.now())).scalar_one()
    over = []
    for row in rows:
        try:
            following = _following(rests[row.id], now=now, zone=row.zone)
        except (KeyError, ValueError):
            # A later version may read how it repeats; until then its reminder comes.
            continue
        if following is None:
            over.append(row.id)
        else:
            queue.skip_occurrence(connection, id=row.id, user_email=user_email, scheduled_for=now, remind_at=following)
    queue_many.cancel_many(connection, ids=over, user_email=user_email)


def _following(rest: dict[str, Any] | None, *, now: datetime, zone: str | None) -> datetime | None:
    return None if rest is None else next_reminder_after(rest, promised=now, now=now, zone=zone)


def _cancel(
    connection: Connection, rows: Sequence[Chosen], *, user_email: str, route: str
) -> tuple[Before, dict[int, str]]:
    before = _before(connection, rows, user_email=user_email, became="inbox")
    cancelled = queue_many.cancel_many(connection, ids=[row.id for row in rows], user_email=user_email)
    mailbox_store.move_many(connection, user_email=user_email, message_ids=set(cancelled.values()), folder="inbox")
    _append(connection, "cancelled", cancelled, route=route)
    return before, cancelled


def _lock(connection: Connection, *, user_email: str, ids: Collection[int]) -> tuple[list[Chosen], Counter[Reason]]:
    chosen = queue_many.lock_chosen(connection, user_email=user_email, ids=list(ids))
    return chosen, _left(gone=len(set(ids)) - len(chosen))


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


def _put_back(
    connection: Connection, snoozes: Sequence[dict[str, Any]], *, user_email: str, since: datetime
) -> dict[int, str]:
    """All at once, and one by one where a concurrent transaction has just snoozed one of their messages again."""
    try:
        with connection.begin_nested():
            return queue_many.put_back_many(connection, before=snoozes, user_email=user_email, unchanged_since=since)
    except IntegrityError:
        if len(snoozes) == 1:
            return {}
    one_by_one = (_put_back(connection, [one], user_email=user_email, since=since) for one in snoozes)
    return {id: message_id for restored in one_by_one for id, message_id in restored.items()}


def _reason(row: Chosen, *, paused: Reason | None = "paused") -> Reason | None:
    """Why nothing is done with a snooze; None where something is."""
    if row.outcome is not None:
        over: dict[str, Reason] = {"sent": "came_back", "cancelled": "cancelled", "retired": "stuck"}
        return over[row.outcome]
    if row.claimed:
        return "being_sent"
    return paused if row.inactive else None


def _without(rows: Sequence[Chosen], left: Counter[Reason], reason: Callable[[Chosen], Reason | None]) -> list[Chosen]:
    """The rows that something is done with; the others are counted."""
    reasons = {row.id: reason(row) for row in rows}
    left.update(why for why in reasons.values() if why is not None)
    return [row for row in rows if reasons[row.id] is None]


def _append(connection: Connection, kind: str, ids: Collection[int], *, route: str) -> None:
    events.append_many(connection, kind=kind, actor="user", route=route, lines=[(id, {}) for id in ids])


def _left(*, gone: int) -> Counter[Reason]:
    left: Counter[Reason] = Counter()
    left["gone"] = gone
    return left


def _counted(left: Counter[Reason]) -> dict[Reason, int]:
    return {reason: count for reason, count in left.items() if count > 0}
