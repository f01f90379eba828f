"""The judge of acts: did anything leave for a promise that an act had ended, and did every answer tell the truth?

It compares the mail server's file with the journal of the crowd. When an act was committed, and when a dot was
authorised, is written by a witness (`testimony.py`). A row's *reign* is the time in which it had one promise and one
note, and was alive, paused or over.

unmarked     mails whose dot no one authorised before        old        left for a promise or note that had ended
silent       copies came after an act that did not say so    alarms     "may still arrive" though nothing had left
lost         promises that came due, and no mail came        doubled    more copies than were noted as uncertain
untrue       answers that the row contradicts                strange    changes that no act and no worker made
stuck        due at the end, and not sent                    unexpected mails that the ledger does not know
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from tests.chaos.storm.evidence import Mail
from tests.chaos.storm.testimony import NEVER, Notice, Reign, Testimony

SAME = 0.000_5
MOST_NAMED = 10
# Doors that cannot say that a copy may arrive: a statement answers with rows, and who follows a link has the mail.
MUTE = frozenset({"sql", "link"})


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """Counts, and up to ten of each fault in `named`."""

    snoozes: int
    acts: dict[str, int]
    left: int
    unanswered: int
    met: dict[str, int]
    mails: int
    copies_after_acts: int
    warned: int
    uncertain: int
    second_copies: int
    ends: dict[str, int]
    faults: dict[str, int]
    named: dict[str, list[str]] = field(default_factory=dict)

    @property
    def keeps_the_rule(self) -> bool:
        return not any(self.faults.values())

    def as_json(self) -> dict[str, Any]:
        return {"valid": self.keeps_the_rule, **asdict(self)}

    def __str__(self) -> str:
        return json.dumps(self.as_json(), indent=1)


Key = tuple[int, float]
Finding = Iterator[str]


class Change(NamedTuple):
    """A reign that ended, and what followed."""

    before: Reign
    after: Reign


class Case:
    """The testimony, by what is asked of it."""

    def __init__(self, known: Testimony) -> None:
        self.known = known
        self.reigns: dict[int, list[Reign]] = defaultdict(list)
        self.by_message: dict[str, list[Reign]] = defaultdict(list)
        for reign in known.reigns:
            self.reigns[reign.snooze_id].append(reign)
            self.by_message[reign.message_id].append(reign)
        self.entries: dict[str, Key] = {one.reminder_message_id: (one.snooze_id, one.promise) for one in known.sends}
        self.marks: dict[Key, list[float]] = defaultdict(list)
        self.uncertain: Counter[Key] = Counter()
        for sent in known.sends:
            key = (sent.snooze_id, sent.promise)
            if sent.state == "sending" and sent.dot_at is not None:
                self.marks[key].append(sent.dot_at)
            self.uncertain[key] += sent.state == "uncertain"
        self.mails: dict[Key, list[Mail]] = defaultdict(list)
        for mail in known.mails:
            if mail.message_id in self.entries:
                self.mails[self.entries[mail.message_id]].append(mail)
        self.notices: dict[str, list[Notice]] = defaultdict(list)
        for one_notice in known.notices:
            self.notices[one_notice.message_id].append(one_notice)
        self.changes = [Change(*pair) for of_one in self.reigns.values() for pair in pairwise(of_one)]

    def act_of(self, reign: Reign) -> Notice | None:
        """The act that brought it about."""
        if reign.is_of_a_worker:
            return None
        found = [one for one in self.notices[reign.message_id] if one.sent_at <= reign.begin <= one.answered_at]
        return min(found, key=lambda one: one.answered_at, default=None)

    def copies_after(self, change: Change) -> list[Mail]:
        """Mails with the terms that ended, accepted after that."""
        reign = change.before
        mails = self.mails.get((reign.snooze_id, reign.promise), [])
        is_over = change.after.promise != reign.promise or not change.after.is_live
        return [
            mail
            for mail in mails
            if reign.end < mail.at and (is_over or _note(mail) == reign.note) and not self.holds_again(change, mail)
        ]

    def holds_again(self, change: Change, mail: Mail) -> bool:
        """Whether the same promise, with the note of before or of this mail, held again when the mail came, because the
        act was undone: then the mail is of that."""
        reign = change.before
        return any(
            reign.end < one.begin <= mail.at
            and one.is_live
            and one.promise == reign.promise
            and one.note in {reign.note, _note(mail)}
            for one in self.reigns[reign.snooze_id]
        )

    def reign_at(self, snooze_id: int, at: float) -> Reign | None:
        return next((one for one in self.reigns[snooze_id] if one.begin <= at < one.end), None)


def judge(known: Testimony) -> Judgement:
    """Look for each kind of fault."""
    case = Case(known)
    found = {name: list(look(case)) for name, look in LOOKS.items()}
    ended = [(change, act) for change in case.changes if change.before.is_live and (act := case.act_of(change.after))]
    copies = [mail for change, _ in ended for mail in case.copies_after(change)]
    last = [of_one[-1] for of_one in case.reigns.values()]
    acts = {one.number: one for one in known.notices}
    return Judgement(
        snoozes=len(case.reigns),
        acts=dict(sorted(Counter(f"{act.door} {act.act}" for act in acts.values()).items())),
        left=sum(one.done is False for one in known.notices),
        unanswered=len(known.unanswered),
        met=dict(Counter(_met(case, change) for change, _ in ended)),
        mails=len(known.mails),
        copies_after_acts=len(copies),
        warned=sum(one.may_arrive is True for one in known.notices),
        uncertain=sum(case.uncertain.values()),
        second_copies=sum(len(mails) - 1 for mails in case.mails.values()),
        ends=dict(Counter(_end_of(reign) for reign in last)),
        faults={name: len(texts) for name, texts in found.items()},
        named={name: texts[:MOST_NAMED] for name, texts in found.items() if texts},
    )


def _unexpected(case: Case) -> Finding:
    for mail in case.known.mails:
        if mail.message_id not in case.entries:
            yield str(mail)


def _unmarked(case: Case) -> Finding:
    for key, mails in case.mails.items():
        for mail in mails:
            if not any(mark < mail.read_at for mark in case.marks[key]):
                yield f"{key}: {mail}"


def _old(case: Case) -> Finding:
    """Dots that were authorised while another promise held, or a mail with another note."""
    for (snooze_id, promise), marks in case.marks.items():
        for mark in marks:
            reign = case.reign_at(snooze_id, mark)
            if reign is None or not reign.is_live or reign.promise != promise:
                yield f"marked at {mark} for {promise}, but {reign}"
    for (snooze_id, promise), mails in case.mails.items():
        for mail in mails:
            # A copy that is sent again has the bytes of the first one.
            at_marks = [
                case.reign_at(snooze_id, mark) for mark in case.marks[snooze_id, promise] if mark < mail.read_at
            ]
            notes = {reign.note for reign in at_marks if reign is not None}
            if notes and _note(mail) not in notes:
                yield f"note {_note(mail)}, and not of {notes}: {mail}"


def _silent(case: Case) -> Finding:
    for change in case.changes:
        act = case.act_of(change.after)
        if act is None or act.door in MUTE or act.answered_at == NEVER or not change.before.is_live:
            continue
        copies = case.copies_after(change)
        if copies and not act.may_arrive:
            yield f"{act}: {change.before}; {copies[0]}"


def _alarms(case: Case) -> Finding:
    for act in case.known.notices:
        if not act.may_arrive or act.door == "selection" or act.act == "undo":
            continue
        rows = {reign.snooze_id for reign in case.by_message[act.message_id]}
        marks = [mark for (snooze_id, _), found in case.marks.items() if snooze_id in rows for mark in found]
        if not any(mark < act.answered_at for mark in marks):
            yield str(act)


def _lost(case: Case) -> Finding:
    """Promises that a worker ended without a mail."""
    for before, after in case.changes:
        if before.is_live and after.is_of_a_worker and not case.mails.get((before.snooze_id, before.promise)):
            yield f"{before} then {after}"


def _stuck(case: Case) -> Finding:
    for of_one in case.reigns.values():
        if of_one[-1].is_live and of_one[-1].promise <= case.known.now:
            yield str(of_one[-1])
        if of_one[-1].outcome == "retired":
            yield str(of_one[-1])


def _doubled(case: Case) -> Finding:
    for key, mails in case.mails.items():
        if len(mails) - 1 > case.uncertain[key]:
            yield f"{key}: {[(mail.at, mail.message_id) for mail in mails]}, uncertain {case.uncertain[key]}"


def _strange(case: Case) -> Finding:
    """Changes after a row's last act that no worker may make, and changes of no act."""
    for before, after in case.changes:
        if not after.is_of_a_worker:
            if case.act_of(after) is None:
                yield f"no act: {before} then {after}"
        elif not before.is_live or after.outcome not in {"sent", None} or after.is_paused:
            yield f"a worker: {before} then {after}"


def _untrue(case: Case) -> Finding:
    for act in case.known.notices:
        reigns = case.by_message[act.message_id]
        during = [one for one in reigns if one.begin <= act.answered_at and one.end >= act.sent_at]
        changed = [one for one in during if one.begin >= act.sent_at and case.act_of(one) == act]
        expected = EXPECTED.get(act.act)
        if act.done is False and changed:
            yield f"it was left, and yet: {act} {changed}"
        if act.done is True and expected is not None and not any(expected(act, one) for one in during):
            yield f"{act} {during}"


EXPECTED: Mapping[str, Callable[[Notice, Reign], bool]] = {
    **dict.fromkeys(
        ("move", "once", "snooze"), lambda act, reign: reign.is_live and abs(reign.promise - act.due) < SAME
    ),
    "cancel": lambda _, reign: reign.outcome == "cancelled",
    "inbox": lambda _, reign: reign.outcome == "cancelled",
    "pause": lambda _, reign: reign.is_paused,
    "resume": lambda _, reign: reign.is_live or reign.outcome is not None,
    "note": lambda act, reign: reign.note == f"stormwish{act.number}",
}
LOOKS: Mapping[str, Callable[[Case], Finding]] = {
    "unexpected": _unexpected,
    "unmarked": _unmarked,
    "old": _old,
    "silent": _silent,
    "alarms": _alarms,
    "lost": _lost,
    "stuck": _stuck,
    "doubled": _doubled,
    "strange": _strange,
    "untrue": _untrue,
}


def _note(mail: Mail) -> str | None:
    return None if mail.wish is None else f"stormwish{mail.wish}"


def _met(case: Case, change: Change) -> str:
    """The state of the row that an act met."""
    reign = change.before
    leaving = [mark for mark in case.marks[reign.snooze_id, reign.promise] if reign.begin <= mark < reign.end]
    if leaving:
        return "leaving"
    if change.after.was_held:
        return "held"
    return "due" if reign.promise <= reign.end else "asleep"


def _end_of(reign: Reign) -> str:
    return reign.outcome or ("asleep" if reign.is_live else "paused")
