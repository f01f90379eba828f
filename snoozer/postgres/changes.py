"""What some statements of the queue tell of the rows they changed or are to change."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, kw_only=True)
class Move:
    """A snooze by the clock that was promised for `promised` and comes at `remind_at` instead, on the clock of
    `zone`."""

    id: int
    promised: datetime
    remind_at: datetime
    zone: str


@dataclass(frozen=True, kw_only=True)
class Recovered:
    """A claim that was taken back from a lost worker."""

    id: int
    worker: str
    uncertain: bool
    retired: bool


@dataclass(frozen=True, kw_only=True)
class Doubtful:
    """A snooze that was set aside, and the Message-ID that its reminder has in the mail server's log."""

    id: int
    promise: datetime
    reminder_message_id: str
