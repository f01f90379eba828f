"""When a person wants a message back, as the statements of the queue take it."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from snoozer.domain.reminder import ReplyPolicy, ReplyScope


@dataclass(frozen=True, kw_only=True)
class ReminderTime:
    """When a person wants a message back, and the terms in which they asked for it.

    `remind_at` is aware. `wall_time` is naive, in `zone`; `time_kind` is "elapsed" (so many minutes from now) or
    "wall" (a time on the clock), both None where an instant was given. `recurrence` is a Recurrence as JSON.
    `reply_policy` is what a reply does, and `reply_scope` to what; None keeps what the snooze has, at first `keep` and
    `message`.
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
        }
