"""What the judge may look at: the mail server's file, the harness's log, and the tables of the ledger.

Nothing here imports the product. The tables are read with plain SQL; the history of claims comes from a witness, a
trigger that the harness puts into its own database and that the product does not know of.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import psycopg
from psycopg.rows import dict_row

from tests.chaos.storm import history

WITNESS = """
CREATE TABLE storm_claims (
    id BIGSERIAL PRIMARY KEY,
    snooze_id BIGINT NOT NULL,
    worker TEXT,
    at TIMESTAMPTZ NOT NULL
);
CREATE FUNCTION storm_witness() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO storm_claims (snooze_id, worker, at) VALUES (NEW.id, NEW.claimed_by, clock_timestamp());
    RETURN NULL;
END
$$;
CREATE TRIGGER storm_witness AFTER UPDATE ON email_snoozes
    FOR EACH ROW WHEN (OLD.claim_token IS DISTINCT FROM NEW.claim_token)
    EXECUTE FUNCTION storm_witness();
"""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A snooze that was asked for; `acknowledged` once the database had committed it."""

    user_email: str
    message_id: str
    acknowledged: bool


@dataclass(frozen=True, kw_only=True)
class Mail:
    """A mail that the mail server accepted."""

    at: float
    rcpt: str
    in_reply_to: str | None
    message_id: str | None
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What the ledger says of one promise, with its snooze's fate and paper trail."""

    user_email: str
    message_id: str
    outcome: str | None
    state: str | None = None
    reminder_message_id: str | None = None
    bytes_sha256: str | None = None
    late: bool = False
    events: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Held:
    """A snooze changed hands: a worker claimed it, or (None) it was taken from one or settled."""

    snooze_id: int
    worker: str | None
    at: float


@dataclass(frozen=True, kw_only=True)
class Killed:
    """A process of the product was killed."""

    pid: int
    at: float


@dataclass(frozen=True, kw_only=True)
class Evidence:
    asked: list[Asked] = field(default_factory=list)
    mails: list[Mail] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    claims: list[Held] = field(default_factory=list)
    killed: list[Killed] = field(default_factory=list)

    @classmethod
    def gather(cls, *, sink: Path, log: Path, database_url: str) -> Self:
        facts = history.read(log)
        with psycopg.connect(database_url, row_factory=dict_row) as connection:
            return cls(
                asked=_asked(facts),
                mails=[_mail(line) for line in history.read(sink)],
                entries=[_entry(row) for row in connection.execute(_ENTRIES).fetchall()],
                claims=[
                    Held(snooze_id=row["snooze_id"], worker=row["worker"], at=float(row["at"]))
                    for row in connection.execute(_CLAIMS).fetchall()
                ],
                killed=[Killed(pid=fact["pid"], at=fact["at"]) for fact in facts if fact["kind"] == "killed"],
            )


_ENTRIES = """
SELECT
    snooze.user_email,
    snooze.message_id,
    snooze.outcome,
    send.state,
    send.reminder_message_id,
    send.bytes_sha256,
    COALESCE(send.late, FALSE) AS late,
    ARRAY(SELECT kind FROM snooze_events AS event WHERE event.snooze_id = snooze.id ORDER BY event.id) AS events
FROM email_snoozes AS snooze
LEFT JOIN reminder_sends AS send ON send.snooze_id = snooze.id
"""

_CLAIMS = "SELECT snooze_id, worker, extract(epoch FROM at) AS at FROM storm_claims ORDER BY snooze_id, id"


def _asked(facts: list[dict[str, Any]]) -> list[Asked]:
    acknowledged = {fact["message_id"] for fact in facts if fact["kind"] == "ack"}
    return [
        Asked(
            user_email=fact["user_email"],
            message_id=fact["message_id"],
            acknowledged=fact["message_id"] in acknowledged,
        )
        for fact in facts
        if fact["kind"] == "attempt"
    ]


def _mail(line: dict[str, Any]) -> Mail:
    return Mail(
        at=line["at"],
        rcpt=line["rcpt"],
        in_reply_to=line["in_reply_to"],
        message_id=line["message_id"],
        sha256=line["sha256"],
    )


def _entry(row: dict[str, Any]) -> Entry:
    return Entry(**row | {"events": tuple(row["events"])})
