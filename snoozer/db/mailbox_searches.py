"""Searches for the messages of snoozes that programs made: one function per statement in
`sql/mailboxes/mailbox_searches`, of the same name. Reports by a former owner of a mailbox (`fence`) change nothing."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection

from snoozer.db.mailbox_store import Sighting
from snoozer.db.statements import execute, rows_as


@dataclass(frozen=True, kw_only=True)
class Search:
    """A snooze whose message is to be searched for; if `whole`, older messages of its conversation leave with it."""

    snooze_id: int
    user_email: str
    message_id: str
    whole: bool


class Result(NamedTuple):
    """How many messages a mailbox has for a snooze. If it is one: its place, and the places of its older messages."""

    snooze_id: int
    mailbox_id: int
    found: int
    seen: list[Sighting]


def choose(connection: Connection, *, snooze_id: int, mailbox_ids: Collection[int] | None, whole: bool) -> None:
    """Search for the message of a snooze in these mailboxes alone, unless the message is known; in all if that is None.
    If `whole`, older messages of its conversation leave with it."""
    chosen = None if mailbox_ids is None else sorted(mailbox_ids)
    execute(connection, "mailbox_searches/choose", snooze_id=snooze_id, mailbox_ids=chosen, whole=whole)


def prune(connection: Connection, *, mailbox_id: int, is_closed: bool) -> None:
    """Forget the searches of a mailbox that have nothing to find; all if its owner's account `is_closed`."""
    execute(connection, "mailbox_searches/prune", mailbox_id=mailbox_id, is_closed=is_closed)


def list_open(connection: Connection, *, mailbox_id: int, above: int, batch_size: int) -> list[Search]:
    """The searches to do in a mailbox, of snoozes with an id `above` this one, in the order of their ids."""
    values = {"mailbox_id": mailbox_id, "above": above, "batch_size": batch_size}
    return rows_as(execute(connection, "mailbox_searches/list_open", **values), Search)


def lock(connection: Connection, snooze_ids: Collection[int]) -> set[int]:
    """Lock snoozes; returns the live ones."""
    return set(execute(connection, "mailbox_searches/lock", snooze_ids=sorted(snooze_ids)).scalars())


def report(
    connection: Connection, found: Mapping[int, Sequence[Sequence[Sighting]]], *, mailbox_id: int, fence: int
) -> set[int]:
    """Record what was found for each snooze: each message, followed by older ones to leave with it. Returns the snoozes
    whose search goes on: none for a former owner."""
    results = [
        {"snooze_id": id, "found": len(seen), "seen": list(map(asdict, seen[0])) if len(seen) == 1 else None}
        for id, seen in found.items()
    ]
    values = {"results": json.dumps(results, default=datetime.isoformat), "mailbox_id": mailbox_id, "fence": fence}
    return set(execute(connection, "mailbox_searches/report", **values).scalars())


def decide(connection: Connection, snooze_ids: Collection[int]) -> list[Result]:
    """End the searches that are complete; returns the results of their mailboxes."""
    rows = execute(connection, "mailbox_searches/decide", snooze_ids=sorted(snooze_ids))
    return [Result(row.snooze_id, row.mailbox_id, row.found, list(map(_sighting, row.seen or ()))) for row in rows]


def _sighting(seen: dict[str, Any]) -> Sighting:
    return Sighting(**{**seen, "internal_date": datetime.fromisoformat(seen["internal_date"])})
