"""When a person wants a message back."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, kw_only=True)
class ReminderTime:
    """When a person wants a message back, and how they said it.

    `remind_at` is aware. `wall_time` is naive, in `zone`; `time_kind` is "elapsed" (so many minutes from now) or
    "wall" (a time on the clock), both None where an instant was given. `recurrence` is a Recurrence as JSON.
    """

    remind_at: datetime
    duration_hours: int | None = None
    note: str | None = None
    wall_time: datetime | None = None
    zone: str | None = None
    time_kind: str | None = None
    recurrence: dict[str, Any] | None = None

    @property
    def columns(self) -> dict[str, object]:
        """What the queue's statements bind."""
        return {
            "remind_at": self.remind_at,
            "snooze_duration_hours": self.duration_hours,
            "note": self.note,
            "wall_time": self.wall_time,
            "zone": self.zone,
            "time_kind": self.time_kind,
            "recurrence": None if self.recurrence is None else json.dumps(self.recurrence),
        }
