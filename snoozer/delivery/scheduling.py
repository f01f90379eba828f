"""Where in the order of promises a claim begins, so that it does not walk past the same index entries each time.

Now and then a claim looks at everything: a sweep. It finds what was inserted, released or unlocked behind the cursor.
"""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy import Connection

from snoozer.db import queue
from snoozer.db.queue import Position
from snoozer.db.statements import execute, rows_as
from snoozer.domain.reminder import Claim

LAG = timedelta(seconds=30)
SWEEP_SECONDS = 2.0
# A sweep that was long is not made again before so many times its length have passed.
SWEEP_SPACING = 10
MAX_ID = 2**63 - 1


class TrailingCursor:
    """Starts where the last claim started, less a lag: behind that lie only the dead entries of rows that are gone."""

    def __init__(self) -> None:
        self.after: Position | None = None
        self.swept = float("-inf")

    def start(self, now: float) -> Position | None:
        """The place after which to look; None for everything."""
        if now - self.swept >= SWEEP_SECONDS:
            self.swept = now
            return None
        return self.after

    def advance(self, claims: Sequence[Claim]) -> None:
        """These were found."""
        if claims:
            self.after = (min(claim.remind_at for claim in claims) - LAG, 0)


class ExactCursor:
    """Starts where the last claim ended: behind that lie the rows of those who are left out, however many."""

    def __init__(self) -> None:
        self._after: Position | None = None
        self._due = float("-inf")

    def start(self, now: float) -> Position | None:
        """The place after which to look; None for everything."""
        return None if now >= self._due else self._after

    def advance(self, claims: Sequence[Claim], *, room: int, until: datetime, began: float, ended: float) -> None:
        """These were found, `room` at the most, among what was due at `until`, in a claim that took from `began` to
        `ended`."""
        if began >= self._due:
            self._due = ended + min(SWEEP_SECONDS, SWEEP_SPACING * (ended - began))
        full = len(claims) >= room
        self._after = max((claim.remind_at, claim.id) for claim in claims) if full else (until, MAX_ID)


SUPPORTED_SCHEMA = 1
MIN_SHARE = 10
FAIR_SHARE = 10
MAX_CLAIMS = 9
STEAL_AFTER = timedelta(seconds=2)


@dataclass(frozen=True, kw_only=True)
class PriorityLevel:
    """A priority of something that is due `now`, by the database's clock."""

    priority: int
    now: datetime


@dataclass
class LevelCursors:
    """How far claims of one priority have come: those of everyone, and those without the persons of a crowd."""

    trailing: TrailingCursor = field(default_factory=TrailingCursor)
    exact: ExactCursor = field(default_factory=ExactCursor)
    heavy_users: list[str] = field(default_factory=list)
    heavy_since: float = float("-inf")

    def add_heavy_users(self, crowd: Sequence[str], *, now: float) -> None:
        if not self.heavy_users:
            self.heavy_since = now
        self.heavy_users += crowd

    def expire_heavy_users(self, *, now: float) -> None:
        """Who was a crowd some time ago may be none any more; the next claim tells."""
        if now - self.heavy_since >= SWEEP_SECONDS:
            self.heavy_users = []


class FairScheduler:
    """One worker's way through the queue. `buckets` are the ones it looks after, None for all of them."""

    def __init__(self, *, worker: str, lease: timedelta) -> None:
        self._worker = worker
        self._lease = lease
        self._cursors: dict[int, LevelCursors] = {}
        self.buckets: list[int] | None = None

    def claim_batch(self, connection: Connection, *, batch_size: int) -> list[Claim]:
        """One cycle: a batch, and what fairness adds (a tenth for each lower priority, a batch beside a crowd)."""
        taken: list[Claim] = []
        for level in _due_priorities(connection):
            room = max(batch_size - len(taken), batch_size // MIN_SHARE, 1)
            taken += self._claim_fairly(connection, level, room=room)
        return taken

    def claim_one(self, connection: Connection) -> list[Claim]:
        """The row that is next, and no other: the probe of a breaker. A suspect when nothing else is due."""
        return self._claim_first(connection, suspects=False) or self.claim_poison_row(connection)

    def claim_poison_row(self, connection: Connection) -> list[Claim]:
        """One row that lost a worker before, to be delivered alone."""
        return self._claim_first(connection, suspects=True)

    def _claim_first(self, connection: Connection, *, suspects: bool) -> list[Claim]:
        for level in _due_priorities(connection):
            found = self._claim(connection, priority=level.priority, room=1, suspects=suspects)
            if found:
                return found
        return []

    def _claim_fairly(self, connection: Connection, level: PriorityLevel, *, room: int) -> list[Claim]:
        way = self._cursors.setdefault(level.priority, LevelCursors())
        way.expire_heavy_users(now=time.monotonic())
        known = bool(way.heavy_users)
        taken: list[Claim] = []
        for _ in range(MAX_CLAIMS):
            look = self._claim_without_heavy_users if way.heavy_users else self._claim_everyone
            found = look(connection, level, way, room=room)
            taken += found
            crowd = _heavy_users(found, room=room)
            if not crowd:
                break
            way.add_heavy_users(crowd, now=time.monotonic())
        if known:
            left = max(room - len(taken), room // FAIR_SHARE, 1)
            taken += self._claim_everyone(connection, level, way, room=left)
        return taken

    def _claim_everyone(
        self, connection: Connection, level: PriorityLevel, way: LevelCursors, *, room: int
    ) -> list[Claim]:
        after = way.trailing.start(time.monotonic())
        found = self._claim(connection, priority=level.priority, room=room, after=after)
        way.trailing.advance(found)
        return found

    def _claim_without_heavy_users(
        self, connection: Connection, level: PriorityLevel, way: LevelCursors, *, room: int
    ) -> list[Claim]:
        began = time.monotonic()
        after = way.exact.start(began)
        found = self._claim(connection, priority=level.priority, room=room, after=after, crowd=way.heavy_users)
        way.exact.advance(found, room=room, until=level.now, began=began, ended=time.monotonic())
        return found

    def _claim(
        self,
        connection: Connection,
        *,
        priority: int,
        room: int,
        after: queue.Position | None = None,
        crowd: Sequence[str] = (),
        suspects: bool = False,
    ) -> list[Claim]:
        return queue.claim(
            connection,
            worker=self._worker,
            batch_size=room,
            lease=self._lease,
            priority=priority,
            poison_rows=suspects,
            after=after,
            heavy_users=crowd,
            buckets=self.buckets,
            steal_after=STEAL_AFTER,
            known_schema=SUPPORTED_SCHEMA,
        )


def _due_priorities(connection: Connection) -> list[PriorityLevel]:
    return rows_as(execute(connection, "peek/priorities"), PriorityLevel)


def _heavy_users(claims: Sequence[Claim], *, room: int) -> list[str]:
    """The persons whose rows took more than their share of a full claim."""
    if len(claims) < room:
        return []
    share = max(room // FAIR_SHARE, 1)
    counts = Counter(claim.user_email for claim in claims)
    return [person for person, count in counts.items() if count > share]
