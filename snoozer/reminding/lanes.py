"""Which due snoozes a worker takes next: high priorities first, no person in front of all others, no old index entries.

One cycle claims, for each priority from the highest down, what room is left in the batch. A lower priority always gets
a tenth of a batch, so it moves however much lies above it. When some persons' rows fill a claim (a crowd), the cycle
claims once more without those persons. For a while the cycles that follow claim without them first; they get what room
is left, a tenth at the least.
"""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy import Connection

from snoozer.domain.reminder import Claim
from snoozer.postgres import queue
from snoozer.postgres.statements import each, run
from snoozer.reminding.cursor import SWEEP_SECONDS, Lagging, Strict

KNOWN_SCHEMA = 1
TRICKLE = 10
SHARE = 10
MOST_CLAIMS = 9
STEAL_AFTER = timedelta(seconds=2)


@dataclass(frozen=True, kw_only=True)
class Level:
    """A priority of something that is due `now`, by the database's clock."""

    priority: int
    now: datetime


@dataclass
class Way:
    """How far claims of one priority have come: those of everyone, and those without the persons of a crowd."""

    everyone: Lagging = field(default_factory=Lagging)
    beside: Strict = field(default_factory=Strict)
    crowd: list[str] = field(default_factory=list)
    met: float = float("-inf")

    def remember(self, crowd: Sequence[str], *, now: float) -> None:
        if not self.crowd:
            self.met = now
        self.crowd += crowd

    def forget(self, *, now: float) -> None:
        """Who was a crowd some time ago may be none any more; the next claim tells."""
        if now - self.met >= SWEEP_SECONDS:
            self.crowd = []


class Lanes:
    """One worker's way through the queue. `buckets` are the ones it looks after, None for all of them."""

    def __init__(self, *, worker: str, lease: timedelta) -> None:
        self._worker = worker
        self._lease = lease
        self._ways: dict[int, Way] = {}
        self.buckets: list[int] | None = None

    def claim(self, connection: Connection, *, batch_size: int) -> list[Claim]:
        """One cycle: a batch, and what fairness adds (a tenth for each lower priority, a batch beside a crowd)."""
        taken: list[Claim] = []
        for level in _levels(connection):
            room = max(batch_size - len(taken), batch_size // TRICKLE, 1)
            taken += self._claim_fairly(connection, level, room=room)
        return taken

    def claim_one(self, connection: Connection) -> list[Claim]:
        """The row that is next, and no other: the probe of a breaker. A suspect when nothing else is due."""
        return self._claim_first(connection, suspects=False) or self.claim_suspect(connection)

    def claim_suspect(self, connection: Connection) -> list[Claim]:
        """One row that lost a worker before, to be delivered alone."""
        return self._claim_first(connection, suspects=True)

    def _claim_first(self, connection: Connection, *, suspects: bool) -> list[Claim]:
        for level in _levels(connection):
            found = self._claim(connection, priority=level.priority, room=1, suspects=suspects)
            if found:
                return found
        return []

    def _claim_fairly(self, connection: Connection, level: Level, *, room: int) -> list[Claim]:
        way = self._ways.setdefault(level.priority, Way())
        way.forget(now=time.monotonic())
        known = bool(way.crowd)
        taken: list[Claim] = []
        for _ in range(MOST_CLAIMS):
            look = self._claim_beside if way.crowd else self._claim_everyone
            found = look(connection, level, way, room=room)
            taken += found
            crowd = _crowd(found, room=room)
            if not crowd:
                break
            way.remember(crowd, now=time.monotonic())
        if known:
            left = max(room - len(taken), room // SHARE, 1)
            taken += self._claim_everyone(connection, level, way, room=left)
        return taken

    def _claim_everyone(self, connection: Connection, level: Level, way: Way, *, room: int) -> list[Claim]:
        after = way.everyone.start(time.monotonic())
        found = self._claim(connection, priority=level.priority, room=room, after=after)
        way.everyone.move(found)
        return found

    def _claim_beside(self, connection: Connection, level: Level, way: Way, *, room: int) -> list[Claim]:
        began = time.monotonic()
        after = way.beside.start(began)
        found = self._claim(connection, priority=level.priority, room=room, after=after, crowd=way.crowd)
        way.beside.move(found, room=room, until=level.now, began=began, ended=time.monotonic())
        return found

    def _claim(
        self,
        connection: Connection,
        *,
        priority: int,
        room: int,
        after: queue.Place | None = None,
        crowd: Sequence[str] = (),
        suspects: bool = False,
    ) -> list[Claim]:
        return queue.claim(
            connection,
            worker=self._worker,
            batch_size=room,
            lease=self._lease,
            priority=priority,
            suspects=suspects,
            after=after,
            crowd=crowd,
            buckets=self.buckets,
            steal_after=STEAL_AFTER,
            known_schema=KNOWN_SCHEMA,
        )


def _levels(connection: Connection) -> list[Level]:
    return each(run(connection, "waiting/levels"), Level)


def _crowd(claims: Sequence[Claim], *, room: int) -> list[str]:
    """The persons whose rows took more than their share of a full claim."""
    if len(claims) < room:
        return []
    share = max(room // SHARE, 1)
    counts = Counter(claim.user_email for claim in claims)
    return [person for person, count in counts.items() if count > share]
