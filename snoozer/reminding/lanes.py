"""Which due snoozes a worker takes next: high priorities first, no person in front of all others, no old index entries.

One cycle claims, for each priority from the highest down, what room is left in the batch. A lower priority always gets
a tenth of a batch, so it moves however much lies above it. When some persons' rows fill a claim, the cycle claims once
more without those persons. While there is much to do, a claim starts where the last one started, less a lag, because
behind it lie only the dead entries of rows that are gone; every few seconds one claim looks at everything.
"""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy import Connection

from snoozer.domain.reminder import Claim
from snoozer.postgres import queue
from snoozer.postgres.statements import run

KNOWN_SCHEMA = 1
TRICKLE = 10
SHARE = 10
MOST_CLAIMS = 9
LAG = timedelta(seconds=30)
SWEEP_SECONDS = 2.0
STEAL_AFTER = timedelta(seconds=2)


@dataclass
class Cursor:
    """Where the next claim of one lane starts; from the very beginning when it is time for that."""

    since: datetime | None = None
    swept: float = field(default=float("-inf"))

    def start(self, now: float) -> datetime | None:
        if now - self.swept >= SWEEP_SECONDS:
            self.swept = now
            return None
        return self.since

    def move(self, claims: Sequence[Claim]) -> None:
        if claims:
            self.since = min(claim.remind_at for claim in claims) - LAG


class Lanes:
    """One worker's way through the queue. `buckets` are the ones it looks after, None for all of them."""

    def __init__(self, *, worker: str, lease: timedelta) -> None:
        self._worker = worker
        self._lease = lease
        self._cursors: dict[tuple[int, bool], Cursor] = {}
        self.buckets: list[int] | None = None

    def claim(self, connection: Connection, *, batch_size: int) -> list[Claim]:
        """One cycle: a batch, and what fairness adds (a tenth for each lower priority, a batch beside a crowd)."""
        taken: list[Claim] = []
        for priority in _levels(connection):
            room = max(batch_size - len(taken), batch_size // TRICKLE, 1)
            taken += self._claim_fairly(connection, priority=priority, room=room)
        return taken

    def claim_one(self, connection: Connection) -> list[Claim]:
        """The row that is next, and no other: the probe of a breaker."""
        return self._claim_first(connection, suspects=False)

    def claim_suspect(self, connection: Connection) -> list[Claim]:
        """One row that lost a worker before, to be delivered alone."""
        return self._claim_first(connection, suspects=True)

    def _claim_first(self, connection: Connection, *, suspects: bool) -> list[Claim]:
        for priority in _levels(connection):
            found = self._claim(connection, priority=priority, room=1, suspects=suspects)
            if found:
                return found
        return []

    def _claim_fairly(self, connection: Connection, *, priority: int, room: int) -> list[Claim]:
        taken: list[Claim] = []
        crowds: list[str] = []
        for _ in range(MOST_CLAIMS):
            cursor = self._cursors.setdefault((priority, bool(crowds)), Cursor())
            found = self._claim(
                connection, priority=priority, room=room, since=cursor.start(time.monotonic()), crowds=crowds
            )
            cursor.move(found)
            taken += found
            crowded = _crowds(found, room=room)
            if not crowded:
                break
            crowds += crowded
        return taken

    def _claim(
        self,
        connection: Connection,
        *,
        priority: int,
        room: int,
        since: datetime | None = None,
        crowds: Sequence[str] = (),
        suspects: bool = False,
    ) -> list[Claim]:
        return queue.claim(
            connection,
            worker=self._worker,
            batch_size=room,
            lease=self._lease,
            priority=priority,
            suspects=suspects,
            since=since,
            crowds=crowds,
            buckets=self.buckets,
            steal_after=STEAL_AFTER,
            known_schema=KNOWN_SCHEMA,
        )


def _levels(connection: Connection) -> list[int]:
    return list(run(connection, "waiting/levels").scalars())


def _crowds(claims: Sequence[Claim], *, room: int) -> list[str]:
    """The persons whose rows took more than their share of a full claim."""
    if len(claims) < room or room < SHARE:
        return []
    counts = Counter(claim.user_email for claim in claims)
    return [person for person, count in counts.items() if count > room // SHARE]
