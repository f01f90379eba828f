"""The mailboxes that this process owns. It reports every second; a process that is silent, or known to be dead,
loses its mailboxes to the others."""

import time
from dataclasses import dataclass, field
from datetime import timedelta

from sqlalchemy import Connection, Engine

from snoozer.db import mailbox_leases
from snoozer.db.mailbox_leases import OwnedMailbox
from snoozer.runtime.process_identity import is_dead

REPORT_SECONDS = 1.0
# How long a process that does not report keeps its mailboxes. Only a process that has reported all that time itself is
# sure: after an outage of the database every process was silent, and a mailbox that changes hands is signed in again.
SILENCE, UNSURE_SILENCE = timedelta(seconds=3), timedelta(seconds=15)
# The leases in the rows of mailboxes are longer, so that they are seldom rewritten.
LEASE = timedelta(seconds=60)
RENEW_SECONDS = 20.0


@dataclass(frozen=True)
class News:
    """The mailboxes that this process lost and took since the last call."""

    lost: set[int] = field(default_factory=set)
    taken: list[OwnedMailbox] = field(default_factory=list)


class Ownership:
    """The mailboxes of the process `owner`. Raises SQLAlchemyError while the database is away: the owned mailboxes are
    listed again once it is back, and until then the fence prevents changes."""

    def __init__(self, engine: Engine, *, owner: str, retry: timedelta) -> None:
        self.owner = owner
        self._engine, self._retry = engine, retry
        self._report_at = self._renew_at = self._reports_since = 0.0

    def keep(self, watched: dict[int, OwnedMailbox]) -> News:
        """Report periodically, and compare the `watched` mailboxes with the owned ones."""
        now = time.monotonic()
        if now < self._report_at:
            return News()
        if now > self._report_at + REPORT_SECONDS:
            self._reports_since = now
        is_sure = now >= self._reports_since + SILENCE.total_seconds()
        silence = SILENCE if is_sure else UNSURE_SILENCE
        with self._engine.begin() as connection:
            mailbox_leases.report(connection, owner=self.owner)
            self._release_dead(connection)
            if now >= self._renew_at:
                mailbox_leases.renew(connection, owner=self.owner, lease=LEASE, silence=silence)
            owned = mailbox_leases.list_owned(connection, owner=self.owner)
            lost = {id for id, mailbox in watched.items() if owned.get(id) != (mailbox.fence, mailbox.is_closed)}
            for id in owned:
                if id in lost or id not in watched:
                    # The database has it as ours, but in another state than we watch: give it back in order to take it
                    # again.
                    mailbox_leases.give_back(connection, owner=self.owner, id=id)
            taken = mailbox_leases.take(connection, owner=self.owner, lease=LEASE, silence=silence, retry=self._retry)
        self._report_at = now + REPORT_SECONDS
        if now >= self._renew_at:
            self._renew_at = now + RENEW_SECONDS
        return News(lost, taken)

    def end(self) -> None:
        """Give everything back."""
        with self._engine.begin() as connection:
            mailbox_leases.give_back(connection, owner=self.owner)

    def _release_dead(self, connection: Connection) -> None:
        dead = [name for name in mailbox_leases.list_watchers(connection) if name != self.owner and is_dead(name)]
        if dead:
            mailbox_leases.release_dead(connection, dead)
