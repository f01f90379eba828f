"""The state of a snooze, as pages and API name it."""

from datetime import datetime
from typing import Literal

Outcome = Literal["sent", "cancelled", "retired"]
State = Literal["asleep", "due", "claimed", "sent", "cancelled", "retired", "paused"]


def state_of(*, inactive: bool, outcome: Outcome | None, claimed: bool, due_at: datetime, now: datetime) -> State:
    """The state of a row of `email_snoozes`; `outcome` is None while it is alive. What is overdue is due, also while it
    waits for another try; what a rest of its owner defers is due at the end of that."""
    if outcome is not None:
        return outcome
    if inactive:
        return "paused"
    if claimed:
        return "claimed"
    return "due" if due_at <= now else "asleep"
