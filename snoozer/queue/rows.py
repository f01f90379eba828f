"""What the statements of the queue return: the lanes of claims, imported snoozes, restored cases."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, kw_only=True)
class RestoredCase:
    """A snooze that may have been sent already after a restore, and its reminder's Message-ID, as in the mail server's
    log. It was retired, unless it `repeats`."""

    id: int
    promise: datetime
    repeats: bool
    reminder_message_id: str


@dataclass(frozen=True, kw_only=True)
class ImportedSnooze:
    """A snooze that an import brought, and whether its message is kept here."""

    id: int
    message_id: str
    is_kept: bool


@dataclass(frozen=True, kw_only=True)
class Lane:
    """Rows of one priority, with a serialization key or without, that lost so many workers (2 stands for more)."""

    priority: int = 0
    keyed: bool = False
    crashes: int = 0


@dataclass(frozen=True, kw_only=True)
class PriorityLevel:
    """A priority of which something is due at `now`, by the database's clock, and in which lanes; poison rows apart."""

    priority: int
    lanes: list[Lane]
    now: datetime
