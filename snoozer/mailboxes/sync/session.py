"""The context of one pass over a mailbox: the open connection, the database, and the mailbox's owner."""

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
from snoozer.mailboxes.imap.folder_meanings import Folder
from snoozer.mailboxes.imap.folders import OurFolders, Status
from snoozer.mailboxes.imap.messages import Fingerprint
from snoozer.queue.reminder import UncertainPolicy
from snoozer.runtime.failpoint import FailpointHook

INBOX = "INBOX"
NO_LOOKUPS = UncertainPolicy(hold=timedelta(0))


class NoticeSender(NamedTuple):
    """The sender of notices in a mailbox: MAIL_FROM, and the name of this Snoozer."""

    mail_from: str
    instance: str


class OwnerChanged(Exception):
    """Another process owns the mailbox now: this one must not change anything any more."""


@dataclass(kw_only=True)
class Session:
    """`folders` are the folders as last listed, `ours` the folders that Snoozer created, and `snoozed_uids` the UIDs in
    the folder of snoozed messages, as last read. `uncertainty` is the policy for reminders that may have been sent.
    Work that takes longer than `ends_at` (of the monotonic clock) continues in the next turn. `sought` are the folders
    in which a missing message (its entry's id) was not found, with their statuses at that time. `origin` is the folder
    from which messages were moved into ours since the last look. `failpoint` is called at each step with the message's
    Message-ID.

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
    origin: str = INBOX

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
        """Whether this turn should end at the next opportunity."""
        return time.monotonic() >= self.ends_at

    def names(self, special_use: str) -> list[str]:
        """The folders with this special use (RFC 6154)."""
        return [folder.name for folder in self.folders if special_use in folder.special_use and folder.selectable]


def fingerprint(entry: Entry) -> Fingerprint:
    """The marks by which an entry's message is found again in any folder."""
    return Fingerprint(
        message_id=entry.header_id, sha256=entry.fingerprint, size=entry.size, internaldate=entry.internal_date
    )
