"""The body of a webhook: a reference to a snooze, not a copy of it."""

import json
from datetime import UTC, datetime
from typing import Any

from snoozer.translations import N_

# In the order in which they happen to a snooze.
EVENTS = ("created", "edited", "due", "sent", "returned", "done", "cancelled", "stuck")
TEST = "test"
# Why an endpoint is off.
OFF_WORDS = {
    "gone": N_("It answered 410, which means that it is gone for good."),
    "failing": N_("It took nothing for three days."),
    "key": N_("Its secret can no longer be read here. Make a new one."),
    "owner": N_("You switched it off."),
}


def type_of(event: str) -> str:
    """The type of an event on the wire."""
    return "webhook.test" if event == TEST else f"snooze.{event}"


def compose(
    *,
    event: str,
    occurred_at: datetime,
    snooze_id: int | None,
    repeats: bool,
    scheduled_for: datetime | None,
    remind_at: datetime | None,
    reference: str | None,
    subject: str | None,
) -> str:
    """The body of a webhook: always the same text for the same event. `subject` is left out if it is None."""
    data: dict[str, Any] = {}
    if snooze_id is not None:
        data = {
            "id": snooze_id,
            "kind": "repeating" if repeats else "once",
            "scheduled_for": _written(scheduled_for),
            "remind_at": _written(remind_at),
            "reference": reference,
        }
    if subject is not None:
        data["subject"] = subject
    content = {"type": type_of(event), "timestamp": _written(occurred_at), "data": data}
    return json.dumps(content, separators=(",", ":"))


def _written(at: datetime | None) -> str | None:
    return None if at is None else at.astimezone(UTC).isoformat().replace("+00:00", "Z")
