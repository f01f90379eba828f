"""After a failover to a standby that was behind: which mails went out again, and which snoozes are gone.

The judge's promise does not hold there, because the database did not keep what it had committed. What does hold is
compared here: with what `snoozer restored` listed, and with the seconds in which commits were lost.
"""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.storm import history
from tests.chaos.storm.evidence import Evidence, Mail

# From the moment a commit is acknowledged until the harness has written that down, and back.
TOLERANCE = 1.0


@dataclass(frozen=True, kw_only=True)
class Lag:
    """The seconds whose commits were lost: from the last that the standby received until the primary was `killed`."""

    since: float
    killed: float
    promoted: float


@dataclass(frozen=True, kw_only=True)
class Aftermath:
    """`repeated` and `marked` (those of them that the ledger calls uncertain) are Message-IDs of reminders; `differing`
    have copies that are not the same mail. `gone` are Message-IDs of acknowledged snoozes without a row and without a
    mail, `stuck` of those without a mail that have a row."""

    repeated: frozenset[str]
    marked: frozenset[str]
    differing: frozenset[str]
    gone: frozenset[str]
    stuck: frozenset[str]


def compare(evidence: Evidence) -> Aftermath:
    """What became of everything that was asked for."""
    arrived: dict[tuple[str, str], list[Mail]] = defaultdict(list)
    for mail in evidence.mails:
        arrived[mail.rcpt, mail.in_reply_to or ""].append(mail)
    entries = {(entry.user_email, entry.message_id): entry for entry in evidence.entries}
    acknowledged = {(one.user_email, one.message_id) for one in evidence.asked if one.acknowledged}
    copied = {key: mails for key, mails in arrived.items() if len(mails) > 1}
    marked = {
        key for key, mails in copied.items() if key in entries and _uncertain(entries[key].events) >= len(mails) - 1
    }
    differing = {key for key, mails in copied.items() if len({(mail.message_id, mail.sha256) for mail in mails}) > 1}
    missing = acknowledged - arrived.keys()
    return Aftermath(
        repeated=frozenset(str(mail.message_id) for mails in copied.values() for mail in mails),
        marked=frozenset(str(mail.message_id) for key in marked for mail in copied[key]),
        differing=frozenset(message_id for _, message_id in differing),
        gone=frozenset(message_id for _, message_id in missing - entries.keys()),
        stuck=frozenset(message_id for _, message_id in missing & entries.keys()),
    )


def asked_within(lag: Lag, *, log: Path) -> set[str]:
    """Message-IDs of the snoozes that were asked for in these seconds."""
    return {
        fact["message_id"]
        for fact in history.read(log)
        if fact["kind"] == "attempt" and lag.since - TOLERANCE <= fact["at"] <= lag.killed + TOLERANCE
    }


def mailed_after(moment: float, *, sink: Path) -> set[str]:
    """Message-IDs of the reminders that the mail server accepted after this moment."""
    return {mail["message_id"] for mail in history.read(sink) if mail["at"] > moment}


def _uncertain(events: tuple[str, ...]) -> int:
    return events.count("uncertain")
