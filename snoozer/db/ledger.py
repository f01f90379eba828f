"""The ledger: one function per file in `sql/ledger`, of the same name.

reserved → sending (mark) → sent (record) · sending → reserved or failed (refuse)
sending → uncertain (doubt, recovery)
uncertain → reserved (reserve, after the hold) · uncertain → sent (record: a late reply; acknowledge: an answer to it)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Self
from uuid import UUID

from sqlalchemy import Connection

from snoozer.db.statements import ALL_IDS, execute, id_bounds, rows_as
from snoozer.domain.reminder import MAX_RESENDS, Send


@dataclass(frozen=True, kw_only=True)
class Reserved:
    """An entry we hold; `resent` when it was uncertain and its hold is over."""

    send: Send
    resent: bool

    @classmethod
    def of(cls, *, resent: bool, **send: Any) -> Self:
        """By the names of the columns."""
        return cls(send=Send(**send), resent=resent)


@dataclass(frozen=True, kw_only=True)
class KnownSend:
    """What the ledger says of a promise that could not be reserved."""

    id: int
    state: str
    resends: int
    hold_left: timedelta | None


@dataclass(frozen=True, kw_only=True)
class UncertainPolicy:
    """What is done about a reminder that may have been sent.

    It is held for `hold`; then it is left to an operator (`for_operator`) or sent again, but not before it was missed
    in the person's mailbox `looks` times, the looks at least `between_looks` apart.
    """

    hold: timedelta
    for_operator: bool = False
    lookups: int = 0
    lookup_interval: timedelta = timedelta(0)


@dataclass(frozen=True, kw_only=True)
class Fact:
    """What a mail server said of one reminder. It stands on its own: it can wait on disk for the database."""

    reminder_message_id: str
    snooze_id: int
    claim_token: UUID
    smtp_code: int
    enhanced_code: str | None
    reply: str
    queue_id: str | None


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """`late` when the claim had been lost before the reply came, `second_copy` when another copy was known as sent."""

    late: bool
    second_copy: bool


def reserve(
    connection: Connection, *, worker: str, ids: Sequence[int], domain: str, uncertainty: UncertainPolicy
) -> list[Reserved]:
    """Enter the promises of these claims; those that were sent, are in flight or on hold are missing from the answer.

    `domain` is the right side of the reminders' Message-IDs; the left side is a function of snooze and promise.
    """
    rows = execute(
        connection,
        "ledger/reserve",
        worker=worker,
        ids=list(ids),
        domain=domain,
        hold=uncertainty.hold,
        hold_for_operator=uncertainty.for_operator,
        lookups=uncertainty.lookups,
        max_resends=MAX_RESENDS,
    )
    return rows_as(rows, Reserved.of)


def lookup(connection: Connection, *, snooze_id: int, uncertainty: UncertainPolicy) -> KnownSend | None:
    """What is known of the promise of a claimed snooze."""
    row = execute(
        connection,
        "ledger/lookup",
        snooze_id=snooze_id,
        hold=uncertainty.hold,
        lookups=uncertainty.lookups,
        lookup_interval=uncertainty.lookup_interval,
    ).first()
    return None if row is None else KnownSend(**row._mapping)


def verify(
    connection: Connection, *, uncertainty: UncertainPolicy, batch_size: int, id_range: range = ALL_IDS
) -> list[tuple[int, bool]]:
    """Look for uncertain reminders in kept mailboxes; answers each looked-for snooze and whether it was found."""
    rows = execute(
        connection,
        "ledger/verify",
        hold=uncertainty.hold,
        lookup_interval=uncertainty.lookup_interval,
        batch_size=batch_size,
        **id_bounds(id_range),
    )
    return [(row.snooze_id, row.found) for row in rows]


def mark(connection: Connection, *, dots: Sequence[tuple[Send, str]]) -> set[int]:
    """Authorise the final dots of these sends, each with the sha256 of its bytes; answers the ids of those that may go.

    The others' claims were lost, cancelled or ran out, and nothing of them may be sent.
    """
    values = {
        "send_ids": [send.id for send, _ in dots],
        "snooze_ids": [send.snooze_id for send, _ in dots],
        "claim_tokens": [send.claim_token for send, _ in dots],
        "digests": [digest for _, digest in dots],
    }
    return set(execute(connection, "ledger/mark", **values).scalars().all())


def record(connection: Connection, *, facts: Sequence[Fact]) -> dict[str, Recorded]:
    """Write down that the server took these, wherever their entries lie by now. Telling it again changes nothing.

    Answers by Message-ID of the reminder; what is missing is no reminder of this database.
    """
    if len({fact.reminder_message_id for fact in facts}) < len(facts):
        # Two copies of one reminder: each is heard of by itself, so that the second is known as such.
        return {id: told for fact in facts for id, told in record(connection, facts=[fact]).items()}
    values = {
        "reminder_message_ids": [fact.reminder_message_id for fact in facts],
        "claim_tokens": [fact.claim_token for fact in facts],
        "smtp_codes": [fact.smtp_code for fact in facts],
        "enhanced_codes": [fact.enhanced_code for fact in facts],
        "replies": [fact.reply for fact in facts],
        "queue_ids": [fact.queue_id for fact in facts],
    }
    rows = execute(connection, "ledger/record", **values)
    told = {row.reminder_message_id: Recorded(late=row.late, second_copy=row.second_copy) for row in rows.all()}
    for fact in facts:
        archived = None if fact.reminder_message_id in told else record_archived(connection, fact=fact)
        if archived is not None:
            told[fact.reminder_message_id] = archived
    return told


def record_archived(connection: Connection, *, fact: Fact) -> Recorded | None:
    """The same for an entry that lies in the archive; None when it does not."""
    row = execute(
        connection,
        "ledger/record_archived",
        reminder_message_id=fact.reminder_message_id,
        claim_token=fact.claim_token,
        smtp_code=fact.smtp_code,
        enhanced_code=fact.enhanced_code,
        reply=fact.reply,
        queue_id=fact.queue_id,
    ).first()
    return None if row is None else Recorded(**row._mapping)


def refuse(
    connection: Connection,
    *,
    send: Send,
    permanent: bool,
    reply: str,
    smtp_code: int | None = None,
    enhanced_code: str | None = None,
) -> bool:
    """Write down that the server did not take it, or that the dot never left."""
    row = execute(
        connection,
        "ledger/refuse",
        send_id=send.id,
        claim_token=send.claim_token,
        permanent=permanent,
        reply=reply,
        smtp_code=smtp_code,
        enhanced_code=enhanced_code,
    ).first()
    return row is not None


def mark_uncertain(connection: Connection, *, send: Send, reply: str) -> int | None:
    """The dot left and no answer came: how often it was sent again before, or None when it is no longer ours."""
    row = execute(
        connection, "ledger/mark_uncertain", send_id=send.id, claim_token=send.claim_token, reply=reply
    ).first()
    return None if row is None else row.resends


def expire_orphans(
    connection: Connection, *, deadline: timedelta, batch_size: int, id_range: range = ALL_IDS
) -> list[int]:
    """Marks older than `deadline` that nobody holds any more become uncertain; answers their snoozes."""
    values = {"deadline": deadline, "batch_size": batch_size, **id_bounds(id_range)}
    return list(execute(connection, "ledger/expire_orphans", **values).scalars())


def abandon(connection: Connection, *, hold: timedelta, batch_size: int, id_range: range = ALL_IDS) -> list[int]:
    """Uncertain entries whose promise is no longer wanted are settled after `hold`; answers their snoozes."""
    values = {"hold": hold, "batch_size": batch_size, **id_bounds(id_range)}
    return list(execute(connection, "ledger/abandon", **values).scalars())


def acknowledge(connection: Connection, *, snooze_id: int, scheduled_for: datetime) -> bool:
    """The person answered this reminder, so it came; False when there was no doubt."""
    values = {"snooze_id": snooze_id, "scheduled_for": scheduled_for}
    return execute(connection, "ledger/acknowledge", **values).first() is not None


def reopen(connection: Connection, *, ids: Sequence[int], actor: str) -> list[int]:
    """An operator sends these snoozes' open entries again."""
    return list(execute(connection, "ledger/reopen", ids=list(ids), actor=actor).scalars())


def give_up(connection: Connection, *, ids: Sequence[int], actor: str) -> list[int]:
    """An operator gives these snoozes' uncertain entries up."""
    return list(execute(connection, "ledger/give_up", ids=list(ids), actor=actor).scalars())
