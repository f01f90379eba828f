"""Messages in the inbox of a connected mailbox that carry the flag which snoozes, and are left as they are: one
function per file in `sql/mailbox_flagged`, of the same name. What a former owner of the mailbox writes (`fence`)
changes nothing."""

from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import Connection

from snoozer.db.statements import execute


class Left(NamedTuple):
    """The UIDs that are left as they are, in this UIDVALIDITY; None where they were not noted yet."""

    uidvalidity: int | None
    uids: frozenset[int]


def read(connection: Connection, *, mailbox_id: int, fence: int) -> Left | None:
    """What is left as it is. None for a former owner."""
    row = execute(connection, "mailbox_flagged/read", mailbox_id=mailbox_id, fence=fence).first()
    return None if row is None else Left(row.uidvalidity, frozenset(row.uids))


def note(connection: Connection, uids: Collection[int], *, uidvalidity: int, mailbox_id: int, fence: int) -> None:
    """Leave these as they are, and no others: they carried the flag when it was chosen."""
    values = {"uids": sorted(uids), "uidvalidity": uidvalidity, "mailbox_id": mailbox_id, "fence": fence}
    execute(connection, "mailbox_flagged/note", **values)


def leave(connection: Connection, uids: Collection[int], *, uidvalidity: int, mailbox_id: int, fence: int) -> None:
    """Leave these as they are, too: they came with the flag."""
    values = {"uids": sorted(uids), "uidvalidity": uidvalidity, "mailbox_id": mailbox_id, "fence": fence}
    execute(connection, "mailbox_flagged/leave", **values)


def forget(connection: Connection, uids: Collection[int], *, mailbox_id: int, fence: int) -> None:
    """These carry the flag no more."""
    execute(connection, "mailbox_flagged/forget", uids=sorted(uids), mailbox_id=mailbox_id, fence=fence)
