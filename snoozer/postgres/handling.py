"""What a program may ask of the workers for a snooze of its own."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Handling:
    """How workers are to treat a snooze. What is None stays as it is, or as the table has it for a new row.

    Larger priorities go first. Of those with one `serialization_key` (998 octets at most) only one is in flight at any
    time. Workers that do not know its `schema_version` leave it to newer ones.
    """

    priority: int | None = None
    max_attempts: int | None = None
    serialization_key: str | None = None
    schema_version: int | None = None


ORDINARY = Handling()
