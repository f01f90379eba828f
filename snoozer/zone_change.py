"""USE CASE of times on the clock: they follow their person into another zone, and a zone into its newer rules.

Only what was asked for as a time on the clock can move; what was asked for as so many minutes or as an instant stays.
A move is a new promise and leaves an event.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from snoozer.db import events, queue
from snoozer.db.queries import Found, snoozes
from snoozer.db.queue import ZoneShift
from snoozer.timephrase import Recurrence
from snoozer.timephrase.recurrence import shift_zone

log = logging.getLogger(__name__)

BATCH = 1000


@dataclass(frozen=True, kw_only=True)
class ZoneChange:
    """What a person's move to another zone does to what is asleep.

    `moves` are those that change their instant or go on by the other zone's clock; `passed` counts those whose hour
    is over there by now, which keep their instant; `subjects` are by id.
    """

    moves: tuple[ZoneShift, ...]
    passed: int
    repeating: int
    subjects: dict[int, str | None]

    @property
    def changed_times(self) -> tuple[ZoneShift, ...]:
        """Those that come back at another instant, the next one first."""
        other = (move for move in self.moves if move.remind_at != move.promised)
        return tuple(sorted(other, key=lambda move: move.promised))

    @property
    def needs_confirmation(self) -> bool:
        """Does it make a difference whether they follow?"""
        return bool(self.changed_times or self.repeating)


def preview(connection: Connection, *, user_email: str, old: str, new: str, now: datetime) -> ZoneChange:
    """What `follow` would do. Reads only."""
    rows = snoozes.by_the_clock(connection, now=now, user_email=user_email, zone=old) if old != new else ()
    moves: list[ZoneShift] = []
    passed = 0
    for row in rows:
        at = _moved(row, to=new)
        if at is not None and at <= now:
            passed += row.recurrence is None
            at = None if row.recurrence is None else row.promise
        if at is not None:
            moves.append(ZoneShift(id=row.id, promised=row.promise, remind_at=at, zone=new))
    going = {move.id for move in moves}
    return ZoneChange(
        moves=tuple(moves),
        passed=passed,
        repeating=sum(row.recurrence is not None for row in rows if row.id in going),
        subjects={row.id: row.subject for row in rows},
    )


def apply(connection: Connection, ahead: ZoneChange, *, old: str, route: str) -> int:
    """Times on the clock of `old` keep their hour on the clock of the new zone, as foreseen in this transaction;
    answers how many did. What has come due or was changed meanwhile stays."""
    return len(_carry_out(connection, ahead.moves, actor="user", route=route, old=old))


def find_outdated(
    connection: Connection, *, now: datetime, after: int = 0
) -> tuple[Sequence[ZoneShift], list[int], int | None]:
    """Promises that the rules of their zones, as this machine knows them, put at another instant.

    Looks at one batch of rows with ids above `after`; answers the moves, the ids nothing can be said about (a zone or
    a repetition that this machine does not know), and the id to go on after, None at the end.
    """
    rows = snoozes.by_the_clock(connection, now=now, after=after, size=BATCH)
    moves: list[ZoneShift] = []
    unknown: list[int] = []
    for row in rows:
        at = _moved(row, to=row.zone)
        if at is None:
            unknown.append(row.id)
        elif at != row.promise and at > now:
            moves.append(ZoneShift(id=row.id, promised=row.promise, remind_at=at, zone=row.zone))
    return moves, unknown, rows[-1].id if len(rows) == BATCH else None


def apply_corrections(connection: Connection, moves: Sequence[ZoneShift], *, route: str) -> Iterator[ZoneShift]:
    """Carry such moves out; answers those that were."""
    done = _carry_out(connection, moves, actor="clock", route=route)
    return (move for move in moves if move.id in done)


def _carry_out(
    connection: Connection, moves: Sequence[ZoneShift], *, actor: str, route: str, old: str | None = None
) -> set[int]:
    if not moves:
        return set()
    done = queue.shift_zone(connection, moves=moves)
    why = {"why": "rules"} if old is None else {"why": "zone", "from": old}
    lines = [
        (move.id, why | {"zone": move.zone, "was": move.promised.isoformat(), "at": move.remind_at.isoformat()})
        for move in moves
        if move.id in done
    ]
    events.append_many(connection, kind="edited", actor=actor, route=route, lines=lines)
    return done


def _moved(row: Found, *, to: str) -> datetime | None:
    try:
        recurrence = None if row.recurrence is None else Recurrence.from_json(row.recurrence)
        return shift_zone(row.promise, wall=row.wall_time, zone=row.zone, to=to, recurrence=recurrence)
    except (KeyError, ValueError, OverflowError):
        log.warning("the recurrence of snooze %d cannot be read: it stays where it is", row.id)
        return None
