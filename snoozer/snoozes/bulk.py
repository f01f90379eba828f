"""Acts on many messages of a list at once: their results, done once under the id of the submitted form, and undone
together. The module `acts` does the acts themselves."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, NamedTuple
from uuid import UUID

from sqlalchemy import Connection

from snoozer.db import bulk_acts, mailbox_store
from snoozer.db.queries import snoozes
from snoozer.db.statements import database_time
from snoozer.queue import changes as db
from snoozer.queue import events
from snoozer.snoozes import acts, engine
from snoozer.snoozes.acts import By, Cancel, Snooze, Wake, Wanted
from snoozer.snoozes.input import Message, SnoozeError

# The most messages of one act.

Name = Literal["snooze", "wake", "cancel", "done", "to_inbox", "bring_home", "give_back", "skip", "pause", "resume"]
# Why a message was left as it is.
Reason = Literal["came_back", "due", "cancelled", "stuck", "paused", "snoozed", "changed", "gone"]
_OVER: Mapping[str, Reason] = {"sent": "came_back", "cancelled": "cancelled", "retired": "stuck"}
_AS_IT_IS: Mapping[str, Reason] = {"due": "due", "paused": "paused", "snoozed": "snoozed"}


@dataclass(frozen=True, kw_only=True)
class Summary:
    """How many were changed, how many were left for each reason, and how many repetitions a new time ended. `older`
    counts messages that leave with others of their conversations. `until` is that time; `more` is True if the act took
    only the first MAX_CHOSEN messages, `may_arrive` if a copy of one may still arrive."""

    act: Name
    done: int
    left: dict[Reason, int] = field(default_factory=dict)
    ended: int = 0
    older: int = 0
    until: datetime | None = None
    more: bool = False
    may_arrive: bool = False

    def as_json(self) -> dict[str, Any]:
        """The inverse of `from_json`."""
        return {**vars(self), "until": None if self.until is None else self.until.isoformat()}

    @classmethod
    def from_json(cls, json: dict[str, Any]) -> "Summary":
        """Returns the summary of an act, as `bulk_acts` keeps it."""
        until = json.get("until")
        return cls(**{**json, "until": None if until is None else datetime.fromisoformat(until)})


@dataclass(frozen=True, kw_only=True)
class Undone:
    """How many are as they were before, and how many could not be put back, for each reason; `may_arrive` if a copy of
    one may still arrive."""

    done: int
    left: dict[Reason, int] = field(default_factory=dict)
    may_arrive: bool = False


@dataclass(frozen=True, kw_only=True)
class Before:
    """The data that undoes an act: the snoozes with their events; kept messages without a snooze, as they were; and
    moved messages of connected mailboxes: the entry of each, its former place, and its wanted place."""

    events: list[tuple[int, int]] = field(default_factory=list)
    kept: list[dict[str, Any]] = field(default_factory=list)
    moves: Sequence[tuple[int, str, str]] = ()


class Done(NamedTuple):
    """The summary of an act, the data that undoes it, and the result of each snooze."""

    summary: Summary
    before: Before
    results: Sequence[acts.Result] = ()


def reason_of(result: acts.Result) -> Reason:
    """Why a snooze was left as it is."""
    if result.before is None:
        return "gone"
    if result.before.outcome is not None:
        return _OVER[result.before.outcome]
    return _AS_IT_IS.get(result.left.code if result.left else "", "changed")


def summed(act: Name, results: Sequence[acts.Result], *, gone: int = 0, until: datetime | None = None) -> Done:
    """Returns the summary of an act on these snoozes and `gone` messages that no longer exist."""
    done = [one for one in results if one.left is None]
    left = Counter[Reason](reason_of(one) for one in results if one.left is not None)
    left["gone"] += gone
    summary = Summary(
        act=act,
        done=len(done),
        left=counted(left),
        ended=sum(one.ended is not None for one in done) if act == "snooze" else 0,
        until=until,
        may_arrive=any(one.may_arrive for one in done),
    )
    before = Before(events=[(one.id, one.event) for one in done if one.event is not None])
    return Done(summary, before, results)


def reschedule(
    connection: Connection, ids: Sequence[int], what: Snooze, by: By, *, traceparent: str | None = None
) -> Done:
    """Another time for live snoozes; a new snooze for each case."""
    results = acts.act(connection, ids, what, by, traceparent=traceparent)
    stuck = [one.before for one in results if one.before is not None and one.before.outcome == "retired"]
    wanted = [
        Wanted(
            message=Message(message_id=row.message_id, subject=row.subject, sender_email=row.sender_email),
            time=what.time,
            reading=what.reading,
        )
        for row in {row.message_id: row for row in stuck}.values()
    ]
    made = acts.snooze(connection, wanted, by, traceparent=traceparent, keeps_note=True, is_recorded=True)
    anew = {one.message.message_id: result for one, result in zip(wanted, made, strict=True)}
    results = [
        anew[one.before.message_id] if one.before is not None and one.before.outcome == "retired" else one
        for one in results
    ]
    return summed("snooze", results, until=what.time.remind_at)


def snooze(
    connection: Connection,
    messages: Sequence[Message],
    what: Snooze,
    by: By,
    *,
    traceparent: str | None = None,
    gone: int = 0,
) -> Done:
    """Snooze messages, or change the times of their live snoozes; kept messages leave the inbox."""
    wanted = [Wanted(message=one, time=what.time, reading=what.reading) for one in messages]
    results = acts.snooze(connection, wanted, by, traceparent=traceparent, keeps_note=True, is_recorded=True)
    return summed("snooze", results, gone=gone, until=what.time.remind_at)


def wake(connection: Connection, message_ids: Sequence[str], by: By, *, gone: int = 0) -> Done:
    """Bring messages back now."""
    alive = snoozes.alive_many(connection, user_email=by.user_email or "", message_ids=message_ids)
    done = summed("wake", acts.act(connection, list(alive.values()), Wake(), by), gone=gone)
    left = {**done.summary.left, "came_back": len(set(message_ids) - set(alive))}
    return done._replace(summary=replace(done.summary, left=counted(left)))


def done(connection: Connection, message_ids: Sequence[str], by: By, *, gone: int = 0) -> Done:
    """Done with messages that Snoozer keeps: they leave the inbox for good."""
    email = by.user_email or ""
    kept = mailbox_store.lock_many(connection, user_email=email, message_ids=message_ids)
    moved = mailbox_store.move_many(connection, user_email=email, message_ids=message_ids, folder="done")
    before = Before(kept=[{**one.was, "became": "done"} for one in kept if one.message_id in moved])
    left = counted({"gone": gone + len(message_ids) - len(moved)})
    return Done(Summary(act="done", done=len(moved), left=left), before)


def to_inbox(connection: Connection, message_ids: Sequence[str], by: By, *, gone: int = 0) -> Done:
    """Messages that Snoozer keeps back to the inbox; snoozes of sleeping messages are cancelled."""
    email = by.user_email or ""
    live = db.lock_chosen(connection, user_email=email, message_ids=message_ids)
    kept = mailbox_store.lock_many(connection, user_email=email, message_ids=message_ids)
    asleep = {one.message_id for one in kept if one.was["folder"] == "snoozed"}
    results = acts.act(connection, [row.id for row in live if row.message_id in asleep], Cancel(), by)
    cancelled = {one.before.message_id for one in results if one.before is not None}
    others = [one for one in kept if one.message_id not in cancelled]
    moved = mailbox_store.move_many(
        connection, user_email=email, message_ids=[one.message_id for one in others], folder="inbox"
    )
    there = [{**one.was, "became": "inbox"} for one in others if one.message_id in moved]
    undoes, may_arrive = summed("to_inbox", results).before, any(one.may_arrive for one in results)
    left = counted({"gone": gone + len(message_ids) - len(cancelled) - len(there)})
    done = len(cancelled) + len(there)
    summary = Summary(act="to_inbox", done=done, left=left, may_arrive=may_arrive)
    return Done(summary, replace(undoes, kept=there))


def result_of(connection: Connection, *, account_id: int, id: UUID) -> Summary | None:
    """Returns the summary of an act; None if it was not done, or is being done now."""
    known = bulk_acts.lock(connection, account_id=account_id, id=id)
    return None if known is None else Summary.from_json(known.result)


def once(connection: Connection, *, account_id: int, id: UUID, act: Callable[[], Done]) -> Summary:
    """Do an act under its id, unless it is done already; returns its result, then or now."""
    is_new = bulk_acts.begin(connection, account_id=account_id, id=id)
    known = None if is_new else result_of(connection, account_id=account_id, id=id)
    if known is not None:
        return known
    summary, before, _results = act()
    bulk_acts.finish(connection, account_id=account_id, id=id, result=summary.as_json(), before=vars(before))
    return summary


def undo(connection: Connection, *, account_id: int, id: UUID, by: By) -> Undone | None:
    """Put back what an act changed, if nothing has changed it since. Returns None for an act that is unknown by now, or
    was undone already."""
    act = bulk_acts.lock(connection, account_id=account_id, id=id)
    if act is None or act.undone_at is not None or "events" not in act.before:
        return None
    bulk_acts.mark_undone(connection, account_id=account_id, id=id)
    email, before = by.user_email or "", Before(**act.before)
    results = acts.undo(connection, [row for row, _ in before.events], by, done=[event for _, event in before.events])
    ids = [one["id"] for one in before.kept]
    kept = mailbox_store.put_back(connection, user_email=email, before=before.kept) if ids else set()
    moved = mailbox_store.relocate_back(connection, before.moves, user_email=email)
    left = Counter[Reason](reason_of(one) for one in results if one.left is not None)
    left["changed"] += len(ids) - len(kept) + len(before.moves) - len(moved)
    done = sum(one.left is None for one in results)
    may_arrive = any(one.may_arrive for one in results)
    return Undone(done=done + len(kept) + len(moved), left=counted(left), may_arrive=may_arrive)


def undo_acts(connection: Connection, done: Sequence[tuple[int, int]], by: By) -> Undone:
    """Put back acts, each a snooze and its event: of one snooze the newest act first, until one cannot be undone."""
    ids, undone, may_arrive = sorted({id for id, _ in done}), set[int](), False
    left: Counter[Reason] = Counter()
    while ids:
        results = acts.undo(connection, ids, by, done=[event for _, event in done])
        left.update(reason_of(one) for one in results if one.left is not None and one.left.code != "nothing_to_undo")
        may_arrive = may_arrive or any(one.may_arrive for one in results)
        ids = [one.id for one in results if one.left is None]
        undone.update(ids)
    return Undone(done=len(undone), left=counted(left), may_arrive=may_arrive)


def not_undoable(connection: Connection, done: Sequence[events.Done]) -> dict[int, SnoozeError]:
    """Why `undo_acts` would leave acts now, by their events. The newest act must come first."""
    rows = {row.id: row for row in db.chosen(connection, ids={one.snooze_id for one in done})}
    left: dict[int, SnoozeError] = {}
    stuck: dict[int, SnoozeError] = {}
    now = database_time(connection)
    for one in done:
        row = rows.get(one.snooze_id)
        try:
            if row is None or row.id in stuck:
                raise stuck.get(one.snooze_id) or engine.changed()
            terms = engine.decide(row, acts.Undo(done={row.id: one}), now).terms
        except SnoozeError as error:
            left[one.id] = stuck[one.snooze_id] = error
        else:
            over = terms.paused or terms.outcome is not None
            rows[row.id] = replace(row, **vars(terms), inactive=over)
    return left


def counted(left: Mapping[Reason, int]) -> dict[Reason, int]:
    """The reasons for which something was left."""
    return {reason: count for reason, count in left.items() if count > 0}
