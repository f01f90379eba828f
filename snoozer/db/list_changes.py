"""Which lists changed since they were shown: one function per statement in `sql/snoozes/list_changes`, of the same
name.

A page holds the snapshot of the database that it was made with (`pg_current_snapshot`), which tells of each transaction
whether the page shows its changes, in whatever order transactions were committed.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import Any

from sqlalchemy import Connection, Row

from snoozer.db.statements import execute

# A transaction's id is a number of 64 bits, and the wraparound of 63 is some hundred thousand years away.
_MAX_ID = 2**63
# A snapshot names each transaction that was running. It is sent in a URL.
MAX_SNAPSHOT_LENGTH = 4_000
MAX_NAMED = 20

_SNAPSHOT = re.compile(r"(\d{1,19}):(\d{1,19}):((?:\d{1,19}(?:,\d{1,19})*)?)", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Present:
    """The time, and a snapshot: later reads in the transaction see at least the same."""

    now: datetime
    snapshot: str


@dataclass(frozen=True, kw_only=True)
class OpenList:
    """A list in a browser: the hash of its session's token, and the snapshot that it shows."""

    token_hash: str
    snapshot: str


@dataclass(frozen=True, kw_only=True)
class Changes:
    """Transactions that changed the list and are not visible in `snapshot`. `transaction_ids` is None if they are
    unknown or too many to name."""

    snapshot: str
    is_signed_in: bool
    transaction_ids: tuple[int, ...] | None

    @property
    def is_changed(self) -> bool:
        """Whether the list lacks a change, or may lack one."""
        return self.transaction_ids is None or len(self.transaction_ids) > 0

    def after(self, earlier: "Changes | None") -> "Changes":
        """These and earlier ones."""
        if earlier is None or self.transaction_ids is None:
            return self
        ids = None if earlier.transaction_ids is None else (*earlier.transaction_ids, *self.transaction_ids)
        return replace(self, transaction_ids=None if ids is None or len(ids) > MAX_NAMED else ids)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Changes for each list, in the order asked for. Without a checkpoint no changes are known; `begin` takes one."""

    changes: list[Changes]
    has_checkpoint: bool


# The snapshot of a page whose snapshot is unknown; it has seen nothing.
UNKNOWN = "1:1:"


def is_snapshot(text: str) -> bool:
    """Whether Postgres accepts the text as a snapshot."""
    match = _SNAPSHOT.fullmatch(text) if len(text) <= MAX_SNAPSHOT_LENGTH else None
    if match is None:
        return False
    begins, ends = int(match[1]), int(match[2])
    running = [int(id) for id in match[3].split(",")] if match[3] else []
    return (
        0 < begins <= ends < _MAX_ID
        and all(one < other for one, other in pairwise(running))
        and (not running or (begins <= running[0] and running[-1] < ends))
    )


def present(connection: Connection) -> Present:
    return Present(**execute(connection, "list_changes/present").one()._mapping)


def find(connection: Connection, lists: Sequence[OpenList]) -> Answer:
    """Find the changes of all lists by one query; there is at least one list."""
    rows = execute(
        connection,
        "list_changes/find",
        token_hashes=[one.token_hash for one in lists],
        snapshots=[one.snapshot for one in lists],
        most=MAX_NAMED,
    ).all()
    return Answer(changes=[_changes(row) for row in rows], has_checkpoint=rows[0].has_checkpoint)


def begin(connection: Connection) -> None:
    execute(connection, "list_changes/begin")


def advance(connection: Connection) -> None:
    execute(connection, "list_changes/advance")


def prune(connection: Connection, *, batch_size: int) -> int:
    """Returns how many notes were deleted."""
    return len(execute(connection, "list_changes/prune", batch_size=batch_size).all())


def _changes(row: Row[Any]) -> Changes:
    is_named = row.is_known and len(row.transaction_ids) <= MAX_NAMED
    return Changes(
        snapshot=row.snapshot,
        is_signed_in=row.is_signed_in,
        transaction_ids=tuple(dict.fromkeys(row.transaction_ids)) if is_named else None,
    )
