"""The engine of acts: decide on locked snoozes, write them in one statement, move their messages, record each act.

It is the same for one snooze and for five hundred.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection, func, select
from sqlalchemy.exc import IntegrityError

from snoozer.db import mailbox_store
from snoozer.db.mailbox_store import KeptFolder, Locked
from snoozer.queue import changes as db
from snoozer.queue import events
from snoozer.queue.changes import Chosen, NewSnooze
from snoozer.snoozes import recurrence
from snoozer.snoozes.decision import Act, By, Decision, Result, Undoing, Wanted
from snoozer.snoozes.input import SnoozeError, event_detail
from snoozer.translations import gettext as _


def enter(
    connection: Connection, wanted: Sequence[Wanted], by: By, *, traceparent: str | None, is_recorded: bool
) -> dict[str, Result]:
    """Insert snoozes of messages without one; returns the inserted snoozes by Message-ID."""
    if not wanted:
        return {}
    email = by.user_email or ""
    messages = {one.message.message_id: one for one in wanted}
    places = _Places(connection, email, messages)
    new = [
        NewSnooze(
            message_id=id,
            subject=one.message.subject,
            sender_email=one.message.sender_email,
            time=one.time,
            options=one.options,
        ).terms
        for id, one in messages.items()
    ]
    ids = dict(db.enqueue_many(connection, user_email=email, terms=new, traceparent=traceparent))
    mailbox_store.move_many(connection, user_email=email, message_ids=ids, folder="snoozed")
    lines: list[tuple[int, Mapping[str, object]]] = []
    for message_id, id in ids.items():
        one = messages[message_id]
        if is_recorded or one.reading is not None or by.token_id is not None:
            detail = event_detail(one.reading, one.time, None) | {"after": db.asked_terms(one.time)}
            lines.append((id, detail | places.detail(message_id, became="snoozed")))
    known = events.append_many(
        connection, kind="asked", actor=by.actor, route=by.door, lines=lines, token_id=by.token_id
    )
    return {message_id: Result(id=id, before=None, event=known.get(id)) for message_id, id in ids.items()}


def perform(
    connection: Connection, wanted: Sequence[tuple[Chosen, Act]], by: By, *, traceparent: str | None
) -> dict[int, Result]:
    """Decide, write, and record the acts on locked snoozes; returns the results by id."""
    if not wanted:
        return {}
    now: datetime = connection.execute(select(func.now())).scalar_one()
    by_person: dict[str, set[str]] = {}
    for row, _act in wanted:
        by_person.setdefault(row.user_email, set()).add(row.message_id)
    places = {email: _Places(connection, email, ids) for email, ids in sorted(by_person.items())}
    results: dict[int, Result] = {}
    decided: list[tuple[Chosen, Decision]] = []
    for row, what in wanted:
        try:
            decision = decide(row, what, now, places[row.user_email])
        except SnoozeError as error:
            results[row.id] = Result(id=row.id, before=row, left=error)
        else:
            decided.append((row, decision))
    written = _write(connection, decided, traceparent=traceparent)
    results |= {
        row.id: Result(id=row.id, before=row, left=_snoozed_again()) for row, _ in decided if row.id not in written
    }
    decided = [(row, decision) for row, decision in decided if row.id in written]
    decided = _return(connection, decided, now)
    for email, where in places.items():
        _move_messages(connection, [one for one in decided if one[0].user_email == email], where)
    known = _record(connection, decided, places, by)
    for row, decision in decided:
        results[row.id] = Result(
            id=row.id,
            before=row,
            event=known.get(row.id),
            terms=decision.terms,
            may_arrive=row.in_flight or row.is_leaving,
            by_mail=decision.returns and decision.terms.outcome is None and decision.terms.remind_at <= now,
        )
    return results


def decide(row: Chosen, what: Act, now: datetime, places: "_Places | None" = None) -> Decision:
    """The decision of an act, without `places` regardless of where messages are. Raises SnoozeError."""
    if row.outcome is not None and not isinstance(what, Undoing):
        raise SnoozeError("over", _("It is over already, so there was nothing to change."))
    decision = what.decide(row, now)
    is_live = not decision.terms.paused and decision.terms.outcome is None
    if row.inactive and is_live and row.snoozed_again_at is not None:
        raise changed() if isinstance(what, Undoing) else _snoozed_again()
    if decision.unless_moved and places is not None and places.was_moved(row.message_id):
        raise SnoozeError("changed", _("Its message was moved since, so nothing was undone."))
    return decision


def _write(connection: Connection, decided: Sequence[tuple[Chosen, Decision]], *, traceparent: str | None) -> set[int]:
    """Write the decisions; returns the ids that were written. Snoozes whose message a concurrent transaction has just
    snoozed again are missing."""
    changes = [(row, decision.terms) for row, decision in decided]
    try:
        with connection.begin_nested():
            db.change_many(connection, changes=changes, traceparent=traceparent)
    except IntegrityError:
        if len(decided) == 1:
            return set()
        return set().union(*(_write(connection, [one], traceparent=traceparent) for one in decided))
    return {row.id for row, _ in decided}


def _return(
    connection: Connection, decided: Sequence[tuple[Chosen, Decision]], now: datetime
) -> list[tuple[Chosen, Decision]]:
    """Return the messages that come back now to their mailboxes. Their snoozes promise what comes next, or are over."""
    ids = [row.id for row, decision in decided if decision.returns]
    returning = db.returning(connection, ids=ids) if ids else set()
    if returning:
        mailbox_store.return_due(connection, batch_size=len(returning), snooze_ids=sorted(returning))
    final: dict[int, Decision] = {}
    promised = {row.id: replace(row, **vars(decision.terms)) for row, decision in decided if row.id in returning}
    for row, decision in decided:
        terms = decision.terms
        if row.id in promised:
            next_one = None if terms.recurrence is None else recurrence.following(promised[row.id], now=now)
            outcome, at = ("cancelled", terms.remind_at) if next_one is None else (None, next_one)
            terms = replace(terms, outcome=outcome, remind_at=at)
        final[row.id] = replace(decision, terms=terms)
    db.change_many(connection, changes=[(row, final[id].terms) for id, row in promised.items()])
    return [(row, final[row.id]) for row, _ in decided]


class _Places:
    """The places of one person's messages, locked: kept messages, and messages of connected mailboxes."""

    def __init__(self, connection: Connection, user_email: str, message_ids: Collection[str]) -> None:
        self.user_email = user_email
        self.kept = {
            one.message_id: one
            for one in mailbox_store.lock_many(connection, user_email=user_email, message_ids=message_ids)
        }
        self.connected: dict[str, list[Locked]] = {}
        for one in mailbox_store.lock_chosen(connection, user_email=user_email, message_ids=message_ids):
            self.connected.setdefault(one.message_id, []).append(one)

    def is_back(self, message_id: str) -> bool:
        """Whether no snooze is going to return a message."""
        kept = self.kept.get(message_id)
        return (kept is not None and kept.is_back) or any(one.is_back for one in self.connected.get(message_id, ()))

    def was_moved(self, message_id: str) -> bool:
        """Whether its owner has moved a message since it came back."""
        kept = self.kept.get(message_id)
        is_elsewhere = kept is not None and kept.was["folder"] != "inbox"
        return is_elsewhere or any(one.place in {"aside", "missing"} for one in self.connected.get(message_id, ()))

    def detail(self, message_id: str, *, became: KeptFolder) -> dict[str, object]:
        """Returns the former place of a message for an event: ids, never Message-IDs."""
        kept = self.kept.get(message_id)
        was = {} if kept is None else {name: kept.was[name] for name in ("id", "folder", "unread", "returned")}
        return {
            "places": {
                "kept": [{**was, "became": became}] if was else [],
                "wanted": [[one.id, one.wanted] for one in self.connected.get(message_id, ())],
            }
        }


def _move_messages(connection: Connection, decided: Sequence[tuple[Chosen, Decision]], places: _Places) -> None:
    """Move the messages of these snoozes, of one person, to where the acts have them."""
    for folder in ("inbox", "snoozed"):
        ids = {
            row.message_id
            for row, decision in decided
            if decision.folder == folder and (folder == "inbox" or decision.anyway or places.is_back(row.message_id))
        }
        if ids:
            mailbox_store.move_many(connection, user_email=places.user_email, message_ids=ids, folder=folder)
    kept = [one for _, decision in decided for one in decision.places.get("kept", ())]
    if kept:
        mailbox_store.put_back(connection, user_email=places.user_email, before=kept)
    wanted = [(id, place) for _, decision in decided for id, place in decision.places.get("wanted", ())]
    if wanted:
        mailbox_store.want_back(connection, user_email=places.user_email, wanted=wanted)


def _record(
    connection: Connection,
    decided: Sequence[tuple[Chosen, Decision]],
    places: Mapping[str, _Places],
    by: By,
) -> dict[int, int]:
    """Append the event of each act; returns them by snooze."""
    lines: dict[str, list[tuple[int, Mapping[str, object]]]] = {}
    for row, decision in decided:
        if decision.kind is None:
            continue
        before, after = decision.terms.changes_from(row.terms)
        detail = {**decision.detail, "before": before, "after": after}
        if row.deferred_until is not None:
            detail["deferred_until"] = row.deferred_until.isoformat()
        if decision.kind == "undone":
            detail = dict(decision.detail)
        elif decision.folder is not None or decision.returns:
            became: KeptFolder = decision.folder or "inbox"
            detail |= places[row.user_email].detail(row.message_id, became=became)
        lines.setdefault(decision.kind, []).append((row.id, detail))
    known: dict[int, int] = {}
    for kind, found in lines.items():
        known |= events.append_many(
            connection, kind=kind, actor=by.actor, route=by.door, lines=found, token_id=by.token_id
        )
    return known


def changed() -> SnoozeError:
    """Why an act leaves a snooze that is another one by now."""
    return SnoozeError("changed", _("It was changed since, or its reminder is out, so nothing was undone."))


def _snoozed_again() -> SnoozeError:
    return SnoozeError("snoozed", _("Its message was snoozed again, and that snooze counts. This one stays paused."))
