"""What one pass over a mailbox works with: the open connection, the database, and whose mailbox it is."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import NamedTuple

from sqlalchemy import Connection, Engine

from snoozer.db.engine import autocommit
from snoozer.db.mailbox_leases import OwnedMailbox
from snoozer.db.mailbox_store import Entry
from snoozer.mailboxes.imap.connection import Connection as ImapConnection
from snoozer.mailboxes.imap.connection import no_failpoint
from snoozer.mailboxes.imap.folder_names import Folder
from snoozer.mailboxes.imap.folders import OurFolders, Status
from snoozer.mailboxes.imap.messages import Fingerprint
from snoozer.queue.ledger import UncertainPolicy
from snoozer.runtime.failpoint import FailpointHook

INBOX = "INBOX"
NO_LOOKUPS = UncertainPolicy(hold=timedelta(0))


class NoticeSender(NamedTuple):
    """From whom notices in a mailbox are: MAIL_FROM, and the name of this Snoozer."""

    mail_from: str
    instance: str


class OwnerChanged(Exception):
    """Another process owns the mailbox now: this one must change nothing any more."""


@dataclass(kw_only=True)
class Session:
    """`folders` are as last listed, `ours` those that Snoozer made, and `snoozed_uids` what lies in the one of what is
    snoozed, as last read. `uncertainty` is what is done about reminders that may have been sent. What takes longer than
    `ends_at` (of the monotonic clock) goes on in the next turn. `sought` are the folders in which a missing message
    (its entry's id) was not found, as they were then. `failpoint` is called at each step with the message's Message-ID.

    The database's transactions are short: none is open while the mail server thinks.
    """

    engine: Engine
    mailbox: OwnedMailbox
    imap: ImapConnection
    ours: OurFolders
    sender: NoticeSender
    uncertainty: UncertainPolicy = NO_LOOKUPS
    folders: list[Folder] = field(default_factory=list)
    ends_at: float = float("inf")
    sought: dict[int, dict[str, Status]] = field(default_factory=dict)
    snoozed_uids: frozenset[int] = frozenset()
    failpoint: FailpointHook = no_failpoint

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        with self.engine.begin() as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """For one statement that only reads: one round trip instead of three."""
        with autocommit(self.engine) as connection:
            yield connection

    @property
    def fence(self) -> int:
        return self.mailbox.fence

    @property
    def is_late(self) -> bool:
        """Whether this turn should end where it can."""
        return time.monotonic() >= self.ends_at

    def names(self, special_use: str) -> list[str]:
        """The folders with this special use (RFC 6154)."""
        return [folder.name for folder in self.folders if special_use in folder.special_use and folder.selectable]


def fingerprint(entry: Entry) -> Fingerprint:
    """What the message of an entry is known by, wherever it is."""
    return Fingerprint(
        message_id=entry.header_id, sha256=entry.fingerprint, size=entry.size, internaldate=entry.internal_date
    )
