"""What a program gives along with a snooze that is entered in the queue."""

from dataclasses import dataclass

MIN_PRIORITY, MAX_PRIORITY = -1000, 1000
DEFAULT_MAX_ATTEMPTS = 5


@dataclass(frozen=True, kw_only=True)
class EnqueueOptions:
    """How workers treat a snooze, and what its program calls it. None keeps the row's present value, or the table's
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
