"""The judge of acts: did anything leave for a promise that an act had ended, and did every answer tell the truth?

It compares the mail server's file with the journal of the crowd. When an act was committed, and when a dot was
authorised, is written by a witness: triggers that the harness puts into its own database. A row's *reign* is the time in
which it had one promise and one note, and was alive, paused or over.

unmarked     mails whose dot no one authorised before        old        left for a promise or note that had ended
silent       copies came after an act that did not say so    alarms     "may still arrive" though nothing had left
lost         promises that came due, and no mail came        doubled    more copies than were noted as uncertain
untrue       answers that the row contradicts                strange    changes that no act and no worker made
stuck        due at the end, and not sent                    unexpected mails that the ledger does not know
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
from psycopg.rows import dict_row

from tests.chaos.storm import history
from tests.chaos.storm.evidence import Mail

NEVER = float("inf")
SAME = 0.000_5
MOST_NAMED = 10
# Doors that cannot say that a copy may arrive: a statement answers with rows, and who follows a link has the mail.
MUTE = frozenset({"sql", "link"})

WITNESS = """
CREATE TABLE storm_terms (
    id BIGSERIAL PRIMARY KEY,
    snooze_id BIGINT NOT NULL,
    message_id TEXT NOT NULL,
    at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    promise TIMESTAMPTZ NOT NULL,
    inactive BOOLEAN NOT NULL,
    outcome TEXT,
    note TEXT,
    was_held BOOLEAN NOT NULL,
    who TEXT NOT NULL DEFAULT current_setting('application_name'),
    transaction XID8 NOT NULL DEFAULT pg_current_xact_id()
);
CREATE TABLE storm_sends (
    id BIGSERIAL PRIMARY KEY,
    send_id BIGINT NOT NULL,
    snooze_id BIGINT NOT NULL,
    promise TIMESTAMPTZ NOT NULL,
    reminder_message_id TEXT NOT NULL,
    state TEXT NOT NULL,
    dot_authorised_at TIMESTAMPTZ,
    at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
);
CREATE FUNCTION storm_witness_terms() RETURNS TRIGGER LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    INSERT INTO storm_terms (snooze_id, message_id, promise, inactive, outcome, note, was_held)
    VALUES (NEW.id, NEW.message_id, COALESCE(NEW.scheduled_for, NEW.remind_at), NEW.inactive, NEW.outcome, NEW.note,
            CASE TG_OP WHEN 'UPDATE' THEN OLD.claimed_at IS NOT NULL ELSE FALSE END);
    RETURN NULL;
END
$$;
CREATE FUNCTION storm_witness_sends() RETURNS TRIGGER LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    INSERT INTO storm_sends (send_id, snooze_id, promise, reminder_message_id, state, dot_authorised_at)
    VALUES (NEW.id, NEW.snooze_id, NEW.scheduled_for, NEW.reminder_message_id, NEW.state, NEW.dot_authorised_at);
    RETURN NULL;
END
$$;
CREATE TRIGGER storm_witness_new_terms AFTER INSERT ON email_snoozes
    FOR EACH ROW EXECUTE FUNCTION storm_witness_terms();
CREATE TRIGGER storm_witness_terms AFTER UPDATE ON email_snoozes
    FOR EACH ROW WHEN (
        (COALESCE(NEW.scheduled_for, NEW.remind_at), NEW.inactive, NEW.outcome, NEW.note)
        IS DISTINCT FROM (COALESCE(OLD.scheduled_for, OLD.remind_at), OLD.inactive, OLD.outcome, OLD.note)
    )
    EXECUTE FUNCTION storm_witness_terms();
CREATE TRIGGER storm_witness_new_sends AFTER INSERT ON reminder_sends
    FOR EACH ROW WHEN (NEW.channel = 'email') EXECUTE FUNCTION storm_witness_sends();
CREATE TRIGGER storm_witness_sends AFTER UPDATE ON reminder_sends
    FOR EACH ROW WHEN (
        NEW.channel = 'email'
        AND (NEW.state, NEW.dot_authorised_at) IS DISTINCT FROM (OLD.state, OLD.dot_authorised_at)
    )
    EXECUTE FUNCTION storm_witness_sends();
"""
TERMS = """
SELECT snooze_id, message_id, extract(epoch FROM at)::float8 AS begin, extract(epoch FROM promise)::float8 AS promise,
    NOT inactive AS is_live, outcome, note, was_held, who, transaction::text
FROM storm_terms
ORDER BY snooze_id, id
"""
SENDS = """
SELECT snooze_id, extract(epoch FROM promise)::float8 AS promise, reminder_message_id, state,
    extract(epoch FROM dot_authorised_at)::float8 AS dot_at, extract(epoch FROM at)::float8 AS at
FROM storm_sends
ORDER BY id
"""


def bear_witness(database_url: str) -> None:
    """Put the witness into a scene's database."""
    with psycopg.connect(database_url) as connection:
        connection.execute(WITNESS)


@dataclass(frozen=True, kw_only=True, slots=True)
class Reign:
    """What held for a row from `begin` until `end`, who brought it about, and in which transaction. `was_held` if a
    worker had the row."""

    snooze_id: int
    message_id: str
    begin: float
    promise: float
    is_live: bool
    outcome: str | None
    note: str | None
    was_held: bool
    who: str
    transaction: str
    end: float = NEVER

    @property
    def terms(self) -> tuple[float, bool, str | None, str | None]:
        return self.promise, self.is_live, self.outcome, self.note

    @property
    def is_of_a_worker(self) -> bool:
        return self.who.startswith(("snoozer-worker", "snoozer-clock"))

    @property
    def is_paused(self) -> bool:
        return not self.is_live and self.outcome is None


@dataclass(frozen=True, kw_only=True, slots=True)
class Sent:
    """A change of the ledger."""

    snooze_id: int
    promise: float
    reminder_message_id: str
    state: str
    dot_at: float | None
    at: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Notice:
    """What was statements about one message, by which act, and between which times. `done` and `may_arrive` are None if
    nothing was statements of the kind."""

    number: int
    door: str
    act: str
    message_id: str
    due: float
    sent_at: float
    answered_at: float
    done: bool | None
    may_arrive: bool | None
    code: str | None = None


@dataclass(frozen=True, kw_only=True)
class Testimony:
    """All that is known. `now` is when the storm was over."""

    notices: Sequence[Notice]
    mails: Sequence[Mail]
    reigns: Sequence[Reign]
    sends: Sequence[Sent]
    unanswered: Sequence[str] = ()
    now: float = NEVER

    @classmethod
    def gather(cls, *, sink: Path, log: Path, database_url: str) -> "Testimony":
        facts = history.read(log)
        with psycopg.connect(database_url, row_factory=dict_row) as connection:
            rows = connection.execute(TERMS).fetchall()
            sends = [Sent(**row) for row in connection.execute(SENDS).fetchall()]
            [now] = connection.execute("SELECT extract(epoch FROM clock_timestamp())::float8 AS now").fetchall()
        return cls(
            notices=list(_notice(facts)),
            mails=[Mail(**line) for line in history.read(sink)],
            reigns=reigns_of([Reign(**row) for row in rows]),
            sends=sends,
            unanswered=[fact["why"] for fact in facts if fact["kind"] == "no answer"],
            now=now["now"],
        )


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
            if reign.end < mail.at < self.next_reign_of_promise(change) and (is_over or _note(mail) == reign.note)
        ]

    def next_reign_of_promise(self, change: Change) -> float:
        """When the same promise and note hold again, because that was undone; the copies after that are its."""
        reign = change.before
        later = (
            one.begin
            for one in self.reigns[reign.snooze_id]
            if one.begin > reign.end and one.is_live and (one.promise, one.note) == (reign.promise, reign.note)
        )
        return min(later, default=NEVER)

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


def reigns_of(changes: Sequence[Reign]) -> list[Reign]:
    """The reigns of each row, in its order: the last of each transaction, each until the next."""
    kept: list[Reign] = []
    for change in changes:
        last = kept[-1] if kept else None
        if last is not None and last.snooze_id == change.snooze_id and last.transaction == change.transaction:
            kept[-1] = replace(change, was_held=last.was_held)
        elif last is None or (last.snooze_id, last.terms) != (change.snooze_id, change.terms):
            kept.append(change)
    return [
        one if after is None or after.snooze_id != one.snooze_id else replace(one, end=after.begin)
        for one, after in zip(kept, [*kept[1:], None], strict=True)
    ]


def _notice(facts: Sequence[Mapping[str, Any]]) -> Iterator[Notice]:
    answers = {fact["number"]: fact for fact in facts if fact["kind"] == "answer"}
    for fact in facts:
        if fact["kind"] != "act":
            continue
        answer = answers.get(fact["number"])
        statements = {} if answer is None else answer["statements"]
        for message_id, id in fact["named"].items():
            one = (
                statements.get(str(id))
                or (next(iter(statements.values()), None) if len(fact["named"]) == 1 else None)
                or {}
            )
            yield Notice(
                number=fact["number"],
                door=fact["door"],
                act=fact["act"],
                message_id=message_id,
                due=_epoch(fact["due"]),
                sent_at=fact["at"],
                answered_at=NEVER if answer is None else answer["at"],
                done=one.get("done"),
                may_arrive=one.get("may_arrive"),
                code=one.get("code"),
            )


def _epoch(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


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
