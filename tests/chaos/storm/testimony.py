"""What a storm of acts leaves to judge by: a witness in its database, the mail server's file, the crowd's journal."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

from tests.chaos.storm import history
from tests.chaos.storm.evidence import Mail

NEVER = float("inf")
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
    """What was answered about one message, by which act, and between which times. `done` and `may_arrive` are None if
    the answer says nothing of the kind."""

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
            notices=list(notices_in(facts)),
            mails=[Mail(**line) for line in history.read(sink)],
            reigns=reigns_of([Reign(**row) for row in rows]),
            sends=sends,
            unanswered=[fact["why"] for fact in facts if fact["kind"] == "no answer"],
            now=now["now"],
        )


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


def notices_in(facts: Sequence[Mapping[str, Any]]) -> Iterator[Notice]:
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
