"""Claim due snoozes with their mails: which rows are next, and one transaction that takes them.

Rows come by priority and fairly between users, without rescanning the index. Users with more than a tenth of a full
batch are heavy users; once known, the others are claimed before them. Rows with a serialization key, and rows that lost
a worker, have lanes of their own.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from snoozer.db.errors import is_conflict, is_timeout
from snoozer.db.schema import SUPPORTED_SCHEMA
from snoozer.queue import digests, ledger, queue
from snoozer.queue.limits import DEFAULT_PRIORITY, MAX_PRIORITY
from snoozer.queue.queue import Buckets, Claims, Lane, Position, PriorityLevel
from snoozer.queue.reminder import Claim, Send, UncertainPolicy
from snoozer.runtime.failpoint import FailpointHook

log = logging.getLogger(__name__)

ROUTE = "worker"
MAX_CONFLICTS = 3

# Divisors of a batch: the minimum for lower priorities, the default one and the one in turn; how much one user may take
# before being a heavy user; the size of a lane's claim after a timeout; rows in flight that lost one worker.
DEFAULT_SHARE, MIN_SHARE = 3, 10
FAIR_SHARE, NARROW_SHARE, CRASHED_SHARE = 10, 8, 8
MAX_CLAIMS = 9
# How many priorities a cycle looks at from the highest down; others in rotation, and always the default priority.
MAX_LEVELS = 3
PROBE_LEVELS = 50
STEAL_AFTER = timedelta(seconds=2)

# How far behind now() to scan again: transactions may take this long from their now() to their commit.
OVERLAP = timedelta(seconds=2)
# Every SWEEP_SECONDS a claim scans the whole index, for rows inserted, released or unlocked behind its cursor.
LAG = timedelta(seconds=30)
SWEEP_SECONDS = 2.0
# After a sweep of t seconds, the next one comes after SWEEP_SPACING * t seconds at the earliest.
SWEEP_SPACING = 10
MAX_ID = 2**63 - 1
# Rows read in each cycle by a sweep without heavy users, and how long a lane's claims are narrow after a timeout.
ROWS_PER_SWEEP = 5000
NARROW_SECONDS = 30.0


def no_failpoint(step: str, message_id: str) -> None:
    """The default: no failpoint fires."""


@dataclass(frozen=True, kw_only=True)
class DeliveryConfig:
    """One worker's settings. `deadline` is for one delivery, in seconds; `domain` is the right side of Message-IDs."""

    worker: str
    domain: str
    lease: timedelta
    uncertainty: UncertainPolicy
    first_delay: timedelta
    deadline: float
    any_timeline: bool = False
    claims_nothing: bool = False

    @property
    def actor(self) -> str:
        return f"worker:{self.worker}"


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """A claim and its mail; no mail if none must be sent now.

    If it was read ahead, it has the `version` of its row, which is claimed with its dot, and is `due` then by the
    monotonic clock.
    """

    claim: Claim
    send: Send | None
    version: str | None = None
    due: float = 0.0


class TrailingCursor:
    """Starts a lag before the earliest row of the last claim: before that lie only dead index entries.

    With `rows_return`, rows may reappear there at any time, and it sweeps as often as that is cheap.
    """

    def __init__(self, *, rows_return: bool = False) -> None:
        self.after: Position | None = None
        self._rows_return = rows_return
        self._sweep_at = float("-inf")

    def start(self, now: float) -> Position | None:
        """The position after which to claim; None for a sweep."""
        if now < self._sweep_at:
            return self.after
        self._sweep_at = now + SWEEP_SECONDS
        return None

    def advance(self, claims: Sequence[Claim], *, began: float = 0.0, ended: float = 0.0) -> None:
        """Move past the claims that were made from there, between `began` and `ended`."""
        if claims:
            self.after = (min(claim.remind_at for claim in claims) - LAG, 0)
        if self._rows_return:
            self._sweep_at = min(self._sweep_at, ended + SWEEP_SPACING * (ended - began))


class ExactCursor:
    """Starts where the last claim ended: before that lie the rows of the heavy users it skipped, however many.

    Sweeps look there for other rows, from `swept` on and some rows in each cycle.
    """

    def __init__(self) -> None:
        self.after: Position | None = None
        self.swept: Position | None = None
        self._sweep_at = float("-inf")

    def advance(self, claims: Sequence[Claim], *, full: bool, until: datetime) -> None:
        """Move past the claims of rows that were due at `until`; `full` if there may be more."""
        self.after = _end_of(claims, full=full, otherwise=(until, MAX_ID), start=self.after)

    def is_sweep_due(self, now: float) -> bool:
        return self.swept is not None or now >= self._sweep_at

    def advance_sweep(
        self, claims: Sequence[Claim], *, full: bool, until: Position | None, began: float, ended: float
    ) -> None:
        """Move past the claims of a sweep up to `until` (None: to the end; then the next sweep starts over)."""
        self._sweep_at = ended + min(SWEEP_SECONDS, SWEEP_SPACING * (ended - began))
        self.swept = _end_of(claims, full=full, otherwise=until, start=self.swept)


def _end_of(
    claims: Sequence[Claim], *, full: bool, otherwise: Position | None, start: Position | None
) -> Position | None:
    """Where a claim ended that began at `start`: at its last row, if it was full."""
    return max([(claim.remind_at, claim.id) for claim in claims], default=start) if full else otherwise


@dataclass
class LaneCursors:
    """How far the claims of one lane have come, both claims of all users and claims without the heavy ones."""

    trailing: TrailingCursor
    exact: ExactCursor = field(default_factory=ExactCursor)
    heavy_users: list[str] = field(default_factory=list)
    heavy_since: float = float("-inf")
    narrow_until: float = float("-inf")

    def add_heavy_users(self, users: Sequence[str], *, now: float) -> None:
        if not self.heavy_users:
            self.heavy_since = now
        self.heavy_users += users

    def expire_heavy_users(self, *, now: float) -> None:
        """Forget the heavy users after a while; the next claim finds those still heavy."""
        if now - self.heavy_since >= SWEEP_SECONDS:
            self.heavy_users = []


class FairScheduler:
    """Claims rows for one worker. `buckets` are the worker's own buckets, None for all.

    No batch is claimed while the breaker of the mail `server` is not closed. Unless on `any_timeline`, no row is
    claimed after a failover of the database until it is accepted.
    """

    def __init__(
        self,
        *,
        worker: str,
        lease: timedelta,
        server: str | None = None,
        any_timeline: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        limits: dict[str, Any] = {"steal_after": STEAL_AFTER, "known_schema": SUPPORTED_SCHEMA}
        self._queue_claim: Callable[..., Claims] = partial(
            queue.claim, worker=worker, lease=lease, any_timeline=any_timeline, **limits
        )
        self._levels = partial(queue.priorities, server=server)
        self._clock = clock
        self._cursors: dict[Lane, LaneCursors] = {}
        self._cycle = 0
        self._rotation = MAX_PRIORITY + 1
        self.buckets: Buckets = None
        # How many rows the last cycle set behind others of their keys; a new cycle may find more at once.
        self.set_behind = 0

    def claim_batch(self, connection: Connection, *, batch_size: int, crashed_room: int | None = None) -> list[Claim]:
        """Claim a batch, plus a tenth for the priority whose turn it is, plus a batch for light users.

        It contains at most `crashed_room` rows that lost a worker, and one more of each of those two priorities.
        """
        self._cycle += 1
        self.set_behind = 0
        levels, guests = self._choose_levels(connection)
        shares = {one: max(batch_size // MIN_SHARE, 1) for one in guests}
        if DEFAULT_PRIORITY in guests:
            shares[DEFAULT_PRIORITY] = max(batch_size // DEFAULT_SHARE, 1)
        kept = shares.get(DEFAULT_PRIORITY, 0)
        crashed_left = max(batch_size // CRASHED_SHARE, 1) if crashed_room is None else crashed_room
        claimed: list[Claim] = []
        for level in levels:
            kept = 0 if level.priority <= DEFAULT_PRIORITY else kept
            room = max(batch_size - kept - len(claimed), shares.get(level.priority, 0))
            crashed = crashed_left + (level.priority in guests)
            found = self._claim_level(connection, level, room=room, crashed_room=crashed)
            crashed_left = max(crashed_left - sum(claim.crash_count > 0 for claim in found), 0)
            claimed += found
        return claimed

    def claim_one(self, connection: Connection) -> list[Claim]:
        """The next row only, for the probe of a breaker; a poison row if no other row is due."""
        levels = queue.priorities(connection, limit=PROBE_LEVELS)
        return self._claim_first(connection, [lane for level in levels for lane in level.lanes]) or (
            self.claim_poison_row(connection)
        )

    def claim_poison_row(self, connection: Connection) -> list[Claim]:
        """One row that lost more than one worker, to be delivered alone."""
        return self._claim_first(connection, queue.poison_rows(connection, known_schema=SUPPORTED_SCHEMA))

    def _claim_first(self, connection: Connection, lanes: Sequence[Lane]) -> list[Claim]:
        return next(filter(None, (self._claim(connection, lane, room=1) for lane in lanes)), [])

    def _choose_levels(self, connection: Connection) -> tuple[list[PriorityLevel], set[int]]:
        """The priorities to claim from, the highest first, and the subset that gets a share even if the batch is full:
        the default one, and one other in turn."""
        levels = self._levels(connection, limit=MAX_LEVELS)
        if not levels:
            return [], set()
        top = levels[0].priority

        def next_below(priority: int) -> PriorityLevel | None:
            known = next((level for level in levels if level.priority < priority), None)
            if known or len(levels) < MAX_LEVELS:
                return known
            return next(iter(self._levels(connection, below=priority, limit=1)), None)

        rotated = next_below(min(self._rotation, top)) or next_below(top)
        default = next_below(DEFAULT_PRIORITY + 1) if top > DEFAULT_PRIORITY else None
        if default and default.priority < DEFAULT_PRIORITY:
            default = None
        if rotated:
            self._rotation = rotated.priority
        guests = {level.priority: level for level in (rotated, default) if level}
        chosen = {level.priority: level for level in levels} | guests
        return sorted(chosen.values(), key=lambda level: -level.priority), set(guests)

    def _claim_level(
        self, connection: Connection, level: PriorityLevel, *, room: int, crashed_room: int
    ) -> list[Claim]:
        """Claim from its lanes, each in turn the first; the first lane leaves half of the room to the others."""
        first = self._cycle % len(level.lanes)
        lanes = level.lanes[first:] + level.lanes[:first]
        claimed: list[Claim] = []
        for position, lane in enumerate(lanes, start=1):
            left = -(-(room - len(claimed)) // (1 if position == len(lanes) else 2))
            if lane.crashes:
                left = min(left, crashed_room - sum(claim.crash_count > 0 for claim in claimed))
            if left > 0:
                claimed += self._claim_fairly(connection, lane, now=level.now, room=left)
        return claimed

    def _claim_fairly(self, connection: Connection, lane: Lane, *, now: datetime, room: int) -> list[Claim]:
        if lane not in self._cursors:
            self._cursors[lane] = LaneCursors(TrailingCursor(rows_return=lane.keyed))
        cursors = self._cursors[lane]
        if self._clock() < cursors.narrow_until:
            return self._claim(connection, lane, room=max(room // NARROW_SHARE, 1), after=cursors.trailing.after)
        if lane.crashes:
            return self._claim_all_users(connection, lane, cursors, room=room)
        cursors.expire_heavy_users(now=self._clock())
        had_heavy_users = bool(cursors.heavy_users)
        claimed: list[Claim] = []
        for _ in range(MAX_CLAIMS):
            if cursors.heavy_users:
                found = self._claim_without_heavy_users(connection, lane, cursors, now=now, room=room)
            else:
                found = self._claim_all_users(connection, lane, cursors, room=room)
            claimed += found
            heavy = _heavy_users(found, room=room)
            if not heavy:
                break
            cursors.add_heavy_users(heavy, now=self._clock())
        if had_heavy_users:
            left = max(room - len(claimed), room // FAIR_SHARE, 1)
            claimed += self._claim_all_users(connection, lane, cursors, room=left)
        return claimed

    def _claim_all_users(self, connection: Connection, lane: Lane, cursors: LaneCursors, *, room: int) -> Claims:
        began = self._clock()
        after = cursors.trailing.start(began)
        found = self._claim(connection, lane, room=room, after=after)
        cursors.trailing.advance(found, began=began, ended=self._clock())
        return found

    def _claim_without_heavy_users(
        self, connection: Connection, lane: Lane, cursors: LaneCursors, *, now: datetime, room: int
    ) -> Claims:
        exact, began = cursors.exact, self._clock()
        whole = exact.after is None
        claim = partial(self._claim, connection, lane, heavy_users=cursors.heavy_users)
        found = claim(after=exact.after, room=room)
        full = found.looked_at >= room
        exact.advance(found, full=full, until=now - OVERLAP)
        if whole:
            exact.advance_sweep([], full=False, until=None, began=began, ended=self._clock())
        elif not full and exact.is_sweep_due(began):
            until = queue.scan_end(connection, lane=lane, after=exact.swept, rows=ROWS_PER_SWEEP)
            swept = claim(after=exact.swept, until=until, room=room - len(found))
            full = swept.looked_at >= room - len(found)
            exact.advance_sweep(swept, full=full, until=until, began=began, ended=self._clock())
            found += swept
        return found

    def _claim(self, connection: Connection, lane: Lane, *, room: int, **limits: Any) -> Claims:
        buckets = None if lane.crashes else self.buckets
        try:
            found = self._queue_claim(connection, lane=lane, batch_size=room, buckets=buckets, **limits)
        except DBAPIError as error:
            if is_timeout(error) and lane in self._cursors:
                self._cursors[lane].narrow_until = self._clock() + NARROW_SECONDS
            raise
        self.set_behind += found.set_behind
        return found


def _heavy_users(claims: Claims, *, room: int) -> list[str]:
    """The users with more than their share of a full claim."""
    if claims.looked_at < room:
        return []
    share = max(room // FAIR_SHARE, 1)
    counts = Counter(claim.user_email for claim in claims)
    return [user for user, count in counts.items() if count > share]


def claim_mails(
    engine: Engine, *, config: DeliveryConfig, claim: Callable[[Connection], list[Claim]], failpoint: FailpointHook
) -> list[Delivery]:
    """Call `claim` and read the mails of its claims, in one transaction, which writes nothing to the ledger.

    Returns an empty list if other workers claimed the same rows at the same time, or the claim timed out, repeatedly.
    """
    for _ in range(MAX_CONFLICTS):
        try:
            with engine.begin() as connection:
                claims = claim(connection)
                for claimed in claims:
                    failpoint("claimed", claimed.message_id)
                sends = _list_sendable(connection, claims, config=config) if claims else {}
        except DBAPIError as error:
            if is_timeout(error):
                log.warning("a claim exceeded the statement timeout; claiming fewer rows")
                continue
            # Another worker claimed a row of the same serialization key at this moment, or waited for our row.
            if not is_conflict(error):
                raise
            log.info("two workers claimed at the same place; claiming again")
            continue
        for claimed in claims:
            failpoint("reserved", claimed.message_id)
        return [Delivery(claim=one, send=sends.get(one.id)) for one in claims]
    return []


def _list_sendable(connection: Connection, claims: Sequence[Claim], *, config: DeliveryConfig) -> dict[int, Send]:
    ids = [claim.id for claim in claims]
    found = ledger.list_sendable(
        connection, worker=config.worker, ids=ids, domain=config.domain, uncertainty=config.uncertainty
    )
    gathering = [send for send in found if send.digest_id is not None]
    return {send.snooze_id: send for send in found} | (digests.add_members(connection, gathering) if gathering else {})
