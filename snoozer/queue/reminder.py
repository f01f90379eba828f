"""The data of a delivery: a claim, the send made from it, its outcome, and the sentences of what went wrong."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Literal
from uuid import UUID

from snoozer.queue.limits import MAX_RESENDS

_TIMES = {1: "once", 2: "twice"}[MAX_RESENDS]

# The effect of a reply to the snoozed message: none, end the snooze, or bring the message back at once; and whether a
# reply to another message of its thread counts, too.
ReplyPolicy = Literal["keep", "cancel_on_reply", "until_reply"]
ReplyScope = Literal["message", "thread"]

# The sentences of `last_error`, as people read them on a case.
ATTEMPTS_EXHAUSTED = "Its attempts were spent"
NO_ANSWER = "It may have been sent: no answer came after the end of the message"
RESENT_WITHOUT_ANSWER = f"It may have been sent, and was sent again {_TIMES} without an answer"
_LOST_AFTER_DOT = "It may have been sent: the worker was lost after the end of the message"
# Keys are the binds of queue.recover.
WORKER_LOST = {
    "error_lost": "The worker that held it was lost",
    "error_uncertain": f"{_LOST_AFTER_DOT}; it is sent again after the hold",
    "error_held": f"{_LOST_AFTER_DOT}; decide whether to send it again",
    "error_exhausted": f"It may have been sent, and was sent again {_TIMES}; the worker was lost each time",
}


@dataclass(frozen=True, kw_only=True)
class UncertainPolicy:
    """The policy for a reminder that may have been sent.

    After `hold` it is left to an operator (`for_operator`) or sent again, but not before `lookups` searches in the
    person's mailbox, at least `lookup_interval` apart, did not find it; with `only_connected`, only a connected and
    watched mailbox is searched.
    """

    hold: timedelta
    for_operator: bool = False
    lookups: int = 0
    lookup_interval: timedelta = timedelta(0)
    only_connected: bool = False


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A snooze that one worker may deliver until its lease expires. `claim_token` fences its decisions. `claimed_at` is
    by the database's clock; the reminder is late from `late_from` on: its promise, or the end of the rest that deferred
    it."""

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
    serialization_key: str | None = None
    crash_count: int = 0
    claimed_at: datetime | None = None
    late_from: datetime | None = None

    @property
    def is_review(self) -> bool:
        """Whether it has no date, and its person reviews it."""
        return self.recurrence is not None and self.recurrence.get("kind") == "someday"


@dataclass(frozen=True, kw_only=True)
class Member:
    """Another promise that a reminder lists, with its text."""

    snooze_id: int
    scheduled_for: datetime
    subject: str | None
    sender_email: str | None
    note: str | None


@dataclass(frozen=True, kw_only=True)
class Send:
    """The mail of a claimed promise, with everything its bytes are made of.

    `scheduled_for` is the instant the user was promised, `dated` the Date of the mail: the same instant, or when the
    snooze was entered if that was later. All of it comes from the claimed row and its promise, or from the ledger once
    a dot was authorised (`bytes_sha256`), so it renders the same bytes in every process. `former_token` is the token of
    the ledger's entry, if there is one. `resends` is how often it was sent again because no reply came, `refusals` how
    often the server refused its recipient for now. It goes to `recipient`, if that is not the address of the account.
    `thread_ids` are the ids of the messages before the original and its own, as they are written. The reminder of a
    digest lists its `members` after this promise; `is_review` if they have no date. `repeats` and the `excerpt` of a
    kept original may change between two copies. The mail's "tomorrow" counts from `as_of`: the time from which it is
    late, plus `late_by` if it says that it is late, as the first copy did; `delayed_by` is why.
    """

    snooze_id: int
    claim_token: UUID
    user_email: str
    message_id: str
    scheduled_for: datetime
    dated: datetime
    reminder_message_id: str
    subject: str | None
    sender_email: str | None
    note: str | None
    zone: str
    bytes_sha256: str | None
    former_token: UUID | None = None
    resends: int = 0
    refusals: int = 0
    thread_ids: str | None = None
    locale: str | None = None
    recipient: str | None = None
    digest_id: int | None = None
    members: tuple[Member, ...] = ()
    repeats: bool = False
    is_review: bool = False
    excerpt: str | None = None
    as_of: datetime | None = None
    late_by: timedelta | None = None
    delayed_by: str | None = None


class DeliveryOutcome(StrEnum):
    """The outcome of one delivery."""

    SENT = "sent"
    ALREADY_SENT = "already_sent"
    RETURNED = "returned"
    RELEASED = "released"
    DEFERRED = "postponed"
    RETIRED = "retired"
    UNCERTAIN = "uncertain"
    UNCERTAIN_CASE = "uncertain_case"
    LOST = "lost"
    UNCLAIMED = "handed_back"


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A failed delivery of a claimed snooze: why, the attempts it used, and when it is due again.

    With `retry_for` the snooze becomes a case once its promise is that old.
    """

    id: int
    claim_token: UUID
    error: str
    attempts_used: int
    delay: timedelta
    permanent: bool = False
    retry_for: timedelta | None = None


@dataclass(frozen=True, kw_only=True)
class Deferral:
    """A claimed snooze whose owner's day has a shape, and until when a rest defers it; without a `reason` no rest
    defers it now."""

    id: int
    until: datetime | None
    reason: str | None


@dataclass(frozen=True, kw_only=True)
class Recovered:
    """A claim that was released because its worker was lost."""

    id: int
    worker: str
    uncertain: bool
    retired: bool
