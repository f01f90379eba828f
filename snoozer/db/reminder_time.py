"""When a person wants a message back, and the terms of a snooze that is changed, as the statements of the queue take
them."""

import json
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from snoozer.domain.reminder import ReplyPolicy, ReplyScope


@dataclass(frozen=True, kw_only=True)
class ReminderTime:
    """When a person wants a message back, and the terms in which they asked for it.

    `remind_at` is aware. `wall_time` is naive, in `zone`; `time_kind` is "elapsed" (so many minutes from now) or
    "wall" (a time on the clock), both None where an instant was given. `recurrence` is a Recurrence as JSON.
    `reply_policy` is what a reply does, and `reply_scope` to what; None keeps what the snooze has, at first `keep` and
    `message`. `at_any_hour`, it comes then although its owner's day lets nothing through.
    """

    remind_at: datetime
    duration_hours: int | None = None
    note: str | None = None
    wall_time: datetime | None = None
    zone: str | None = None
    time_kind: str | None = None
    recurrence: dict[str, Any] | None = None
    reply_policy: ReplyPolicy | None = None
    reply_scope: ReplyScope | None = None
    at_any_hour: bool = False

    @property
    def columns(self) -> dict[str, object]:
        """The binds of the queue's statements."""
        return {
            "remind_at": self.remind_at,
            "snooze_duration_hours": self.duration_hours,
            "note": self.note,
            "wall_time": self.wall_time,
            "zone": self.zone,
            "time_kind": self.time_kind,
            "recurrence": None if self.recurrence is None else json.dumps(self.recurrence),
            "reply_policy": self.reply_policy,
            "reply_scope": self.reply_scope,
            "at_any_hour": self.at_any_hour,
        }


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What an undo puts back: the promise, what it was made of, whether the snooze was paused, and how it ended."""

    remind_at: datetime
    recurrence: dict[str, Any] | None
    wall_time: datetime | None
    zone: str | None
    time_kind: str | None
    paused: bool
    outcome: str | None = None
    at_any_hour: bool = False

    def as_json(self) -> dict[str, Any]:
        """Plain values for an event; `from_json` takes them back."""
        wall = self.wall_time.isoformat() if self.wall_time else None
        return asdict(self) | {"remind_at": self.remind_at.isoformat(), "wall_time": wall}

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> "Terms":
        """What `as_json` wrote."""
        wall = datetime.fromisoformat(plain["wall_time"]) if plain["wall_time"] else None
        return cls(**plain | {"remind_at": datetime.fromisoformat(plain["remind_at"]), "wall_time": wall})

    @property
    def columns(self) -> dict[str, object]:
        """The binds of the queue's statements."""
        return asdict(self) | {"recurrence": None if self.recurrence is None else json.dumps(self.recurrence)}


@dataclass(frozen=True, kw_only=True)
class ZoneShift:
    """A snooze with a time on the clock, moved from the instant `promised` to `remind_at`, on the clock of `zone`."""

    id: int
    promised: datetime
    remind_at: datetime
    zone: str
