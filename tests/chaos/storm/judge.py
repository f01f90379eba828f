"""The judge: what was promised, what arrived, and whether the difference was written down. Words as in Jepsen.

attempted   snoozes the harness asked for          acked       those whose INSERT was committed
delivered   snoozes with at least one mail         recovered   delivered though never acknowledged
lost        acked, no mail, and no case            cases       acked, no mail, shown to people as a case
duplicated  snoozes with more than one mail        unexpected  mails that no snooze asked for
uncertain   snoozes whose ledger noted that once      late        facts that came after the claim was lost

A duplicate is *marked* when the ledger recorded an `uncertain` for every copy after the first, and all copies have
the ledger's Message-ID and sha256. Any other duplicate is *unmarked*, and that is a broken promise. `differing` are
duplicates whose copies are not the same mail; `forged` are sends that the ledger calls sent and no server has.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from tests.chaos.storm.evidence import Entry, Evidence, Mail

Key = tuple[str, str]
MOST_NAMED = 20


@dataclass(frozen=True, kw_only=True)
class Recovery:
    """Seconds from a worker's death to the moment a claim it held was taken from it (freed), and held anew."""

    claims: int
    freed: dict[str, float]
    reclaimed: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Counts; `named` lists up to twenty message ids of each kind that should not be there."""

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
    uncertain: int
    late: int
    recovery: Recovery
    named: dict[str, list[str]] = field(default_factory=dict)

    @property
    def keeps_the_promise(self) -> bool:
        """Nothing lost, no unmarked duplicate, no differing byte, nothing unexpected, no forged fact."""
        return not (self.lost or self.unmarked or self.differing or self.forged or self.unexpected)

    def as_json(self) -> dict[str, Any]:
        return {"valid": self.keeps_the_promise, **asdict(self)}


def judge(evidence: Evidence) -> Verdict:
    """Compare what was asked with what arrived."""
    asked = {(one.user_email, one.message_id): one for one in evidence.asked}
    acked = {key for key, one in asked.items() if one.acknowledged}
    arrived, unexpected = _sorted(evidence.mails, expected=asked)
    entries = {(entry.user_email, entry.message_id): entry for entry in evidence.entries}
    missing = acked - arrived.keys()
    cases = {key for key in missing if key in entries and entries[key].outcome == "retired"}
    lost = missing - cases
    copied = {key: mails for key, mails in arrived.items() if len(mails) > 1}
    differing = {key for key, mails in arrived.items() if not _are_one_mail(mails)}
    unmarked = {key for key, mails in copied.items() if not _is_marked(mails, entries.get(key))}
    forged = {key for key, entry in entries.items() if entry.state == "sent" and key not in arrived}
    return Verdict(
        attempted=len(asked),
        acked=len(acked),
        delivered=len(arrived),
        recovered=len(arrived.keys() - acked),
        lost=len(lost),
        cases=len(cases),
        duplicated=len(copied),
        copies=sum(len(mails) - 1 for mails in copied.values()),
        unmarked=len(unmarked),
        differing=len(differing),
        forged=len(forged),
        unexpected=len(unexpected),
        uncertain=sum("uncertain" in entry.events for entry in entries.values()),
        late=sum(entry.late or "late" in entry.events for entry in entries.values()),
        recovery=_recovery(evidence),
        named={
            kind: sorted(message_id for _, message_id in keys)[:MOST_NAMED]
            for kind, keys in {
                "lost": lost,
                "cases": cases,
                "unmarked": unmarked,
                "differing": differing,
                "forged": forged,
                "duplicated": copied.keys(),
            }.items()
            if keys
        }
        | ({"unexpected": [str(mail.message_id) for mail in unexpected[:MOST_NAMED]]} if unexpected else {}),
    )


def _sorted(mails: Sequence[Mail], *, expected: Mapping[Key, object]) -> tuple[dict[Key, list[Mail]], list[Mail]]:
    arrived: dict[Key, list[Mail]] = defaultdict(list)
    unexpected = []
    for mail in mails:
        key = (mail.rcpt, mail.in_reply_to or "")
        if key in expected:
            arrived[key].append(mail)
        else:
            unexpected.append(mail)
    return dict(arrived), unexpected


def _are_one_mail(mails: Sequence[Mail]) -> bool:
    return len({(mail.message_id, mail.sha256) for mail in mails}) == 1


def _is_marked(mails: Sequence[Mail], entry: Entry | None) -> bool:
    if entry is None or not _are_one_mail(mails):
        return False
    is_the_ledgers = (entry.reminder_message_id, entry.bytes_sha256) == (mails[0].message_id, mails[0].sha256)
    return is_the_ledgers and entry.events.count("uncertain") >= len(mails) - 1


def _recovery(evidence: Evidence) -> Recovery:
    """For every claim that a killed worker held when it died: until it was freed, and until a worker held it anew."""
    deaths = {killed.pid: killed.at for killed in evidence.killed}
    by_snooze: dict[int, list[tuple[str | None, float]]] = defaultdict(list)
    for held in evidence.claims:
        by_snooze[held.snooze_id].append((held.worker, held.at))
    freed, reclaimed = [], []
    for changes in by_snooze.values():
        for index, (worker, since) in enumerate(changes):
            died = deaths.get(_pid(worker)) if worker is not None else None
            after = changes[index + 1 :]
            if died is None or died < since or not after or after[0][1] < died:
                continue
            freed.append(after[0][1] - died)
            reclaimed += [at - died for holder, at in after if holder is not None][:1]
    return Recovery(claims=len(freed), freed=_figures(freed), reclaimed=_figures(reclaimed))


def _pid(worker: str) -> int:
    """The process id inside a worker's id, `host-pid-random`."""
    return int(worker.rsplit("-", 2)[1])


def _figures(seconds: list[float]) -> dict[str, float]:
    if not seconds:
        return {}
    ordered = sorted(seconds)
    return {
        "p50": round(ordered[len(ordered) // 2], 3),
        "p99": round(ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))], 3),
        "max": round(ordered[-1], 3),
    }
