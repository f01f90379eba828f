"""The ledger: one function per statement in `sql/queue/ledger`, of the same name.

no entry, failed → sending (authorise) → sent (record) · sending → failed (refuse)
sending → uncertain (mark_uncertain, expire_orphans, queue.recover)
uncertain → sending (authorise, after the hold) · uncertain → sent (record: a late reply; acknowledge; verify;
record_lookup; resolve) · uncertain → failed (refuse, reopen, abandon, dismiss, resolve)
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import Connection

from snoozer.db.statements import ALL_IDS, execute, id_bounds, row_as, rows_as
from snoozer.queue.limits import MAX_RESENDS
from snoozer.queue.reminder import Claim, Send, UncertainPolicy

# The fields of a mail that its entry keeps.
ENTERED = (
    *("snooze_id", "claim_token", "reminder_message_id", "digest_id", "recipient"),
    *("subject", "sender_email", "note", "zone", "locale", "late_by", "delayed_by"),
)

Resolution = Literal["settled", "resend", "dropped"]


@dataclass(frozen=True, kw_only=True)
class Authorised:
    """A dot that may leave under this claim, in `early` seconds: when the time has come that the reminder is late from.
    `resent` if the reminder may have been sent before."""

    claim_token: UUID
    snooze_id: int
    resent: bool
    early: float


@dataclass(frozen=True, kw_only=True)
class KnownSend:
    """The ledger's entry for a promise that has no mail of its own now; `hold_left` only while it is uncertain.

    Without an entry (`id` None), the return of its message keeps the promise (`state` returned), or may yet (awaited):
    look again after `hold_left`.
    """

    id: int | None
    state: str
    resends: int
    hold_left: timedelta | None


@dataclass(frozen=True, kw_only=True)
class Reminded:
    """The message that a reminder is about."""

    message_id: str
    sender_email: str | None


@dataclass(frozen=True, kw_only=True)
class Sought:
    """A reminder that may have been sent about `sent_about`, and must be searched for in a connected mailbox."""

    id: int
    snooze_id: int
    reminder_message_id: str
    sent_about: datetime


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A mail server's acceptance of one reminder. Self-contained, so that it can be kept on disk."""

    reminder_message_id: str
    snooze_id: int
    claim_token: UUID
    smtp_code: int
    enhanced_code: str | None
    reply: str
    queue_id: str | None


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """`late` when the claim was lost before the reply came, `second_copy` when another copy was recorded as sent."""

    late: bool
    second_copy: bool


@dataclass(frozen=True, kw_only=True)
class Reported:
    """The reminder that a mail system reports about, and the address that it went to; `is_new` if it had not reported
    the same before."""

    recipient: str
    handed_over_at: datetime
    is_new: bool


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """The server refused a reminder, or no dot was sent.

    `of_recipient` when it refused this recipient only, and for now.
    """

    send: Send
    reply: str
    smtp_code: int | None = None
    enhanced_code: str | None = None
    of_recipient: bool = False


def list_sendable(
    connection: Connection, *, worker: str | None, ids: Sequence[int], domain: str, uncertainty: UncertainPolicy
) -> list[Send]:
    """The mails of these claims, or without a worker, of these unclaimed snoozes; mails that must not be sent now are
    missing."""
    values = {"worker": worker, "ids": list(ids), "domain": domain, **_policy(uncertainty)}
    return rows_as(execute(connection, "ledger/list_sendable", **values), Send)


def _policy(uncertainty: UncertainPolicy) -> dict[str, Any]:
    return {
        "hold": uncertainty.hold,
        "hold_for_operator": uncertainty.for_operator,
        "max_resends": MAX_RESENDS,
        "lookups": uncertainty.lookups,
        "only_connected": uncertainty.only_connected,
    }


def lookup(connection: Connection, *, snooze_id: int, uncertainty: UncertainPolicy) -> KnownSend | None:
    """The entry for the promise of a claimed snooze."""
    return row_as(execute(connection, "ledger/lookup", snooze_id=snooze_id, **vars(uncertainty)).first(), KnownSend)


def mark_alone(connection: Connection, *, claims: Sequence[Claim]) -> None:
    """Record that the returns of these messages alone keep their promises."""
    values = {"snooze_ids": [claim.id for claim in claims], "promises": [claim.scheduled_for for claim in claims]}
    execute(connection, "ledger/mark_alone", **values)


def verify(
    connection: Connection, *, uncertainty: UncertainPolicy, batch_size: int, id_range: range = ALL_IDS
) -> list[tuple[int, bool]]:
    """Search kept mailboxes for uncertain reminders; returns each snooze searched for and whether it was found."""
    rows = execute(connection, "ledger/verify", batch_size=batch_size, **vars(uncertainty), **id_bounds(id_range))
    return [(row.snooze_id, row.found) for row in rows]


def list_sought(
    connection: Connection, *, mailbox_id: int, uncertainty: UncertainPolicy, batch_size: int
) -> list[Sought]:
    """The uncertain reminders that may lie in this connected mailbox, and were not searched for lately."""
    values = {"mailbox_id": mailbox_id, "lookup_interval": uncertainty.lookup_interval, "batch_size": batch_size}
    return rows_as(execute(connection, "ledger/list_sought", **values), Sought)


def record_lookup(
    connection: Connection, *, id: int, found: bool, mailbox_id: int, fence: int, uncertainty: UncertainPolicy
) -> bool:
    """Record that an uncertain reminder was searched for in a connected mailbox. Returns False if it is not uncertain
    any more, and for a former owner of the mailbox."""
    values = {"id": id, "found": found, "mailbox_id": mailbox_id, "fence": fence, "hold": uncertainty.hold}
    return execute(connection, "ledger/record_lookup", **values).first() is not None


def authorise(
    connection: Connection, *, dots: Sequence[tuple[Send, str]], uncertainty: UncertainPolicy
) -> list[Authorised]:
    """Authorise the final dots of these mails, each with the sha256 of its bytes.

    If a mail is missing from the result, its dot must not be sent: the claim was lost, or the row changed.
    """
    mails = [
        {
            **{name: getattr(send, name) for name in ENTERED},
            "bytes_sha256": digest,
            "members": None if send.digest_id is None or send.bytes_sha256 else len(send.members),
        }
        for send, digest in dots
    ]
    values = {"mails": json.dumps(mails, default=str), **_policy(uncertainty)}
    return rows_as(execute(connection, "ledger/authorise", **values), Authorised)


def record(connection: Connection, *, facts: Sequence[Fact]) -> dict[str, Recorded]:
    """Record that the server accepted these, in the ledger or the archive. Idempotent.

    The result is by the reminder's Message-ID. Reminders that another transaction has locked (`exists`), and
    Message-IDs that are no reminders of this database, are missing.
    """
    if len({fact.reminder_message_id for fact in facts}) < len(facts):
        # Record two copies of one reminder one after the other, so that the second is recognised as a copy.
        return {id: result for fact in facts for id, result in record(connection, facts=[fact]).items()}
    values = {
        "reminder_message_ids": [fact.reminder_message_id for fact in facts],
        "claim_tokens": [fact.claim_token for fact in facts],
        "smtp_codes": [fact.smtp_code for fact in facts],
        "enhanced_codes": [fact.enhanced_code for fact in facts],
        "replies": [fact.reply for fact in facts],
        "queue_ids": [fact.queue_id for fact in facts],
    }
    rows = execute(connection, "ledger/record", **values)
    recorded = {row.reminder_message_id: Recorded(late=row.late, second_copy=row.second_copy) for row in rows.all()}
    for fact in facts:
        archived = None if fact.reminder_message_id in recorded else record_archived(connection, fact=fact)
        if archived is not None:
            recorded[fact.reminder_message_id] = archived
    return recorded


def record_archived(connection: Connection, *, fact: Fact) -> Recorded | None:
    """Record the fact in the archive; returns None when the send is not there."""
    return row_as(execute(connection, "ledger/record_archived", **vars(fact)).first(), Recorded)


def report(
    connection: Connection, *, snooze_id: int, scheduled_for: datetime, kind: str, code: str, text: str
) -> Reported | None:
    """Record what a mail system reports about the reminder of this promise. Idempotent. Returns None without such a
    reminder."""
    values = {"snooze_id": snooze_id, "scheduled_for": scheduled_for, "kind": kind, "code": code, "text": text}
    return row_as(execute(connection, "ledger/report", **values).first(), Reported)


def exists(connection: Connection, *, reminder_message_ids: Sequence[str]) -> set[str]:
    """Which of these reminders the ledger knows."""
    return set(execute(connection, "ledger/exists", reminder_message_ids=list(reminder_message_ids)).scalars())


def find_reminders(
    connection: Connection, *, reminder_message_ids: Collection[str], user_email: str
) -> dict[str, Reminded]:
    """The messages that Snoozer's reminders to this person are about, by the reminders' Message-IDs."""
    values = {"reminder_message_ids": list(reminder_message_ids), "user_email": user_email}
    rows = execute(connection, "ledger/find_reminders", **values)
    return {row.reminder_message_id: Reminded(message_id=row.message_id, sender_email=row.sender_email) for row in rows}


def lock(connection: Connection, *, sends: Sequence[Send]) -> set[str]:
    """Lock the entries of these sends; returns the reminders' Message-IDs of the entries locked, without those that
    another transaction has locked."""
    ids = [send.reminder_message_id for send in sends]
    return set(execute(connection, "ledger/lock", reminder_message_ids=ids).scalars())


def refuse(connection: Connection, *, refusals: Sequence[Refusal]) -> set[str]:
    """Record these refusals; returns the reminders' Message-IDs of the entries that their claims still own."""
    if refused := [one.send for one in refusals if one.smtp_code is not None and one.send.former_token is None]:
        enter_refused(connection, sends=refused)
    values = {
        "reminder_message_ids": [one.send.reminder_message_id for one in refusals],
        "claim_tokens": [one.send.claim_token for one in refusals],
        "former_tokens": [one.send.former_token for one in refusals],
        "of_recipients": [one.of_recipient for one in refusals],
        "smtp_codes": [one.smtp_code for one in refusals],
        "enhanced_codes": [one.enhanced_code for one in refusals],
        "replies": [one.reply for one in refusals],
    }
    return set(execute(connection, "ledger/refuse", **values).scalars())


def enter_refused(connection: Connection, *, sends: Sequence[Send]) -> None:
    """Enter mails that the server refused before a dot was authorised, unless they have an entry."""
    values = {
        "snooze_ids": [send.snooze_id for send in sends],
        "promises": [send.scheduled_for for send in sends],
        "reminder_message_ids": [send.reminder_message_id for send in sends],
        "claim_tokens": [send.claim_token for send in sends],
        "zones": [send.zone for send in sends],
        "locales": [send.locale for send in sends],
    }
    execute(connection, "ledger/enter_refused", **values)


def mark_uncertain(connection: Connection, *, silences: Sequence[tuple[Send, str]]) -> set[str]:
    """Record that no reply came after the dots of these sends, each for its reason; returns the reminders' Message-IDs
    of the sends that became uncertain."""
    values = {
        "reminder_message_ids": [send.reminder_message_id for send, _ in silences],
        "claim_tokens": [send.claim_token for send, _ in silences],
        "replies": [reason for _, reason in silences],
    }
    return set(execute(connection, "ledger/mark_uncertain", **values).scalars())


def expire_orphans(
    connection: Connection, *, deadline: timedelta, batch_size: int, id_range: range = ALL_IDS
) -> list[int]:
    """Make marks older than `deadline` without a claim uncertain; returns their snoozes."""
    values = {"deadline": deadline, "batch_size": batch_size, **id_bounds(id_range)}
    return list(execute(connection, "ledger/expire_orphans", **values).scalars())


def abandon(connection: Connection, *, hold: timedelta, batch_size: int, id_range: range = ALL_IDS) -> list[int]:
    """Settle uncertain entries of cancelled or rescheduled promises after `hold`; returns their snoozes."""
    values = {"hold": hold, "batch_size": batch_size, **id_bounds(id_range)}
    return list(execute(connection, "ledger/abandon", **values).scalars())


def acknowledge(connection: Connection, *, snooze_id: int, scheduled_for: datetime, by_mail: bool) -> bool:
    """Record that the person acted on this reminder, so it arrived; a digest only if they did so `by_mail`, by one of
    its links. Returns False if it was not uncertain."""
    values = {"snooze_id": snooze_id, "scheduled_for": scheduled_for, "by_mail": by_mail}
    return execute(connection, "ledger/acknowledge", **values).first() is not None


def reopen(connection: Connection, *, ids: Sequence[int], actor: str) -> list[int]:
    """Allow these snoozes' open entries to be sent again, by an operator; returns the snoozes."""
    return list(execute(connection, "ledger/reopen", ids=list(ids), actor=actor).scalars())


def dismiss(connection: Connection, *, ids: Sequence[int], actor: str) -> list[int]:
    """Give up these snoozes' uncertain entries, by an operator; returns the snoozes."""
    return list(execute(connection, "ledger/dismiss", ids=list(ids), actor=actor).scalars())


def doubt_again(connection: Connection, *, ids: Sequence[int]) -> list[int]:
    """Take back that these snoozes' uncertain entries were given up; returns the snoozes."""
    return list(execute(connection, "ledger/doubt_again", ids=list(ids)).scalars())


def lock_promised(connection: Connection, *, snooze_ids: Sequence[int]) -> set[int]:
    """Lock the entries of these snoozes' promises; returns the snoozes whose entry another transaction has locked."""
    return set(execute(connection, "ledger/lock_promised", snooze_ids=list(snooze_ids)).scalars())


def resolve(
    connection: Connection, *, promises: Mapping[int, datetime], resolution: Resolution, actor: str
) -> list[int]:
    """Decide about the uncertain reminders of these promises, by snooze, as an operator: they were sent, are sent again
    with the same bytes, or are given up; returns the snoozes whose reminders were uncertain."""
    values = {"snooze_ids": list(promises), "promises": list(promises.values()), "resolution": resolution}
    return list(execute(connection, "ledger/resolve", actor=actor, **values).scalars())
