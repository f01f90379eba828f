"""The promise of a snooze as the statements of the queue take it: its time, its terms and its options.

`Conditions` and `EnqueueOptions` declare the columns that people choose: requests, answers, acts, exports and imports
take each field by its name and its type.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, get_type_hints

from snoozer.queue.limits import MAX_PRIORITY, MIN_PRIORITY
from snoozer.queue.reminder import ReplyPolicy, ReplyScope


@dataclass(frozen=True, kw_only=True)
class EnqueueOptions:
    """How workers treat a snooze, and the program's own reference. None keeps the row's present value, or the table's
    default for a new row.

    Larger priorities, from -1000 to 1000, are claimed first. Of the rows with one `serialization_key` (at most 998
    octets) only one is in flight at any time. `max_attempts` is how often a delivery may fail. Webhooks name
    `reference` (at most 200 characters).
    """

    priority: int | None = None
    serialization_key: str | None = None
    max_attempts: int | None = None
    reference: str | None = None

    def __post_init__(self) -> None:
        if self.priority is not None and not MIN_PRIORITY <= self.priority <= MAX_PRIORITY:
            raise ValueError(f"priority must lie between {MIN_PRIORITY} and {MAX_PRIORITY}, and is {self.priority}")


DEFAULT_OPTIONS = EnqueueOptions()


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """The conditions of a return besides its time. `reply_policy` is the effect of a reply, and `reply_scope` which
    replies count; None keeps the snooze's present value, at first `keep` and `message`. With `at_any_hour`, it comes
    even if its owner's day lets no reminder through."""

    reply_policy: ReplyPolicy | None = None
    reply_scope: ReplyScope | None = None
    at_any_hour: bool = False


CONDITIONS: Mapping[str, Any] = MappingProxyType(get_type_hints(Conditions))
OPTIONS: Mapping[str, Any] = MappingProxyType(get_type_hints(EnqueueOptions))
# The type of each column that people choose.
CHOICES: Mapping[str, Any] = MappingProxyType({**CONDITIONS, **OPTIONS})
# They affect what other people wait for, so an export does not have them, and an import does not believe them.
_NOT_EXPORTED = {"priority", "max_attempts", "serialization_key"}
EXPORTED = MappingProxyType({name: kind for name, kind in CHOICES.items() if name not in _NOT_EXPORTED})


@dataclass(frozen=True, kw_only=True)
class ReminderTime(Conditions):
    """When a person wants a message back, and the terms in which they asked for it.

    `remind_at` is aware. `wall_time` is naive, in `zone`; `time_kind` is "elapsed" (a number of minutes from now) or
    "wall" (a time on the clock), both None for a given instant. `recurrence` is a Recurrence as JSON.
    """

    remind_at: datetime
    duration_hours: int | None = None
    note: str | None = None
    wall_time: datetime | None = None
    zone: str | None = None
    time_kind: str | None = None
    recurrence: dict[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class ZoneShift:
    """A snooze with a time on the clock, moved from the instant `promised` to `remind_at`, on the clock of `zone`."""

    id: int
    promised: datetime
    remind_at: datetime
    zone: str
