"""The one word for where a snooze stands."""

from datetime import datetime
from typing import Literal

State = Literal["asleep", "due", "claimed", "sent", "cancelled", "retired", "paused"]


def state_of(*, inactive: bool, outcome: str | None, claimed: bool, remind_at: datetime, now: datetime) -> State:
    """The state of a row of `email_snoozes`; `outcome` is one of sent, cancelled, retired, or None while alive."""
    if outcome is not None:
        return outcome  # type: ignore[return-value]
    if inactive:
        return "paused"
    if claimed:
        return "claimed"
    return "due" if remind_at <= now else "asleep"
