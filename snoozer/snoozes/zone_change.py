"""USE CASE of a changed zone: times on the clock follow their person to another zone, or a zone's newer rules.

Snoozes with an elapsed time or an exact instant stay as they are. A move is a new promise and appends an event.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from snoozer.db.queries import Found, snoozes
from snoozer.queue import events, queue
from snoozer.queue.promise import ZoneShift
from snoozer.timephrase.recurrence import Recurrence, shift_zone

log = logging.getLogger(__name__)

BATCH_SIZE = 1000


@dataclass(frozen=True, kw_only=True)
class ZoneChange:
    """The effect of a person's change of zone on sleeping snoozes.

    `moves` are the snoozes that change their instant, or recur by the new zone's clock from now on; `passed` counts
    snoozes whose time has passed in the new zone, which keep their instant; `repeating` counts recurring moves;
    `subjects` are by id.
    """

    moves: tuple[ZoneShift, ...]
    passed: int
    repeating: int
    subjects: dict[int, str | None]

    @property
    def changed_times(self) -> tuple[ZoneShift, ...]:
        """The moves that change the instant, the next one first."""
        changed = (move for move in self.moves if move.remind_at != move.promised)
        return tuple(sorted(changed, key=lambda move: move.promised))

    @property
    def needs_confirmation(self) -> bool:
        """Whether the person has to choose: the change moves an instant or a recurrence."""
        return bool(self.changed_times or self.repeating)


def preview(connection: Connection, *, user_email: str, old: str, new: str, now: datetime) -> ZoneChange:
    """The effect that `apply` would have; changes nothing."""
    rows = snoozes.by_the_clock(connection, now=now, user_email=user_email, zone=old) if old != new else ()
    moves: list[ZoneShift] = []
    passed = 0
    for row in rows:
        at = _new_time(row, to=new)
        if at is not None and at <= now:
            passed += row.recurrence is None
            at = None if row.recurrence is None else row.promise
        if at is not None:
            moves.append(ZoneShift(id=row.id, promised=row.promise, remind_at=at, zone=new))
    moving = {move.id for move in moves}
    return ZoneChange(
        moves=tuple(moves),
        passed=passed,
        repeating=sum(row.recurrence is not None for row in rows if row.id in moving),
        subjects={row.id: row.subject for row in rows},
    )


def apply(connection: Connection, change: ZoneChange, *, old: str, route: str) -> int:
    """Apply a change that was previewed in this transaction, from the zone `old`; returns how many snoozes moved.
    Snoozes that are due or were changed since stay."""
    return len(_apply_moves(connection, change.moves, actor="user", route=route, old=old))


def find_outdated(
    connection: Connection, *, now: datetime, after: int = 0
) -> tuple[Sequence[ZoneShift], list[int], int | None]:
    """Promises whose instant differs by this machine's rules of their zones, in one batch of ids above `after`.

    Returns the moves, the ids whose zone or recurrence this machine does not know, and the id to go on after, None at
    the end.
    """
    rows = snoozes.by_the_clock(connection, now=now, after=after, size=BATCH_SIZE)
    moves: list[ZoneShift] = []
    unknown: list[int] = []
    for row in rows:
        at = _new_time(row, to=row.zone)
        if at is None:
            unknown.append(row.id)
        elif at != row.promise and at > now:
            moves.append(ZoneShift(id=row.id, promised=row.promise, remind_at=at, zone=row.zone))
    return moves, unknown, rows[-1].id if len(rows) == BATCH_SIZE else None


def apply_corrections(connection: Connection, moves: Sequence[ZoneShift], *, route: str) -> Iterator[ZoneShift]:
    """Apply moves of `find_outdated`; returns the moves that were applied."""
    applied = _apply_moves(connection, moves, actor="clock", route=route)
    return (move for move in moves if move.id in applied)


def _apply_moves(
    connection: Connection, moves: Sequence[ZoneShift], *, actor: str, route: str, old: str | None = None
) -> set[int]:
    if not moves:
        return set()
    applied = queue.shift_zone(connection, moves=moves)
    why = {"why": "rules"} if old is None else {"why": "zone", "from": old}
    lines = [
        (move.id, why | {"zone": move.zone, "was": move.promised.isoformat(), "at": move.remind_at.isoformat()})
        for move in moves
        if move.id in applied
    ]
    events.append_many(connection, kind="edited", actor=actor, route=route, lines=lines)
    return applied


def _new_time(row: Found, *, to: str) -> datetime | None:
    try:
        recurrence = None if row.recurrence is None else Recurrence.from_json(row.recurrence)
        return shift_zone(row.promise, wall=row.wall_time, zone=row.zone, to=to, recurrence=recurrence)
    except (KeyError, ValueError, OverflowError):
        log.warning("the recurrence of snooze %d cannot be read: it stays where it is", row.id)
        return None
