"""The queue: one function per statement in `sql/queue`, every write to `email_snoozes`; those in `sql/queue/peek` only
read."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import Connection

from snoozer.db.statements import ALL_IDS, execute, id_bounds, rows_as
from snoozer.queue.limits import MAX_PRIORITY
from snoozer.queue.promise import ZoneShift
from snoozer.queue.reminder import ATTEMPTS_EXHAUSTED, WORKER_LOST, Claim, Deferral, Failure, Recovered


@dataclass(frozen=True, kw_only=True)
class RestoredCase:
    """A snooze that may have been sent already after a restore, and its reminder's Message-ID, as in the mail server's
    log. It was retired, unless it `repeats`."""

    id: int
    promise: datetime
    repeats: bool
    reminder_message_id: str


@dataclass(frozen=True, kw_only=True)
class Lane:
    """Rows of one priority, with a serialization key or without, that lost this many workers (2 stands for more)."""

    priority: int = 0
    keyed: bool = False
    crashes: int = 0


@dataclass(frozen=True, kw_only=True)
class PriorityLevel:
    """A priority that has rows due at `now`, by the database's clock, and their lanes; poison rows are separate."""

    priority: int
    lanes: list[Lane]
    now: datetime


class Claims(list[Claim]):
    """Claims in the order of their promises. `set_behind`: how many rows were set behind others of their keys."""

    set_behind: int = 0

    @property
    def looked_at(self) -> int:
        return len(self) + self.set_behind


@dataclass(frozen=True, kw_only=True)
class Upcoming:
    """An unclaimed row as it was read ahead: the claim that it will have, its version, and in how many seconds it is
    due."""

    claim: Claim
    version: str
    early: float


POISON = 2
DEFAULT_LANE = Lane()

_CLAIM = tuple(field.name for field in fields(Claim))

# Id and token of each claim.
HeldClaims = Sequence[tuple[int, UUID]]

# Buckets of people as the text of a Postgres array (psycopg takes a millisecond for a thousand numbers); None for all.
Buckets = str | None

# Rows read ahead: each one's id and remind_at.
ReadRows = Sequence[tuple[int, datetime]]

# A position in the order of claims: `remind_at` and id.
Position = tuple[datetime, int]


def deliver_now(connection: Connection, *, user_email: str, batch_size: int) -> list[int]:
    """Make a person's waiting snoozes due now, each for the last time; returns the ids."""
    values = {"user_email": user_email, "batch_size": batch_size}
    return list(execute(connection, "queue/deliver_now", **values).scalars())


def erase(connection: Connection, *, user_email: str, batch_size: int) -> list[int]:
    """Erase snoozes of a person with their sends and events; returns the ids."""
    values = {"user_email": user_email, "batch_size": batch_size}
    return list(execute(connection, "queue/erase", **values).scalars())


def is_awaited(connection: Connection, *, user_email: str) -> bool:
    """Whether a person has a snooze that is still to be delivered."""
    return bool(execute(connection, "peek/is_awaited", user_email=user_email).scalar_one())


def claim(
    connection: Connection,
    *,
    worker: str,
    batch_size: int,
    lease: timedelta,
    lane: Lane = DEFAULT_LANE,
    after: Position | None = None,
    until: Position | None = None,
    heavy_users: Sequence[str] = (),
    buckets: Buckets = None,
    steal_after: timedelta = timedelta(0),
    known_schema: int = 1,
    any_timeline: bool = False,
) -> Claims:
    """Claim up to `batch_size` due snoozes of one lane for `lease`.

    Rows up to the position `after` or beyond `until`, and rows of `heavy_users`, are left out. With `buckets`, rows of
    other buckets are claimed only if they are `steal_after` overdue. Rows of a schema version above `known_schema` are
    left to newer workers. Unless on `any_timeline`, no row is claimed after a failover that was not accepted.
    """
    position = {**vars(lane), **_position("after", after), **_position("until", until)}
    bucket = {"buckets": buckets, "steal_after": steal_after}
    values = {"worker": worker, "batch_size": batch_size, "lease": lease, "heavy_users": list(heavy_users)}
    limits = {"known_schema": known_schema, "any_timeline": any_timeline}
    rows = rows_as(execute(connection, "queue/claim", **values, **position, **bucket, **limits), Claim)
    claims = Claims(row for row in rows if row.claim_token is not None)
    claims.sort(key=lambda claim: (claim.scheduled_for, claim.id))
    claims.set_behind = len(rows) - len(claims)
    keys = [claim.serialization_key for claim in claims if claim.serialization_key is not None]
    if keys:
        advance_keys(connection, keys=keys, known_schema=known_schema)
    return claims


def upcoming(
    connection: Connection,
    *,
    horizon: timedelta,
    limit: int,
    share: int,
    read: ReadRows,
    known_schema: int,
    buckets: Buckets = None,
    server: str | None = None,
) -> list[Upcoming]:
    """At most `limit` plain rows that are due within the horizon, without those read before; if there are more, each
    person's first `share` rows come before the others. None while the breaker of `server` is not closed."""
    limits = {"horizon": horizon, "rows": limit, "share": share, "known_schema": known_schema}
    rows = execute(connection, "peek/upcoming", **limits, **_read(read), buckets=buckets, server=server).mappings()
    return [
        Upcoming(version=row["version"], early=row["early"], claim=Claim(**{name: row[name] for name in _CLAIM}))
        for row in rows
    ]


def claim_read(
    connection: Connection,
    *,
    rows: Sequence[tuple[int, UUID, str]],
    worker: str,
    lease: timedelta,
    any_timeline: bool = False,
) -> dict[UUID, int]:
    """Claim rows that were read ahead, by id, token and version; returns the ids of the rows that have not changed
    since, by token."""
    values = {
        "ids": [id for id, _, _ in rows],
        "claim_tokens": [token for _, token, _ in rows],
        "versions": [version for _, _, version in rows],
    }
    limits = {"worker": worker, "lease": lease, "any_timeline": any_timeline}
    return {row.claim_token: row.id for row in execute(connection, "queue/claim_read", **values, **limits)}


def advance_keys(connection: Connection, *, keys: Sequence[str], known_schema: int = 1) -> list[int]:
    """Let claims consider the first waiting rows of these keys again; returns the ids of rows that were set behind."""
    values = {"keys": list(keys), "known_schema": known_schema}
    return list(execute(connection, "queue/advance_keys", **values).scalars())


def extend(connection: Connection, *, held: HeldClaims, lease: timedelta) -> dict[int, bool]:
    """Extend these leases; returns the claims still owned by id, and whether each was extended (else it is locked)."""
    return {row.id: row.extended for row in execute(connection, "queue/extend", lease=lease, **_pairs(held))}


def finalize(connection: Connection, *, held: HeldClaims) -> set[int]:
    """Finish snoozes whose reminders were sent; returns the ids of the finished ones."""
    return set(execute(connection, "queue/finalize", **_pairs(held)).scalars())


def schedule_next(connection: Connection, *, occurrences: Sequence[tuple[Claim, datetime]]) -> set[int]:
    """Promise the next occurrences, each at its instant, after the last ones were sent; returns the ids promised."""
    pairs = _pairs(held(claim for claim, _ in occurrences))
    return set(execute(connection, "queue/schedule_next", remind_at=[at for _, at in occurrences], **pairs).scalars())


def release(connection: Connection, *, failures: Sequence[Failure]) -> dict[int, bool]:
    """Record failed deliveries; returns the ids recorded, and whether each is retired now."""
    values = {
        **_pairs(held(failures)),
        "errors": [one.error for one in failures],
        "attempts_used": [one.attempts_used for one in failures],
        "delays": [one.delay for one in failures],
        "permanents": [one.permanent for one in failures],
        "retry_for": [one.retry_for for one in failures],
    }
    return {row.id: row.retires for row in execute(connection, "queue/release", **values)}


def unclaim(connection: Connection, *, held: HeldClaims) -> set[int]:
    """Give back claims that were never begun, without using an attempt; returns the ids of those given back."""
    return set(execute(connection, "queue/unclaim", **_pairs(held)).scalars())


def defer(connection: Connection, *, held: HeldClaims, delays: Sequence[timedelta]) -> set[int]:
    """Give back claims that wait for something else, each due again after its delay; returns the ids given back."""
    return set(execute(connection, "queue/defer", **_pairs(held), delays=list(delays)).scalars())


def deferrals(connection: Connection, *, held: HeldClaims) -> list[Deferral]:
    """The deferrals of the given claims whose owners' days have a shape."""
    return rows_as(execute(connection, "peek/deferrals", **_pairs(held)), Deferral)


def rest(connection: Connection, *, held: HeldClaims, deferrals: Sequence[Deferral]) -> set[int]:
    """Give back claims that rests of their owners defer, one for each; returns the ids of those given back."""
    values = {"untils": [one.until for one in deferrals], "reasons": [one.reason for one in deferrals]}
    return set(execute(connection, "queue/rest", **_pairs(held), **values).scalars())


def undefer(connection: Connection, *, user_email: str, rest_until: datetime | None, batch_size: int) -> int:
    """Make snoozes deferred by rests due at their promised times, except snoozes that wait for the end of the present
    rest; returns how many."""
    values = {"user_email": user_email, "rest_until": rest_until, "batch_size": batch_size}
    return len(execute(connection, "queue/undefer", **values).all())


def lock_lapsed(connection: Connection, *, batch_size: int, lease: timedelta, id_range: range = ALL_IDS) -> list[int]:
    """Lock claims of dead workers and expired leases that no other transaction has locked; returns their ids."""
    values = {"batch_size": batch_size, "lease": lease, **id_bounds(id_range)}
    return list(execute(connection, "queue/lock_lapsed", **values).scalars())


def recover(
    connection: Connection,
    *,
    batch_size: int,
    lease: timedelta,
    delay: timedelta,
    hold: timedelta,
    hold_for_operator: bool,
    max_crashes: int,
    max_resends: int,
    id_range: range = ALL_IDS,
) -> list[Recovered]:
    """Release claims of dead workers and expired leases; a send that may have been sent becomes uncertain.

    The rows are locked first, by `lock_lapsed`, so that the statement that reads the ledger sees every mark.
    """
    ids = lock_lapsed(connection, batch_size=batch_size, lease=lease, id_range=id_range)
    policy = {"delay": delay, "hold": hold, "hold_for_operator": hold_for_operator}
    limits = {"max_crashes": max_crashes, "max_resends": max_resends}
    return rows_as(execute(connection, "queue/recover", ids=ids, **policy, **limits, **WORKER_LOST), Recovered)


def retire(connection: Connection, *, batch_size: int, id_range: range = ALL_IDS) -> list[int]:
    """Retire due rows whose attempts are exhausted; returns their ids."""
    values = {"batch_size": batch_size, "error": ATTEMPTS_EXHAUSTED, **id_bounds(id_range)}
    return list(execute(connection, "queue/retire", **values).scalars())


def shift_zone(connection: Connection, *, moves: Sequence[ZoneShift]) -> set[int]:
    """Move times on the clock to other instants; returns the ids that moved. Rows changed since they were read stay."""
    values = {
        "ids": [one.id for one in moves],
        "promised": [one.promised for one in moves],
        "remind_at": [one.remind_at for one in moves],
        "zones": [one.zone for one in moves],
    }
    return set(execute(connection, "queue/shift_zone", **values).scalars())


def pauses(connection: Connection, *, held: HeldClaims) -> dict[int, int]:
    """The given claims that operators have paused: the pause of each, by id."""
    return {row.id: row.pause_id for row in execute(connection, "peek/pauses", **_pairs(held))}


def set_aside(connection: Connection, *, held: HeldClaims, pause_ids: Sequence[int]) -> set[int]:
    """Set these claims aside, each for its pause; returns the ids of the claims that were still owned."""
    return set(execute(connection, "queue/set_aside", pause_ids=list(pause_ids), **_pairs(held)).scalars())


def lock_due_before(connection: Connection, *, until: datetime, after: int, batch_size: int) -> list[int]:
    """Lock live snoozes that were due before `until`, ids beyond `after`; returns their ids."""
    values = {"until": until, "after": after, "batch_size": batch_size}
    return list(execute(connection, "queue/lock_due_before", **values).scalars())


def retire_restored(
    connection: Connection, *, ids: Sequence[int], domain: str, error: str, sent: Collection[str] | None = None
) -> list[RestoredCase]:
    """Retire these snoozes, which `lock_due_before` has locked: a restored dump does not know whether they were sent.
    With `sent`, the Message-IDs that the mail server took, only those. Recurring snoozes are returned but not
    retired."""
    values = {"ids": list(ids), "domain": domain, "error": error, "sent": None if sent is None else list(sent)}
    return rows_as(execute(connection, "queue/retire_restored", **values), RestoredCase)


def archive(connection: Connection, *, ids: Sequence[int], older_than: timedelta) -> list[int]:
    """Archive the given snoozes that have been over for `older_than`, with their sends; returns their ids."""
    return list(execute(connection, "queue/archive", ids=list(ids), older_than=older_than).scalars())


def next_due(
    connection: Connection,
    *,
    known_schema: int,
    steal_after: timedelta,
    buckets: Buckets = None,
    missed: timedelta | None = None,
    read: ReadRows = (),
) -> float:
    """Seconds until a row is due for a claim with these `buckets`: 0 if one is, infinity if no row waits. With
    `missed`, rows that were due longer ago are left out; so are rows that were `read` ahead."""
    values = {"known_schema": known_schema, "missed": missed, "buckets": buckets, "steal_after": steal_after}
    seconds = execute(connection, "peek/next_due", **values, **_read(read)).scalar_one_or_none()
    return float("inf") if seconds is None else max(float(seconds), 0.0)


def priorities(
    connection: Connection, *, limit: int, below: int = MAX_PRIORITY + 1, server: str | None = None
) -> list[PriorityLevel]:
    """The priorities of rows that are due, the highest first: at most `limit`, all lower than `below`; none while the
    breaker of `server` is not closed."""
    rows = execute(connection, "peek/priorities", limit=limit, below=below, server=server)
    return [
        PriorityLevel(
            priority=row.priority,
            lanes=[Lane(priority=row.priority, keyed=number % 2 == 1, crashes=number // 2) for number in row.lanes],
            now=row.now,
        )
        for row in rows
    ]


def poison_rows(connection: Connection, *, known_schema: int) -> list[Lane]:
    """The lanes in which rows are due that lost more than one worker, the highest priority first."""
    rows = execute(connection, "peek/poison_rows", known_schema=known_schema)
    return [Lane(priority=row.priority, keyed=row.keyed, crashes=POISON) for row in rows]


def keys_behind(connection: Connection, *, from_key: str, limit: int) -> list[str]:
    """At most `limit` serialization keys, in order from `from_key` on, that have rows set behind others."""
    return list(execute(connection, "peek/keys_behind", from_key=from_key, limit=limit).scalars())


def scan_end(connection: Connection, *, lane: Lane, after: Position | None, rows: int) -> Position | None:
    """The position of the last of `rows` due rows of a lane behind `after`; None if there are fewer."""
    row = execute(connection, "peek/scan_end", rows=rows, **vars(lane), **_position("after", after)).first()
    return None if row is None else (row.remind_at, row.id)


def owned(connection: Connection, *, held: HeldClaims) -> set[int]:
    """Which of these claims are still owned."""
    return set(execute(connection, "peek/owned", **_pairs(held)).scalars())


def claimed_by(connection: Connection, *, worker: str) -> list[tuple[int, UUID]]:
    """Id and token of each claim of a worker."""
    return [(row.id, row.claim_token) for row in execute(connection, "peek/claimed_by", worker=worker)]


def unfinished(connection: Connection, *, known_schema: int) -> bool:
    """Whether any row is due or claimed."""
    return bool(execute(connection, "peek/unfinished", known_schema=known_schema).scalar_one())


def held(claims: Iterable[Claim | Failure]) -> HeldClaims:
    """Id and token of each of these claims."""
    return [(claim.id, claim.claim_token) for claim in claims]


def _pairs(held: HeldClaims) -> dict[str, object]:
    return {"ids": [id for id, _ in held], "claim_tokens": [token for _, token in held]}


def _read(rows: ReadRows) -> dict[str, object]:
    return {"ids": [id for id, _ in rows], "times": [time for _, time in rows]}


def _position(name: str, position: Position | None) -> dict[str, object]:
    time, id = position or (None, 0)
    return {f"{name}_time": time, f"{name}_id": id}
