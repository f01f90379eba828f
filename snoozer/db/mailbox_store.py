"""Messages that Snoozer keeps, and messages of connected mailboxes: one function per statement in
`sql/mailboxes/messages`, of the same name. Writes by a former owner of a mailbox (`fence`) change nothing."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple

from sqlalchemy import Connection

from snoozer.db.statements import ALL_IDS, execute, id_bounds, rows_as

KeptFolder = Literal["inbox", "snoozed", "done"]
Where = Literal["home", "snoozed", "aside"]


@dataclass(frozen=True, kw_only=True)
class Envelope:
    """Columns of a kept message besides its bytes. `substitute_id` is its id if other bytes have `message_id`.

    `thread_ids` are the ids of the messages before it and its own as they are written, with spaces between them.
    `return_path` is the sender of its envelope, empty for a report; None if it did not come by mail.
    """

    message_id: str
    substitute_id: str
    thread_ids: str | None
    sha256: str
    subject: str | None
    sender_name: str | None
    sender_email: str | None
    sent_at: datetime | None
    snippet: str
    return_path: str | None = None


@dataclass(frozen=True, kw_only=True)
class KeptMessage:
    """A kept message that its owner has chosen, locked. `was` is what `put_back` takes; `is_back` is True if no snooze
    is going to return the message."""

    id: int
    message_id: str
    subject: str | None
    sender_email: str | None
    is_back: bool
    was: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a message was kept, and since when: `surfaced_at` is its place in the list, `returned` is True if a snooze
    had brought it back. Without times it arrives now."""

    folder: Literal["inbox", "snoozed", "done", "reminders"]
    unread: bool
    returned: bool = False
    arrived_at: datetime | None = None
    surfaced_at: datetime | None = None


NEW = Place(folder="inbox", unread=True)
# A reminder sent by Snoozer that came in: it is evidence, not mail to read.
EVIDENCE = Place(folder="reminders", unread=False)


@dataclass(frozen=True, kw_only=True)
class Sighting:
    """A message that was seen in `folder`; `header_id` to `internal_date` are its fingerprint. `thread_ids` are the ids
    of the messages before it and its own, with spaces between them; `snooze_id` is the snooze with which it leaves."""

    user_email: str
    message_id: str
    header_id: str | None
    fingerprint: str
    size: int
    internal_date: datetime
    home: str
    place: Where
    folder: str
    uidvalidity: int
    uid: int
    thread_ids: str | None = None
    snooze_id: int | None = None


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A message that is or was snoozed, or was moved elsewhere: where it is (`place`, `folder`), where it should be
    (`wanted`), the move that began (`moving_to`), when it returns, and whether its return `marks_unread`. We marked it
    as read while it sleeps if it `was_unread`. Its snooze lacks a subject or a sender if it is `nameless`."""

    id: int
    user_email: str
    message_id: str
    header_id: str | None
    fingerprint: str
    size: int
    internal_date: datetime
    home: str
    aside: str | None
    place: Literal["home", "snoozed", "aside", "missing"]
    wanted: Where
    folder: str
    uidvalidity: int
    uid: int
    missing_since: datetime | None
    moving_to: Where | None
    target_folder: str | None
    target_uidvalidity: int | None
    target_uidnext: int | None
    returns_at: datetime | None
    snooze_id: int | None
    is_due: bool
    marks_unread: bool = True
    was_unread: bool = False
    nameless: bool = False


@dataclass(frozen=True, kw_only=True)
class Known:
    """Where a message was seen last, and whether a snooze is to move it."""

    id: int
    message_id: str
    mailbox_id: int
    place: str
    folder: str
    uidvalidity: int
    uid: int
    is_snoozed: bool


@dataclass(frozen=True, kw_only=True)
class Locked:
    """A message of a connected mailbox that its owner has chosen, locked. `wanted` is what `want_back` takes, with the
    id; `is_back` is True if no snooze is going to return the message."""

    id: int
    message_id: str
    wanted: Where
    place: Where
    is_back: bool


class Target(NamedTuple):
    """The folder that messages are about to be moved to, as it is before the move."""

    folder: str
    uidvalidity: int
    uidnext: int


def lock_original(connection: Connection, *, user_email: str, sha256: str) -> None:
    """Serialize storing the same bytes, until the transaction ends."""
    execute(connection, "messages/lock_original", user_email=user_email, sha256=sha256)


def find_kept(connection: Connection, *, user_email: str, sha256: str, repeatable: bool) -> int | None:
    """The id of a kept message with these bytes; with `repeatable`, only a message that is unread in the inbox."""
    values = {"user_email": user_email, "sha256": sha256, "repeatable": repeatable}
    return execute(connection, "messages/find_kept", **values).scalar_one_or_none()


def store(connection: Connection, *, user_email: str, envelope: Envelope, original: bytes, place: Place = NEW) -> int:
    """Keep a message, at the place that it had elsewhere unless it is new; returns its id."""
    values = {**asdict(envelope), **asdict(place), "user_email": user_email, "original": original}
    while True:
        id = execute(connection, "messages/store", **values).scalar_one_or_none()
        if id is not None:
            return int(id)


def return_due(
    connection: Connection, *, batch_size: int, snooze_ids: Sequence[int] | None = None, id_range: range = ALL_IDS
) -> list[int]:
    """Return up to `batch_size` kept messages whose time has come to the top of the inbox, unread, once for a promise;
    with `snooze_ids`, only the messages of these snoozes, even within a rest of their owners. Returns the snoozes whose
    messages returned."""
    if snooze_ids is not None:
        undefer(connection, snooze_ids=snooze_ids)
    ids = None if snooze_ids is None else list(snooze_ids)
    values = {"batch_size": batch_size, "snooze_ids": ids, **id_bounds(id_range)}
    return list(execute(connection, "messages/return_due", **values).scalars())


def undefer(connection: Connection, *, snooze_ids: Sequence[int]) -> None:
    """Return the messages of these snoozes at their promised times, even within a rest of their owners."""
    execute(connection, "messages/undefer", snooze_ids=list(snooze_ids))


def lock_many(connection: Connection, *, user_email: str, message_ids: Collection[str]) -> list[KeptMessage]:
    """Lock kept messages of this person, in the order of their ids."""
    values = {"message_ids": list(message_ids), "user_email": user_email}
    return rows_as(execute(connection, "messages/lock_many", **values), KeptMessage)


def move_many(connection: Connection, *, user_email: str, message_ids: Collection[str], folder: KeptFolder) -> set[str]:
    """Move messages to a folder; returns the moved ones. Only messages that a snooze returns go to `snoozed`, here or
    in the connected mailbox that they are in."""
    values = {"user_email": user_email, "message_ids": list(message_ids), "folder": folder}
    return {row.message_id for row in execute(connection, "messages/move_many", **values) if row.is_kept}


def move(connection: Connection, *, user_email: str, message_id: str, folder: KeptFolder) -> bool:
    """Move one message to a folder, as `move_many` does. Returns False if it is there, or not kept here."""
    return bool(move_many(connection, user_email=user_email, message_ids=[message_id], folder=folder))


def put_back(connection: Connection, *, user_email: str, before: Sequence[dict[str, Any]]) -> set[str]:
    """Restore messages to what they were, each the `was` of `lock_many` with what it `became`; returns the messages
    that were still where the act had put them."""
    rows = execute(connection, "messages/put_back", user_email=user_email, before=json.dumps(before))
    return {row.message_id for row in rows}


def mark(connection: Connection, *, id: int, user_email: str, unread: bool) -> bool:
    """Mark a kept message of this person as unread or read."""
    return execute(connection, "messages/mark", id=id, user_email=user_email, unread=unread).first() is not None


def date_arrivals(connection: Connection, *, user_email: str, message_ids: Sequence[str]) -> None:
    """Set the arrival times of messages that just came in to their dates, for `snoozer up`."""
    execute(connection, "messages/date_arrivals", user_email=user_email, message_ids=list(message_ids))


def list_without_snippet(connection: Connection, *, batch_size: int, size: int) -> dict[int, bytes]:
    """By id, the first `size` bytes of messages whose snippet is not known yet, locked until the transaction ends."""
    values = {"batch_size": batch_size, "size": size}
    return {row.id: bytes(row.original) for row in execute(connection, "messages/list_without_snippet", **values)}


def save_snippets(connection: Connection, *, snippets: Mapping[int, str]) -> None:
    """Save the snippets of messages, by id."""
    execute(connection, "messages/save_snippets", ids=list(snippets), snippets=list(snippets.values()))


def save_captured(connection: Connection, *, mail_from: str, rcpt_to: str, original: bytes) -> int:
    """Keep a message that the mail sink of `snoozer up` accepted; returns its id."""
    values = {"mail_from": mail_from, "rcpt_to": rcpt_to, "original": original}
    return int(execute(connection, "messages/save_captured", **values).scalar_one())


def find(connection: Connection, *, user_email: str, message_ids: Collection[str]) -> dict[str, Known]:
    """The entries of messages in any of the person's mailboxes, by their Message-IDs."""
    values = {"user_email": user_email, "message_ids": list(message_ids)}
    return {known.message_id: known for known in rows_as(execute(connection, "messages/find", **values), Known)}


def list_at(
    connection: Connection, uids: Collection[int], *, mailbox_id: int, folder: str, uidvalidity: int
) -> dict[int, tuple[str, bool]]:
    """The Message-IDs of entries that lie in a folder, by their UIDs, and whether each is to be snoozed already."""
    values = {"uids": sorted(uids), "mailbox_id": mailbox_id, "folder": folder, "uidvalidity": uidvalidity}
    return {row.uid: (row.message_id, row.is_wanted) for row in execute(connection, "messages/list_at", **values)}


def notice(
    connection: Connection, sighting: Sighting, *, mailbox_id: int, fence: int, wanted: Where = "snoozed"
) -> int | None:
    """Enter a message that must be snoozed, or follow it to its present place; returns its entry. With `wanted` home,
    the message is given back unless its return is promised. None if the message belongs to another mailbox, or for a
    former owner."""
    values = {**asdict(sighting), "mailbox_id": mailbox_id, "fence": fence, "wanted": wanted}
    return execute(connection, "messages/notice", **values).scalar_one_or_none()


def enter(connection: Connection, seen: Sequence[Sighting], *, mailbox_id: int) -> bool:
    """Enter messages that their owner snoozes on a page, so that the process that watches their mailbox moves them.
    Returns False if a message belongs to another mailbox or the mailbox is being disconnected; nothing may be committed
    then."""
    values = {"seen": _as_json(seen), "mailbox_id": mailbox_id}
    return len(execute(connection, "messages/enter", **values).all()) == len(seen)


def relocate(
    connection: Connection, seen: Sequence[Sighting], *, mailbox_id: int, wanted: Where, aside: str | None = None
) -> list[tuple[int, Where]]:
    """Have messages moved `aside`, or from where they were seen to their home; returns the entry and the place of each
    message to move."""
    values = {"seen": _as_json(seen), "mailbox_id": mailbox_id, "wanted": wanted, "aside": aside}
    return [(row.id, row.place) for row in execute(connection, "messages/relocate", **values)]


def relocate_back(connection: Connection, moves: Sequence[tuple[int, str, str]], *, user_email: str) -> set[int]:
    """Undo `relocate`: `moves` has the entry of each message, its place then, and where it was wanted. Returns the
    entries of the messages to move back."""
    ids, places, wanted = zip(*moves, strict=True) if moves else ((), (), ())
    values = {"ids": list(ids), "places": list(places), "wanted": list(wanted), "user_email": user_email}
    return set(execute(connection, "messages/relocate_back", **values).scalars())


def follow(
    connection: Connection, at: tuple[str, int, int], moved: tuple[str, int, int], *, mailbox_id: int, place: Where
) -> None:
    """Record a move made on a page, from and to a folder, UIDVALIDITY and UID: the message's entry, if any, follows."""
    names = ("folder", "uidvalidity", "uid")
    values = dict(zip(names, at, strict=True)) | dict(zip((f"new_{name}" for name in names), moved, strict=True))
    execute(connection, "messages/follow", mailbox_id=mailbox_id, place=place, **values)


def leave(connection: Connection, *, mailbox_id: int, fence: int) -> int:
    """Have all messages brought back, as the owner disconnects the mailbox; returns the number of messages."""
    return len(execute(connection, "messages/leave", mailbox_id=mailbox_id, fence=fence).all())


def list_work(connection: Connection, *, mailbox_id: int, snoozed_folder: str, batch_size: int) -> list[Entry]:
    """Messages that are not where they should be, the oldest promise first; snoozed ones belong in `snoozed_folder`."""
    values = {"mailbox_id": mailbox_id, "snoozed_folder": snoozed_folder, "batch_size": batch_size}
    return rows_as(execute(connection, "messages/list_work", **values), Entry)


def list_snoozed(connection: Connection, *, mailbox_id: int) -> list[Entry]:
    """Messages that lie in a Snoozer folder, or did until they went missing."""
    return rows_as(execute(connection, "messages/list_snoozed", mailbox_id=mailbox_id), Entry)


def list_in_folder(connection: Connection, *, mailbox_id: int, folder: str, uidvalidity: int) -> set[int]:
    """The UIDs of a folder that are entered already."""
    values = {"mailbox_id": mailbox_id, "folder": folder, "uidvalidity": uidvalidity}
    return set(execute(connection, "messages/list_in_folder", **values).scalars())


def intend(
    connection: Connection, ids: Sequence[int], *, moving_to: Where, target: Target, unread: Collection[int], fence: int
) -> set[int]:
    """Record the intent to move messages, and to mark the `unread` ones as read while they sleep. Returns the messages
    that may be moved: none for a former owner."""
    values = {"moving_to": moving_to, **{f"target_{name}": value for name, value in target._asdict().items()}}
    moved = execute(connection, "messages/intend", ids=list(ids), unread=list(unread), fence=fence, **values)
    return set(moved.scalars())


def abandon(connection: Connection, ids: Sequence[int], *, fence: int) -> None:
    """Record that the move did not happen: the messages are where they were."""
    execute(connection, "messages/abandon", ids=list(ids), fence=fence)


def stay(connection: Connection, ids: Sequence[int], *, home: str, fence: int) -> None:
    """Have messages moved to `home`, to stay there: only their reminders come."""
    execute(connection, "messages/stay", ids=list(ids), home=home, fence=fence)


def settle(
    connection: Connection, uids: Mapping[int, int], *, place: Where, folder: str, uidvalidity: int, fence: int
) -> set[int]:
    """Record where messages were seen: `uids` by their entries. Returns the due messages that are back: their returns
    are in the ledger."""
    values = {"place": place, "folder": folder, "uidvalidity": uidvalidity, "fence": fence}
    rows = execute(connection, "messages/settle", ids=list(uids), uids=list(uids.values()), **values)
    return {row.id for row in rows if row.returned}


def mark_missing(connection: Connection, ids: Sequence[int], *, fence: int) -> None:
    """Record that messages left their places, and are sought."""
    execute(connection, "messages/mark_missing", ids=list(ids), fence=fence)


def forget(connection: Connection, *, id: int, fence: int) -> bool:
    """Forget a message, which its owner handles from now on. Returns False for a former owner."""
    return execute(connection, "messages/forget", id=id, fence=fence).first() is not None


def others(connection: Connection, *, id: int) -> tuple[bool, bool]:
    """Whether its snooze is going to return another, and whether it took others away that are back for its promise."""
    row = execute(connection, "messages/others", id=id).one()
    return row.are_asleep, row.are_back


def forget_given_back(connection: Connection, *, mailbox_id: int, domain: str, fence: int) -> None:
    """Forget messages that belong to no snooze, have ids of this domain and are back."""
    execute(connection, "messages/forget_given_back", mailbox_id=mailbox_id, domain=domain, fence=fence)


def next_returns(connection: Connection, *, owner: str) -> dict[int, float]:
    """Seconds until the next work in each mailbox of this owner that has any within two seconds."""
    return {row.id: float(row.seconds) for row in execute(connection, "messages/next_returns", owner=owner)}


def prune(connection: Connection, *, batch_size: int) -> int:
    """Forget messages that came back more than a month ago; returns how many."""
    return len(execute(connection, "messages/prune", batch_size=batch_size).all())


def lock_chosen(connection: Connection, *, user_email: str, message_ids: Collection[str]) -> list[Locked]:
    """Lock messages of this person's connected mailboxes, in the order of their ids. A message that was snoozed with
    another message has the Message-ID of that message."""
    values = {"user_email": user_email, "message_ids": list(message_ids)}
    return rows_as(execute(connection, "messages/lock_chosen", **values), Locked)


def want_back(connection: Connection, *, user_email: str, wanted: Sequence[tuple[int, str]]) -> None:
    """Restore where messages were wanted before, each by its id."""
    values = {"ids": [id for id, _ in wanted], "wanted": [place for _, place in wanted], "user_email": user_email}
    execute(connection, "messages/want_back", **values)


def _as_json(seen: Sequence[Sighting]) -> str:
    return json.dumps([asdict(one) for one in seen], default=datetime.isoformat)
