"""The worker's words: what it holds, what it is about to send, and what came of it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

# In characters: what a person may add to a message that is put away.
MAX_NOTE_LENGTH = 2_000


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A snooze that one worker may deliver until its lease runs out. `claim_token` is the proof."""

    id: int
    claim_token: UUID
    user_email: str
    message_id: str
    remind_at: datetime
    scheduled_for: datetime
    attempts: int
    recurrence: dict[str, Any] | None
    zone: str | None
    traceparent: str | None


@dataclass(frozen=True, kw_only=True)
class Send:
    """One reminder in the ledger, with everything its bytes are made of.

    `scheduled_for` is the instant the user was promised, `reserved_at` the first time a worker reserved this send.
    Both are aware and never change, so the same send renders the same bytes in every process.
    """

    id: int
    snooze_id: int
    claim_token: UUID
    user_email: str
    message_id: str
    scheduled_for: datetime
    reserved_at: datetime
    reminder_message_id: str
    subject: str | None
    sender_email: str | None
    note: str | None
    zone: str
    bytes_sha256: str | None


class DeliveryOutcome(StrEnum):
    """What became of one delivery."""

    SENT = "sent"
    ALREADY_SENT = "already_sent"
    RELEASED = "released"
    DEFERRED = "postponed"
    RETIRED = "retired"
    UNCERTAIN = "uncertain"
    LOST = "lost"
    UNCLAIMED = "handed_back"
