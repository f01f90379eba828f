"""Messages in the inbox of a connected mailbox that carry the snooze flag and must not be snoozed: one function per
statement in `sql/mailboxes/mailbox_flagged`, of the same name. Writes by a former owner of the mailbox (`fence`)
change nothing."""

from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import Connection

from snoozer.db.statements import execute


class Left(NamedTuple):
    """The UIDs to leave alone, in this UIDVALIDITY; None if they were not noted yet."""

    uidvalidity: int | None
    uids: frozenset[int]


def read(connection: Connection, *, mailbox_id: int, fence: int) -> Left | None:
    """The messages to leave alone. None for a former owner."""
    row = execute(connection, "mailbox_flagged/read", mailbox_id=mailbox_id, fence=fence).first()
    return None if row is None else Left(row.uidvalidity, frozenset(row.uids))


def note(connection: Connection, uids: Collection[int], *, uidvalidity: int, mailbox_id: int, fence: int) -> None:
    """Leave these alone, and no others: they carried the flag when it was chosen."""
    values = {"uids": sorted(uids), "uidvalidity": uidvalidity, "mailbox_id": mailbox_id, "fence": fence}
    execute(connection, "mailbox_flagged/note", **values)


def leave(connection: Connection, uids: Collection[int], *, uidvalidity: int, mailbox_id: int, fence: int) -> None:
    """Leave these alone, too: they arrived with the flag."""
    values = {"uids": sorted(uids), "uidvalidity": uidvalidity, "mailbox_id": mailbox_id, "fence": fence}
    execute(connection, "mailbox_flagged/leave", **values)


def forget(connection: Connection, uids: Collection[int], *, mailbox_id: int, fence: int) -> None:
    """Forget these: they no longer carry the flag."""
    execute(connection, "mailbox_flagged/forget", uids=sorted(uids), mailbox_id=mailbox_id, fence=fence)
