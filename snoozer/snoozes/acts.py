"""Every act on snoozes: `act` does one to a list of ids, and returns a result for each.

An act always takes effect from now on. A worker that holds the row loses it, so no reminder is sent for the former
promise; a copy whose dot was authorised before may still arrive, and the result says so. An act on a recurring snooze,
while the reminder of an occurrence is leaving, concerns the next occurrence.

Rows are locked in the order of their ids, and then their messages. Each is decided by itself, all are written in one
statement, and the event of each keeps the terms before and after, by which `Undo` puts it back.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any

from sqlalchemy import Connection

from snoozer.db import mailbox_searches
from snoozer.db.mailbox_store import KeptFolder
from snoozer.db.queries import snoozes
from snoozer.queue import changes as db
from snoozer.queue import events
from snoozer.queue.changes import Chosen
from snoozer.queue.promise import DEFAULT_OPTIONS, EnqueueOptions, ReminderTime
from snoozer.snoozes import recurrence
from snoozer.snoozes.decision import Act as Act
from snoozer.snoozes.decision import By as By
from snoozer.snoozes.decision import Decision, Undoing
from snoozer.snoozes.decision import Result as Result
from snoozer.snoozes.decision import Wanted as Wanted
from snoozer.snoozes.engine import changed, enter, perform
from snoozer.snoozes.input import SnoozeError, clean_note, ended_recurrence, event_detail, valid_message_id
from snoozer.timephrase.result import ParsedTime
from snoozer.translations import gettext as _


@dataclass(frozen=True, kw_only=True)
class Snooze:
    """The snooze starts over with this time, whatever it promised; a recurrence ends unless the time has one. Without a
    note in the time, it `keeps_note`. Chosen `from_inbox`, its message leaves the inbox; otherwise only if it is
    back."""

    time: ReminderTime
    reading: ParsedTime | None = None
    options: EnqueueOptions = DEFAULT_OPTIONS
    keeps_note: bool = False
    from_inbox: bool = False
    kind: str | None = "edited"

    def decide(self, row: Chosen, now: datetime) -> Decision:
        """Any snooze that is not over."""
        keeps_key = self.options.serialization_key is None
        terms = row.terms.with_time(self.time).with_options(self.options, keeps_key=keeps_key)
        if self.keeps_note and terms.note is None:
            terms = replace(terms, note=row.note)
        detail = event_detail(self.reading, self.time, ended_recurrence(row.recurrence, terms.recurrence))
        return Decision(terms=terms, kind=self.kind, detail=detail, folder="snoozed", anyway=self.from_inbox)


@dataclass(frozen=True, kw_only=True)
class Move:
    """Another time. If the snooze repeats, for its next occurrence or for `every` one from it on; a time that repeats
    itself takes the place of the series. A paused snooze is resumed. Chosen `from_inbox`, its message leaves
    the inbox."""

    time: ReminderTime
    every: bool = False
    reading: ParsedTime | None = None
    from_inbox: bool = False

    def decide(self, row: Chosen, now: datetime) -> Decision:
        """Any snooze that is not over."""
        time, scope = self.time, {}
        if row.recurrence is not None and time.recurrence is None and not recurrence.is_someday(row):
            row = _without_leaving(row, now)
            scope = {"scope": "every" if self.every else "once"}
            time = recurrence.every(row, time) if self.every else recurrence.once(row, time)
        detail = event_detail(self.reading, time, None) | scope
        terms = row.terms.with_time(time)
        return Decision(terms=terms, kind="edited", detail=detail, folder="snoozed", anyway=self.from_inbox)


@dataclass(frozen=True, kw_only=True)
class Review:
    """Another time at which what has no date is reviewed."""

    time: ReminderTime

    def decide(self, row: Chosen, now: datetime) -> Decision:
        """A snooze until someday."""
        if not recurrence.is_someday(row):
            raise SnoozeError("changed", _("It has a date by now."))
        time = self.time
        terms = replace(row.terms, remind_at=time.remind_at, recurrence=time.recurrence, wall_time=time.wall_time)
        terms = replace(terms, zone=time.zone)
        return Decision(terms=terms, kind=None)


@dataclass(frozen=True, kw_only=True)
class Skip:
    """Leave out the next occurrence; with a `promise`, only if it promises that occurrence."""

    promise: datetime | None = None

    def decide(self, row: Chosen, now: datetime) -> Decision:
        """A snooze that repeats."""
        if self.promise is not None and row.remind_at != self.promise:
            recurrence.following(row, now=now)
            raise SnoozeError("changed", _("It had changed already, so nothing was skipped. This is how it is now."))
        row = _without_leaving(row, now)
        following = recurrence.following(row, now=now)
        if following is None:
            raise SnoozeError("last", _("That is its last time, so there is nothing to skip to. Cancel it instead."))
        terms = replace(row.terms, remind_at=following)
        return Decision(terms=terms, kind="skipped", detail={"was": row.remind_at.isoformat()})


@dataclass(frozen=True, kw_only=True)
class End:
    """The last day of a recurrence, or how many times it still comes; neither for no end."""

    until: date | None = None
    times: int | None = None

    def decide(self, row: Chosen, now: datetime) -> Decision:
        """A snooze that repeats, and neither a ladder nor someday."""
        if row.recurrence is not None and row.recurrence.get("kind", "series") != "series":
            raise SnoozeError("single", _("It has no end that could change. Give it another time, or cancel it."))
        row = _without_leaving(row, now)
        left = recurrence.ended(row, until=self.until, times=self.times)
        return Decision(terms=replace(row.terms, recurrence=left), kind="edited", detail={"scope": "end"})


class Pause:
    """Stop the snooze: no reminder is sent and no message returns until Resume."""

    def decide(self, row: Chosen, now: datetime) -> Decision:
        """Any snooze that is not paused."""
        if row.paused:
            raise SnoozeError("paused", _("It is paused already."))
        return Decision(terms=replace(_without_leaving(row, now).terms, paused=True), kind="paused")


class Resume:
    """Go on with the promise or, if that has passed, with the next occurrence; without one it comes now. If its
    reminder arrived while it was paused, it is over."""

    def decide(self, row: Chosen, now: datetime) -> Decision:
        """A snooze that is paused."""
        if not row.paused:
            raise SnoozeError("not_paused", _("It is not paused any more."))
        at = row.remind_at if row.remind_at > now else None
        if at is None and row.recurrence is not None:
            at = recurrence.following(row, now=now)
        if at is not None:
            return Decision(terms=replace(row.terms, paused=False, remind_at=at), kind="resumed")
        if row.send_state == "sent":
            return Decision(terms=replace(row.terms, paused=False, outcome="sent"), kind="resumed")
        return _returning(row, now, left=None)


class Wake:
    """The message comes back now: what repeats goes on after the occurrence that this one takes the place of.

    No reminder is sent for a message that returns to a mailbox; of another one the reminder is what comes.
    """

    def decide(self, row: Chosen, now: datetime) -> Decision:
        """A snooze whose time has not come."""
        is_deferred = row.deferred_until is not None and row.deferred_until > now
        if row.remind_at <= now and not row.paused and not is_deferred:
            raise SnoozeError("due", _("Its time has come already, so it is on its way."))
        return _returning(row, now, left=None if row.recurrence is None else recurrence.rest(row))


@dataclass(frozen=True, kw_only=True)
class Replied:
    """The reply came that a snooze waits for: its reminder leaves now, in place of `promise`."""

    promise: datetime
    left: dict[str, Any] | None
    detail: Mapping[str, object]

    def decide(self, row: Chosen, now: datetime) -> Decision:
        """A snooze whose time has not come."""
        if row.remind_at != self.promise or row.paused:
            raise changed()
        terms = replace(row.terms, remind_at=now, recurrence=self.left)
        return Decision(terms=terms, kind="replied", detail=self.detail)


@dataclass(frozen=True, kw_only=True)
class Cancel:
    """Nothing comes of it any more; its message goes back to the inbox. With a `promise`, only if it promises that."""

    promise: datetime | None = None
    detail: Mapping[str, object] = field(default_factory=dict)
    folder: KeptFolder | None = "inbox"

    def decide(self, row: Chosen, now: datetime) -> Decision:
        """Any snooze that is not over."""
        if self.promise is not None and row.remind_at != self.promise:
            raise changed()
        terms = replace(row.terms, outcome="cancelled", paused=False)
        return Decision(terms=terms, kind="cancelled", detail=self.detail, folder=self.folder)


@dataclass(frozen=True, kw_only=True)
class Acknowledge:
    """The reminder of `promise` arrived, and its person is done with it: a recurring snooze goes on at `following`, any
    other is over, and no copy follows."""

    promise: datetime
    following: datetime | None

    def decide(self, row: Chosen, now: datetime) -> Decision:
        """A snooze that still promises what arrived."""
        if row.remind_at != self.promise:
            raise changed()
        over = replace(row.terms, outcome="cancelled", paused=False)
        terms = over if self.following is None else replace(row.terms, remind_at=self.following)
        return Decision(terms=terms, kind=None)


@dataclass(frozen=True, kw_only=True)
class Annotate:
    """Another note; the promise stays."""

    note: str | None

    def decide(self, row: Chosen, now: datetime) -> Decision:
        """Any snooze that is not over."""
        return Decision(terms=replace(row.terms, note=clean_note(self.note)), kind="noted", detail={"note": row.note})


@dataclass(frozen=True, kw_only=True)
class SetOptions:
    """How workers treat it, in what `options` names; the key too, unless it `keeps_key`. The promise stays."""

    options: EnqueueOptions
    keeps_key: bool = True

    def decide(self, row: Chosen, now: datetime) -> Decision:
        """Any snooze that is not over."""
        return Decision(terms=row.terms.with_options(self.options, keeps_key=self.keeps_key), kind="edited")


# Kinds of events that can be undone without the terms that others keep, with the outcome that they left behind.
_WITHOUT_TERMS: Mapping[str, str | None] = {"asked": None, "cancelled": "cancelled", "done": "cancelled"}


@dataclass(frozen=True, kw_only=True)
class Undo(Undoing):
    """Put back what an act changed, while the snooze is as the act left it; not a time that has passed since, but one
    that was due already. `done` are the acts, by snooze."""

    done: Mapping[int, events.Done]

    def decide(self, row: Chosen, now: datetime) -> Decision:
        """A snooze with an act of its owner that can be undone."""
        done = self.done.get(row.id)
        if done is None or not (done.kind in _WITHOUT_TERMS or "after" in done.detail):
            raise SnoozeError("nothing_to_undo", _("There is nothing to undo."))
        detail: dict[str, object] = {"of": done.id}
        if done.kind == "done":
            return Decision(terms=row.terms, kind="undone", detail=detail | _promise(done), folder="inbox")
        after = done.detail.get("after", {"outcome": _WITHOUT_TERMS.get(done.kind)})
        if row.terms.with_plain(after) != row.terms or row.outcome not in {None, "cancelled"}:
            raise changed()
        places = done.detail.get("places", {})
        if done.kind == "asked":
            terms = replace(row.terms, outcome="cancelled", paused=False)
            return Decision(terms=terms, kind="undone", detail=detail, places=places)
        terms = row.terms.with_plain(done.detail.get("before", {"outcome": None}))
        if row.outcome is not None and row.snoozed_again_at is not None and row.snoozed_again_at > done.at:
            raise changed()
        comes_at = max(terms.remind_at, _instant(done.detail.get("deferred_until")) or terms.remind_at)
        if terms.remind_at != row.remind_at and done.at < comes_at <= now and not terms.paused:
            raise SnoozeError("past", _("The earlier time has passed, so it stays as it is now."))
        folder: KeptFolder | None = None if "places" in done.detail else "snoozed"
        is_back = done.kind == "back"
        return Decision(terms=terms, kind="undone", detail=detail, places=places, folder=folder, unless_moved=is_back)


def act(
    connection: Connection, ids: Collection[int], what: Act, by: By, *, traceparent: str | None = None
) -> list[Result]:
    """Do an act on snoozes, in this transaction; returns a result for each id, in their order. A snooze that is
    gone or another person's is left, and so is a finished snooze unless the act is Undo."""
    rows = {row.id: row for row in db.lock_chosen(connection, user_email=by.user_email, ids=ids)}
    done = perform(connection, [(row, what) for row in rows.values()], by, traceparent=traceparent)
    gone = SnoozeError("over", _("It is over already, so there was nothing to change."))
    return [done[id] if id in done else Result(id=id, before=None, left=gone) for id in ids]


def undo(connection: Connection, ids: Collection[int], by: By, *, done: Collection[int] | None = None) -> list[Result]:
    """Undo the newest act of each of these snoozes, or the acts of the events `done`; returns a result for each id."""
    rows = db.lock_chosen(connection, user_email=by.user_email, ids=ids)
    acts = events.undoable(connection, ids=[row.id for row in rows], events=None if done is None else list(done))
    return act(connection, ids, Undo(done=acts), by)


def snooze(
    connection: Connection,
    wanted: Sequence[Wanted],
    by: By,
    *,
    traceparent: str | None = None,
    keeps_note: bool = False,
    is_recorded: bool = False,
    kind: str | None = "edited",
) -> list[Result]:
    """Snooze messages of one person, or change the times of the snoozes that they have, paused ones too; kept messages
    leave the inbox.

    Returns a result for each message, in the order given. A new snooze has an event if its phrase was read, it
    `is_recorded`, or a program with a token made it; a changed one has an event of this `kind`.

    Raises SnoozeError for an invalid message_id.
    """
    email = by.user_email or ""
    by_message = {valid_message_id(one.message.message_id): one for one in wanted}
    results: dict[str, Result] = {}
    while missing := [id for id in by_message if id not in results]:
        alive = snoozes.alive_many(connection, user_email=email, message_ids=missing)
        rows = db.lock_chosen(connection, user_email=email, ids=alive.values())
        asked: list[tuple[Chosen, Act]] = [
            (row, _again(by_message[row.message_id], keeps_note=keeps_note, kind=kind))
            for row in rows
            if row.outcome is None
        ]
        changed = perform(connection, asked, by, traceparent=traceparent)
        results |= {row.message_id: changed[row.id] for row, _ in asked}
        fresh = [by_message[id] for id in missing if id not in results]
        # A message that was snoozed by another transaction just now is missing from the result: its snooze is changed.
        results |= enter(connection, fresh, by, traceparent=traceparent, is_recorded=is_recorded)
    for id, one in by_message.items():
        if one.search_in is not None or not one.whole:
            mailbox_searches.choose(connection, snooze_id=results[id].id, mailbox_ids=one.search_in, whole=one.whole)
    return [results[one.message.message_id] for one in wanted]


def _again(one: Wanted, *, keeps_note: bool, kind: str | None) -> Snooze:
    return Snooze(
        time=one.time, reading=one.reading, options=one.options, keeps_note=keeps_note, from_inbox=True, kind=kind
    )


def _without_leaving(row: Chosen, now: datetime) -> Chosen:
    """The snooze as it will be once the occurrence that is leaving has left; the same if none is, or none follows."""
    if not row.is_leaving or row.recurrence is None:
        return row
    following = recurrence.following(row, now=now)
    return row if following is None else replace(row, remind_at=following)


def _returning(row: Chosen, now: datetime, *, left: dict[str, Any] | None) -> Decision:
    """The snooze promises this moment. By the promise that the event names, no rest defers it (`snooze_deferral`)."""
    terms = replace(
        row.terms,
        remind_at=now,
        recurrence=left,
        wall_time=None,
        at_any_hour=row.at_any_hour or left is None,
        paused=False,
    )
    detail = {"was": row.remind_at.isoformat(), "promise": now.isoformat()}
    return Decision(terms=terms, kind="back", detail=detail, returns=True)


def _promise(done: events.Done) -> dict[str, object]:
    return {"promise": done.detail["promise"]} if "promise" in done.detail else {}


def _instant(text: Any) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
