"""Claim due snoozes and reserve their sends: which rows are next, and one transaction that takes them.

Rows come by priority and fairly between users, without rescanning the index. Users with more than a tenth of a full
batch are heavy users; once known, the others are claimed before them. A row that the ledger refuses stops no other: it
is claimed without a send, and fails by itself.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from snoozer.db import events, ledger, queue
from snoozer.db.errors import is_conflict, is_row_error, sqlstate
from snoozer.db.queue import Position, PriorityLevel
from snoozer.domain.reminder import Claim, Send

log = logging.getLogger(__name__)

ROUTE = "worker"
MAX_CONFLICTS = 3
INDEX_ROW_TOO_LONG = "54000"

SUPPORTED_SCHEMA = 1
# Divisors of a batch: what a lower priority gets at least, and what one user may take before being a heavy user.
MIN_SHARE = 10
FAIR_SHARE = 10
MAX_CLAIMS = 9
STEAL_AFTER = timedelta(seconds=2)

# Every SWEEP_SECONDS a claim scans the whole index, for rows inserted, released or unlocked behind its cursor.
LAG = timedelta(seconds=30)
SWEEP_SECONDS = 2.0
# After a sweep of t seconds, the next one comes after SWEEP_SPACING * t seconds at the earliest.
SWEEP_SPACING = 10
MAX_ID = 2**63 - 1

# Called with each step of a delivery and the Message-ID; a test's kills the process there.
FailpointHook = Callable[[str, str], None]


def no_failpoint(step: str, message_id: str) -> None:
    """Production: nothing fires."""


@dataclass(frozen=True, kw_only=True)
class DeliveryConfig:
    """One worker's settings. `deadline` is for one delivery, in seconds; `domain` is the right side of Message-IDs."""

    worker: str
    domain: str
    lease: timedelta
    uncertainty: ledger.UncertainPolicy
    first_delay: timedelta
    deadline: float

    @property
    def actor(self) -> str:
        return f"worker:{self.worker}"


@dataclass(frozen=True, kw_only=True)
class ReserveError:
    """Why the ledger refuses a row. `permanent` where the row is surely at fault, so that it becomes a case; else it is
    tried again, with an attempt spent or not."""

    error: str
    attempts_used: int
    permanent: bool


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """A claim and its send; no send when the ledger has it sent, in flight or on hold, or refuses it (`error`)."""

    claim: Claim
    send: Send | None
    error: ReserveError | None = None


class TrailingCursor:
    """Starts a lag before the earliest row of the last claim: behind that lie only dead index entries."""

    def __init__(self) -> None:
        self._after: Position | None = None
        self._swept_at = float("-inf")

    def start(self, now: float) -> Position | None:
        """The position after which to claim; None for a sweep."""
        if now - self._swept_at >= SWEEP_SECONDS:
            self._swept_at = now
            return None
        return self._after

    def advance(self, claims: Sequence[Claim]) -> None:
        """Called with what was claimed from there."""
        if claims:
            self._after = (min(claim.remind_at for claim in claims) - LAG, 0)


class ExactCursor:
    """Starts where the last claim ended: behind that lie the rows of the heavy users it skipped, however many."""

    def __init__(self) -> None:
        self._after: Position | None = None
        self._sweep_at = float("-inf")

    def start(self, now: float) -> Position | None:
        """The position after which to claim; None for a sweep."""
        return None if now >= self._sweep_at else self._after

    def advance(self, claims: Sequence[Claim], *, room: int, until: datetime, began: float, ended: float) -> None:
        """Called with what was claimed, at most `room` rows of what was due at `until`, between `began` and `ended`."""
        if began >= self._sweep_at:
            self._sweep_at = ended + min(SWEEP_SECONDS, SWEEP_SPACING * (ended - began))
        full = len(claims) >= room
        self._after = max((claim.remind_at, claim.id) for claim in claims) if full else (until, MAX_ID)


@dataclass
class LevelCursors:
    """How far the claims of one priority have come, those of all users and those without the heavy ones."""

    trailing: TrailingCursor = field(default_factory=TrailingCursor)
    exact: ExactCursor = field(default_factory=ExactCursor)
    heavy_users: list[str] = field(default_factory=list)
    heavy_since: float = float("-inf")

    def add_heavy_users(self, users: Sequence[str], *, now: float) -> None:
        if not self.heavy_users:
            self.heavy_since = now
        self.heavy_users += users

    def expire_heavy_users(self, *, now: float) -> None:
        """After a while they are forgotten; the next claim finds those who still are heavy users."""
        if now - self.heavy_since >= SWEEP_SECONDS:
            self.heavy_users = []


class FairScheduler:
    """Claims rows for one worker. `buckets` are the ones it owns, None for all."""

    def __init__(self, *, worker: str, lease: timedelta, clock: Callable[[], float] = time.monotonic) -> None:
        self._claim = partial(
            queue.claim, worker=worker, lease=lease, steal_after=STEAL_AFTER, known_schema=SUPPORTED_SCHEMA
        )
        self._clock = clock
        self._levels: dict[int, LevelCursors] = {}
        self.buckets: list[int] | None = None

    def claim_batch(self, connection: Connection, *, batch_size: int) -> list[Claim]:
        """A batch, and what fairness adds: a tenth for each lower priority, a batch beside heavy users."""
        claimed: list[Claim] = []
        for level in queue.priorities(connection):
            room = max(batch_size - len(claimed), batch_size // MIN_SHARE, 1)
            claimed += self._claim_fairly(connection, level, room=room)
        return claimed

    def claim_one(self, connection: Connection) -> list[Claim]:
        """The next row only, for the probe of a breaker; a poison row when nothing else is due."""
        return self._claim_first(connection, poison_rows=False) or self.claim_poison_row(connection)

    def claim_poison_row(self, connection: Connection) -> list[Claim]:
        """One row that a worker crashed on before, to be delivered alone."""
        return self._claim_first(connection, poison_rows=True)

    def _claim_first(self, connection: Connection, *, poison_rows: bool) -> list[Claim]:
        for level in queue.priorities(connection):
            found = self._claim(
                connection, priority=level.priority, batch_size=1, poison_rows=poison_rows, buckets=self.buckets
            )
            if found:
                return found
        return []

    def _claim_fairly(self, connection: Connection, level: PriorityLevel, *, room: int) -> list[Claim]:
        cursors = self._levels.setdefault(level.priority, LevelCursors())
        cursors.expire_heavy_users(now=self._clock())
        had_heavy_users = bool(cursors.heavy_users)
        claimed: list[Claim] = []
        for _ in range(MAX_CLAIMS):
            claim = self._claim_without_heavy_users if cursors.heavy_users else self._claim_all_users
            found = claim(connection, level, cursors, room=room)
            claimed += found
            heavy = _heavy_users(found, room=room)
            if not heavy:
                break
            cursors.add_heavy_users(heavy, now=self._clock())
        if had_heavy_users:
            left = max(room - len(claimed), room // FAIR_SHARE, 1)
            claimed += self._claim_all_users(connection, level, cursors, room=left)
        return claimed

    def _claim_all_users(
        self, connection: Connection, level: PriorityLevel, cursors: LevelCursors, *, room: int
    ) -> list[Claim]:
        after = cursors.trailing.start(self._clock())
        found = self._claim(connection, priority=level.priority, batch_size=room, after=after, buckets=self.buckets)
        cursors.trailing.advance(found)
        return found

    def _claim_without_heavy_users(
        self, connection: Connection, level: PriorityLevel, cursors: LevelCursors, *, room: int
    ) -> list[Claim]:
        began = self._clock()
        after = cursors.exact.start(began)
        found = self._claim(
            connection,
            priority=level.priority,
            batch_size=room,
            after=after,
            heavy_users=cursors.heavy_users,
            buckets=self.buckets,
        )
        cursors.exact.advance(found, room=room, until=level.now, began=began, ended=self._clock())
        return found


def _heavy_users(claims: Sequence[Claim], *, room: int) -> list[str]:
    """The users with more than their share of a full claim."""
    if len(claims) < room:
        return []
    share = max(room // FAIR_SHARE, 1)
    counts = Counter(claim.user_email for claim in claims)
    return [user for user, count in counts.items() if count > share]


def claim_and_reserve(
    engine: Engine, *, config: DeliveryConfig, claim: Callable[[Connection], list[Claim]], failpoint: FailpointHook
) -> list[Delivery]:
    """Call `claim` and reserve the sends of what it returns, in one transaction; row by row once a row was refused.

    Returns nothing where other workers claimed the same rows at the same time, again and again.
    """
    individually = False
    for _ in range(MAX_CONFLICTS):
        try:
            with engine.begin() as connection:
                claims = claim(connection)
                for claimed in claims:
                    failpoint("claimed", claimed.message_id)
                reserve = _reserve_individually if individually else _reserve_all
                sends, failed = reserve(connection, claims=claims, config=config)
        except DBAPIError as error:
            if is_row_error(error) and not individually:
                individually = True
                continue
            # Another worker claimed a row of the same serialization key at this moment, or waited for ours.
            if not is_conflict(error):
                raise
            log.info("two workers claimed at the same place; claiming again")
            continue
        for claimed in claims:
            failpoint("reserved", claimed.message_id)
        errors = _reserve_errors(failed, others=len(claims) - len(failed))
        return [Delivery(claim=one, send=sends.get(one.id), error=errors.get(one.id)) for one in claims]
    return []


# By snooze id: the sends that were reserved, and why others were refused.
_Reservations = tuple[dict[int, Send], dict[int, DBAPIError]]


def _reserve_all(connection: Connection, *, claims: Sequence[Claim], config: DeliveryConfig) -> _Reservations:
    if not claims:
        return {}, {}
    reserved = ledger.reserve(
        connection,
        worker=config.worker,
        ids=[claim.id for claim in claims],
        domain=config.domain,
        uncertainty=config.uncertainty,
    )
    for entry in reserved:
        if entry.resent:
            events.append(connection, snooze_id=entry.send.snooze_id, kind="resent", actor=config.actor, route=ROUTE)
    return {entry.send.snooze_id: entry.send for entry in reserved}, {}


def _reserve_individually(connection: Connection, *, claims: Sequence[Claim], config: DeliveryConfig) -> _Reservations:
    """Reserve all of these, or halve them until what fails is one row.

    A failure is rolled back to its own savepoint; savepoints that were not needed end with the transaction.
    """
    savepoint = connection.begin_nested()
    try:
        return _reserve_all(connection, claims=claims, config=config)
    except DBAPIError as error:
        if not is_row_error(error):
            raise
        savepoint.rollback()
        if len(claims) == 1:
            return {}, {claims[0].id: error}
    middle = len(claims) // 2
    first, second = (
        _reserve_individually(connection, claims=half, config=config) for half in (claims[:middle], claims[middle:])
    )
    return first[0] | second[0], first[1] | second[1]


def _reserve_errors(failed: Mapping[int, DBAPIError], *, others: int) -> dict[int, ReserveError]:
    """The errors of rows that were refused, where so many others were reserved.

    Where others were reserved, or a text is too long for the index, the row is surely at fault. Where none of several
    rows was, the ledger itself may be broken, and no attempt is spent.
    """
    for id, error in failed.items():
        log.warning("the ledger cannot take snooze %d (SQLSTATE %s)", id, sqlstate(error))
    if len(failed) > 1 and not others:
        log.error("the ledger took none of %d rows; see whether its table is as it should be", len(failed))
    attempts_used = 1 if others or len(failed) == 1 else 0
    return {
        id: ReserveError(
            error=_error_message(error),
            attempts_used=attempts_used,
            permanent=others > 0 or sqlstate(error) == INDEX_ROW_TOO_LONG,
        )
        for id, error in failed.items()
    }


def _error_message(error: DBAPIError) -> str:
    """What is wrong with a row and what to do, without the row's values."""
    if sqlstate(error) == INDEX_ROW_TOO_LONG:
        what = "user_email and message_id are too long together for the ledger's index (254 and 998 octets always fit)"
    else:
        what = f"the ledger refuses its values (SQLSTATE {sqlstate(error)})"
    return f"It cannot be sent: {what}. Correct the row and reactivate it, or dismiss it"
