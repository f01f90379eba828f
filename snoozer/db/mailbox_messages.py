"""Where the messages of snoozes are in connected mailboxes: one function per file in `sql/mailbox_messages`, of
the same name. What a former owner of the mailbox writes (`fence`) changes nothing."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from sqlalchemy import Connection

from snoozer.db.statements import execute, rows_as

Where = Literal["home", "snoozed", "aside"]


@dataclass(frozen=True, kw_only=True)
class Sighting:
    """A message that was seen in `folder`; `header_id` to `internal_date` are its fingerprint. `thread_ids` are the ids
    of the messages before it and its own, with spaces between them."""

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


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A message that is or was snoozed, or was put elsewhere: where it is (`place`, `folder`), where it should be
    (`wanted`), the move that began (`moving_to`), and when it returns."""

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
    id; `is_back` is True if no snooze is going to return it."""

    id: int
    message_id: str
    wanted: Where
    place: Literal["home", "snoozed", "aside", "missing"]
    is_back: bool


class Target(NamedTuple):
    """A folder that something is about to be moved to, before the move."""

    folder: str
    uidvalidity: int
    uidnext: int


def find(connection: Connection, *, user_email: str, message_ids: Collection[str]) -> dict[str, Known]:
    """The entries of messages in any of the person's mailboxes, by their Message-IDs."""
    values = {"user_email": user_email, "message_ids": list(message_ids)}
    return {known.message_id: known for known in rows_as(execute(connection, "mailbox_messages/find", **values), Known)}


def list_at(
    connection: Connection, uids: Collection[int], *, mailbox_id: int, folder: str, uidvalidity: int
) -> dict[int, tuple[str, bool]]:
    """The Message-IDs of entries that lie in a folder, by their UIDs, and whether each is to be snoozed already."""
    values = {"uids": sorted(uids), "mailbox_id": mailbox_id, "folder": folder, "uidvalidity": uidvalidity}
    rows = execute(connection, "mailbox_messages/list_at", **values)
    return {row.uid: (row.message_id, row.is_wanted) for row in rows}


def notice(
    connection: Connection, sighting: Sighting, *, mailbox_id: int, fence: int, wanted: Where = "snoozed"
) -> int | None:
    """Enter a message that is to be snoozed, or follow it to where it is now; returns its entry. With `wanted` home, it
    is to be given back, unless its return is promised. None where the message belongs to another mailbox, or for a
    former owner."""
    values = {**asdict(sighting), "mailbox_id": mailbox_id, "fence": fence, "wanted": wanted}
    return execute(connection, "mailbox_messages/notice", **values).scalar_one_or_none()


def enter(connection: Connection, seen: Sequence[Sighting], *, mailbox_id: int) -> bool:
    """Enter messages that their owner snoozes on a page, so that the process that watches their mailbox moves them.
    Returns False, and nothing may be committed, where one belongs to another mailbox, or theirs is being
    disconnected."""
    values = {"seen": _as_json(seen), "mailbox_id": mailbox_id}
    return len(execute(connection, "mailbox_messages/enter", **values).all()) == len(seen)


def relocate(
    connection: Connection, seen: Sequence[Sighting], *, mailbox_id: int, wanted: Where, aside: str | None = None
) -> list[tuple[int, Where]]:
    """Have messages put `aside`, or from where they were seen to their home; returns the entry and the place of each
    that is to be moved."""
    values = {"seen": _as_json(seen), "mailbox_id": mailbox_id, "wanted": wanted, "aside": aside}
    return [(row.id, row.place) for row in execute(connection, "mailbox_messages/relocate", **values)]


def relocate_back(connection: Connection, moves: Sequence[tuple[int, str, str]], *, user_email: str) -> set[int]:
    """Undo that: the entry of each, its place then, and where it was wanted. Returns those that are to be moved
    back."""
    ids, places, wanted = zip(*moves, strict=True) if moves else ((), (), ())
    values = {"ids": list(ids), "places": list(places), "wanted": list(wanted), "user_email": user_email}
    return set(execute(connection, "mailbox_messages/relocate_back", **values).scalars())


def follow(
    connection: Connection, at: tuple[str, int, int], moved: tuple[str, int, int], *, mailbox_id: int, place: Where
) -> None:
    """A message was moved on a page, from and to a folder, UIDVALIDITY and UID: an entry that it has follows it."""
    names = ("folder", "uidvalidity", "uid")
    values = dict(zip(names, at, strict=True)) | dict(zip((f"new_{name}" for name in names), moved, strict=True))
    execute(connection, "mailbox_messages/follow", mailbox_id=mailbox_id, place=place, **values)


def _as_json(seen: Sequence[Sighting]) -> str:
    return json.dumps([asdict(one) for one in seen], default=datetime.isoformat)


def leave(connection: Connection, *, mailbox_id: int, fence: int) -> int:
    """Have everything brought back, as its owner disconnects the mailbox; returns of how many messages."""
    return len(execute(connection, "mailbox_messages/leave", mailbox_id=mailbox_id, fence=fence).all())


def list_work(connection: Connection, *, mailbox_id: int, snoozed_folder: str, batch_size: int) -> list[Entry]:
    """What is not where it should be, the oldest promise first; what is snoozed should be in `snoozed_folder`."""
    values = {"mailbox_id": mailbox_id, "snoozed_folder": snoozed_folder, "batch_size": batch_size}
    return rows_as(execute(connection, "mailbox_messages/list_work", **values), Entry)


def list_snoozed(connection: Connection, *, mailbox_id: int) -> list[Entry]:
    """What lies in a folder of ours, or did until it was missed."""
    return rows_as(execute(connection, "mailbox_messages/list_snoozed", mailbox_id=mailbox_id), Entry)


def list_in_folder(connection: Connection, *, mailbox_id: int, folder: str, uidvalidity: int) -> set[int]:
    """The UIDs of a folder that are entered already."""
    values = {"mailbox_id": mailbox_id, "folder": folder, "uidvalidity": uidvalidity}
    return set(execute(connection, "mailbox_messages/list_in_folder", **values).scalars())


def intend(connection: Connection, ids: Sequence[int], *, moving_to: Where, target: Target, fence: int) -> set[int]:
    """Write down that messages are about to be moved. Returns those that may be: none for a former owner."""
    values = {
        "ids": list(ids),
        "moving_to": moving_to,
        "target_folder": target.folder,
        "target_uidvalidity": target.uidvalidity,
        "target_uidnext": target.uidnext,
        "fence": fence,
    }
    return set(execute(connection, "mailbox_messages/intend", **values).scalars())


def abandon(connection: Connection, ids: Sequence[int], *, fence: int) -> None:
    """The move did not happen: the messages are where they were."""
    execute(connection, "mailbox_messages/abandon", ids=list(ids), fence=fence)


def stay(connection: Connection, ids: Sequence[int], *, home: str, fence: int) -> None:
    """Have messages moved to `home`, to stay there: only their reminders come."""
    execute(connection, "mailbox_messages/stay", ids=list(ids), home=home, fence=fence)


def settle(
    connection: Connection, uids: Mapping[int, int], *, place: Where, folder: str, uidvalidity: int, fence: int
) -> set[int]:
    """Write down where messages were seen: `uids` by their entries. Returns those that were due and are back: their
    returns stand in the ledger."""
    values = {
        "ids": list(uids),
        "uids": list(uids.values()),
        "place": place,
        "folder": folder,
        "uidvalidity": uidvalidity,
        "fence": fence,
    }
    return {row.id for row in execute(connection, "mailbox_messages/settle", **values) if row.returned}


def mark_missing(connection: Connection, ids: Sequence[int], *, fence: int) -> None:
    """Messages are not where they were, and not found yet."""
    execute(connection, "mailbox_messages/mark_missing", ids=list(ids), fence=fence)


def forget(connection: Connection, *, id: int, fence: int) -> bool:
    """The message is its owner's business again. Returns False for a former owner."""
    return execute(connection, "mailbox_messages/forget", id=id, fence=fence).first() is not None


def forget_given_back(connection: Connection, *, mailbox_id: int, domain: str, fence: int) -> None:
    """Forget messages of no snooze, with ids of this domain, that are back."""
    values = {"mailbox_id": mailbox_id, "domain": domain, "fence": fence}
    execute(connection, "mailbox_messages/forget_given_back", **values)


def next_returns(connection: Connection, *, owner: str) -> dict[int, float]:
    """Seconds until something is to be done in each mailbox of this owner, where anything is within two seconds."""
    return {row.id: float(row.seconds) for row in execute(connection, "mailbox_messages/next_returns", owner=owner)}


def prune(connection: Connection, *, batch_size: int) -> int:
    """Forget messages that are back since a month ago; returns how many."""
    return len(execute(connection, "mailbox_messages/prune", batch_size=batch_size).all())


def lock_chosen(connection: Connection, *, user_email: str, message_ids: Collection[str]) -> list[Locked]:
    """Lock messages of this person's connected mailboxes, in the order of their ids."""
    values = {"user_email": user_email, "message_ids": list(message_ids)}
    return rows_as(execute(connection, "mailbox_messages/lock_chosen", **values), Locked)


def want_back(connection: Connection, *, user_email: str, wanted: Sequence[tuple[int, str]]) -> None:
    """Want messages where they were wanted before, each by its id."""
    values = {"ids": [id for id, _ in wanted], "wanted": [place for _, place in wanted], "user_email": user_email}
    execute(connection, "mailbox_messages/want_back", **values)
