"""When a person wants a message back, as the statements of the queue take it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from snoozer.queue.reminder import ReplyPolicy, ReplyScope


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


@dataclass(frozen=True, kw_only=True)
class ZoneShift:
    """A snooze with a time on the clock, moved from the instant `promised` to `remind_at`, on the clock of `zone`."""

    id: int
    promised: datetime
    remind_at: datetime
    zone: str
