"""The judge: what was promised, what arrived, and whether the difference was written down. Words as in Jepsen.

attempted   snoozes the harness asked for          acked       those whose INSERT was committed
delivered   snoozes with at least one mail         recovered   delivered though never acknowledged
lost        a reminder is owed, and no case        cases       owed, no mail, shown to people as a case
duplicated  promises with more than one mail       unexpected  mails that no snooze asked for
uncertain   snoozes whose ledger noted that once      late        facts that came after the claim was lost
wrong       messages with a mail that was too early, withdrawn, stale or misdated (arrivals.py), or that left its
            key's order (keys.py)

A duplicate is *marked* when the ledger recorded an `uncertain` for every copy after the first, and all copies have
the ledger's Message-ID and sha256. Any other duplicate is *unmarked*, and that is a broken promise. `differing` are
duplicates whose copies are not the same mail, but for what an operator sent again with an edited note or more than
five minutes late (decision 0004: such a copy has the ledger's id and its new bytes); `forged` are sends that the
ledger calls sent and no server has.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from tests.chaos.storm import arrivals, keys, timing
from tests.chaos.storm.arrivals import Arrivals, Message, PromiseId
from tests.chaos.storm.evidence import Entry, Evidence, Mail
from tests.chaos.storm.timing import Figures, Recovery

MOST_NAMED = 20


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Counts; `named` lists up to twenty message ids of each kind that should not be there. Times in seconds."""

    attempted: int
    acked: int
    delivered: int
    recovered: int
    lost: int
    cases: int
    duplicated: int
    copies: int
    unmarked: int
    differing: int
    forged: int
    unexpected: int
    wrong: int
    uncertain: int
    late: int
    cancelled: int
    edited: int
    recovery: Recovery
    wait: Figures
    silence: float
    named: dict[str, list[str]] = field(default_factory=dict)

    @property
    def keeps_the_promise(self) -> bool:
        """Nothing lost, no unmarked duplicate, no differing byte, nothing unexpected or wrong, no forged fact."""
        return not any((self.lost, self.unmarked, self.differing, self.forged, self.unexpected, self.wrong))

    def as_json(self) -> dict[str, Any]:
        return {"valid": self.keeps_the_promise, **asdict(self)}


def judge(evidence: Evidence) -> Verdict:
    """Compare what was asked with what arrived."""
    found = arrivals.sort(evidence.asked, evidence.mails)
    acked = {(one.user_email, one.message_id) for one in evidence.asked if one.acknowledged}
    retired = {(entry.user_email, entry.message_id) for entry in evidence.entries if entry.outcome == "retired"}
    missing = found.missing()
    copied = {promise: mails for promise, mails in found.mails.items() if len(mails) > 1}
    wrong = _wrong(evidence, found)
    accepted = {mail.message_id for mail in evidence.mails}
    named: dict[str, Iterable[Message]] = {
        "lost": missing - retired,
        "cases": missing & retired,
        "unmarked": _unmarked(copied, entries=evidence.entries),
        "differing": _differing(copied, entries=evidence.entries),
        "forged": {
            (entry.user_email, entry.message_id)
            for entry in evidence.entries
            if entry.state == "sent" and entry.reminder_message_id not in accepted
        },
        "duplicated": {_message(promise) for promise in copied},
        **wrong,
    }
    return Verdict(
        attempted=len(evidence.asked),
        acked=len(acked),
        delivered=len(found.messages),
        recovered=len(found.messages - acked),
        lost=len(missing - retired),
        cases=len(missing & retired),
        duplicated=len(copied),
        copies=sum(len(mails) - 1 for mails in copied.values()),
        unmarked=len(set(named["unmarked"])),
        differing=len(set(named["differing"])),
        forged=len(set(named["forged"])),
        unexpected=len(found.unexpected),
        wrong=len(set().union(*wrong.values())),
        uncertain=len({entry.snooze_id for entry in evidence.entries if "uncertain" in entry.events}),
        late=sum(entry.late or "late" in entry.events for entry in evidence.entries),
        **_changes(evidence),
        recovery=timing.recovery(evidence, found),
        wait=timing.figures(timing.waits(found)),
        silence=timing.silence(evidence, found),
        named={
            kind: sorted(message_id for _, message_id in messages)[:MOST_NAMED]
            for kind, messages in named.items()
            if messages
        }
        | (
            {"unexpected": [str(mail.message_id) for mail in found.unexpected[:MOST_NAMED]]} if found.unexpected else {}
        ),
    )


def _wrong(evidence: Evidence, found: Arrivals) -> dict[str, set[Message]]:
    """By its kind."""
    return {
        **found.wrong,
        "claimed_after_withdrawal": arrivals.claimed_after_withdrawal(
            found, entries=evidence.entries, claims=evidence.claims
        ),
        "disordered": keys.disordered(evidence.asked, entries=evidence.entries, claims=evidence.claims),
        "overlapping": keys.overlapping(evidence.asked, found),
    }


def _changes(evidence: Evidence) -> dict[str, int]:
    """How many cancellations and edits took effect."""
    changes = [wish for one in evidence.asked for wish in one.wishes[1:] if wish.answer in ("done", "anew")]
    cancelled = sum(wish.due is None for wish in changes)
    return {"cancelled": cancelled, "edited": len(changes) - cancelled}


def _unmarked(copied: Mapping[PromiseId, Sequence[Mail]], *, entries: Sequence[Entry]) -> set[Message]:
    """Each `uncertain` of a snooze excuses one copy of one of its promises."""
    by_name = {entry.reminder_message_id: entry for entry in entries if entry.reminder_message_id is not None}
    copies = Counter[int]()
    for mails in copied.values():
        entry = by_name.get(mails[0].message_id or "")
        if entry is not None:
            copies[entry.snooze_id] += len(mails) - 1
    return {
        _message(promise)
        for promise, mails in copied.items()
        if not _is_marked(mails, by_name.get(mails[0].message_id or ""), copies=copies)
    }


def _differing(copied: Mapping[PromiseId, Sequence[Mail]], *, entries: Sequence[Entry]) -> set[Message]:
    by_name = {entry.reminder_message_id: entry for entry in entries}
    return {
        _message(promise)
        for promise, mails in copied.items()
        if not _are_one_mail(mails, by_name.get(mails[0].message_id))
    }


def _is_marked(mails: Sequence[Mail], entry: Entry | None, *, copies: Mapping[int, int]) -> bool:
    if entry is None or entry.bytes_sha256 != mails[-1].sha256:
        return False
    if not _are_one_mail(mails, entry):
        return False
    return entry.events.count("uncertain") >= copies[entry.snooze_id]


def _are_one_mail(mails: Sequence[Mail], entry: Entry | None) -> bool:
    """The same id and the same bytes; other bytes with another note or lateness once for each time an operator
    reactivated it."""
    if len({mail.message_id for mail in mails}) > 1:
        return False
    contents = {(mail.sha256, mail.wish) for mail in mails}
    if entry is None or len(contents) > 1 + entry.events.count("reactivated"):
        return len(contents) == 1
    return entry.late_by is not None or len({wish for _, wish in contents}) == len(contents)


def _message(promise: PromiseId) -> Message:
    return promise[:2]
