"""What the judge may look at: the mail server's file, the harness's log, and the tables of the ledger.

Nothing here imports the product. The tables are read with plain SQL; the history of claims comes from a witness, a
trigger that the harness puts into its own database and that the product does not know of.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Self

import psycopg
from psycopg.rows import dict_row

from tests.chaos.storm import history
from tests.chaos.storm.wishes import Asked, Wish

WITNESS = """
CREATE TABLE storm_claims (
    id BIGSERIAL PRIMARY KEY,
    snooze_id BIGINT NOT NULL,
    worker TEXT,
    promised TIMESTAMPTZ,
    at TIMESTAMPTZ NOT NULL
);
CREATE FUNCTION storm_witness() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO storm_claims (snooze_id, worker, promised, at)
    VALUES (NEW.id, NEW.claimed_by, NEW.scheduled_for, clock_timestamp());
    RETURN NULL;
END
$$;
CREATE TRIGGER storm_witness AFTER UPDATE ON email_snoozes
    FOR EACH ROW WHEN (OLD.claim_token IS DISTINCT FROM NEW.claim_token)
    EXECUTE FUNCTION storm_witness();
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Mail:
    """A mail that the mail server accepted `at` a time, having read the end of it at `read_at`.

    `wish` is the number of the wish whose note it shows, None without a note; `date` is its Date; `peer` is the address
    that it came from.
    """

    at: float
    rcpt: str
    in_reply_to: str | None
    message_id: str | None
    sha256: str
    read_at: float
    date: float | None = None
    wish: int | None = None
    peer: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """What the ledger says of one promise, with its snooze's fate and paper trail."""

    user_email: str
    message_id: str
    outcome: str | None
    snooze_id: int = 0
    state: str | None = None
    reminder_message_id: str | None = None
    bytes_sha256: str | None = None
    late: bool = False
    late_by: timedelta | None = None
    events: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Held:
    """A snooze changed hands: a worker claimed it for this promise, or (None) it was taken from one or settled."""

    snooze_id: int
    worker: str | None
    at: float
    promised: float | None = None


@dataclass(frozen=True, kw_only=True)
class Killed:
    """A process of the product was killed."""

    pid: int
    at: float


@dataclass(frozen=True, kw_only=True)
class Outage:
    """The harness kept the database or the mail server away."""

    since: float
    until: float


@dataclass(frozen=True, kw_only=True)
class Evidence:
    asked: list[Asked] = field(default_factory=list)
    mails: list[Mail] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    claims: list[Held] = field(default_factory=list)
    killed: list[Killed] = field(default_factory=list)
    outages: list[Outage] = field(default_factory=list)

    @classmethod
    def gather(cls, *, sink: Path, log: Path, database_url: str) -> Self:
        facts = history.read(log)
        with psycopg.connect(database_url, row_factory=dict_row) as connection:
            return cls(
                asked=list(_asked(facts)),
                mails=[Mail(**line) for line in history.read(sink)],
                entries=[_entry(row) for row in connection.execute(_ENTRIES).fetchall()],
                claims=[_held(row) for row in connection.execute(_CLAIMS).fetchall()],
                killed=[Killed(pid=fact["pid"], at=fact["at"]) for fact in facts if fact["kind"] == "killed"],
                outages=[Outage(since=fact["since"], until=fact["at"]) for fact in facts if fact["kind"] == "outage"],
            )


_ENTRIES = """
SELECT
    snooze.user_email,
    snooze.message_id,
    snooze.outcome,
    snooze.id AS snooze_id,
    send.state,
    send.reminder_message_id,
    send.bytes_sha256,
    COALESCE(send.late, FALSE) AS late,
    send.late_by,
    ARRAY(SELECT kind FROM snooze_events AS event WHERE event.snooze_id = snooze.id ORDER BY event.id) AS events
FROM email_snoozes AS snooze
LEFT JOIN reminder_sends AS send ON send.snooze_id = snooze.id AND send.channel = 'email'
"""

_CLAIMS = """
SELECT snooze_id, worker, extract(epoch FROM at) AS at, extract(epoch FROM promised) AS promised
FROM storm_claims
ORDER BY snooze_id, id
"""


def _asked(facts: list[dict[str, Any]]) -> Iterator[Asked]:
    answers = {(fact["message_id"], fact["wish"]): fact for fact in facts if fact["kind"] == "ack"}
    wishes: dict[tuple[str, str, str | None], list[Wish]] = defaultdict(list)
    for fact in facts:
        if fact["kind"] == "attempt":
            answer = answers.get((fact["message_id"], fact["wish"]), {})
            wishes[fact["user_email"], fact["message_id"], fact.get("key")].append(
                Wish(
                    number=fact["wish"],
                    due=fact["due"],
                    asked_at=fact["at"],
                    answered_at=answer.get("at"),
                    answer=answer.get("answer"),
                )
            )
    for (user_email, message_id, key), all_of_one in wishes.items():
        yield Asked(user_email=user_email, message_id=message_id, key=key, wishes=tuple(all_of_one))


def _entry(row: dict[str, Any]) -> Entry:
    return Entry(**row | {"events": tuple(row["events"])})


def _held(row: dict[str, Any]) -> Held:
    promised = None if row["promised"] is None else float(row["promised"])
    return Held(snooze_id=row["snooze_id"], worker=row["worker"], at=float(row["at"]), promised=promised)
