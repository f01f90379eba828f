"""Rows written by hand, with every odd value that the table allows: each is sent once or becomes a case, or waits for
good reasons, and stops no other row. What the table does not allow is refused."""

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Literal

import psycopg
import pytest

from tests.chaos.storm import nemeses
from tests.chaos.storm.conftest import FULL
from tests.chaos.storm.evidence import Evidence
from tests.chaos.storm.fleet import until
from tests.chaos.storm.ground import Ground, Scene
from tests.chaos.storm.judge import judge
from tests.chaos.storm.nemeses import Storm
from tests.chaos.storm.report import Report

Fate = Literal["sent", "case", "stays"]
CLAIMED_BY_HAND = (
    "claimed_at, claimed_by, claim_token, lease_expires_at",
    "now() - interval '1 hour', 'by-7-hand', gen_random_uuid(), now() - interval '1 minute'",
)
# Columns, their values as SQL, and what becomes of the row.
ALLOWED: dict[str, tuple[str, str, Fate]] = {
    "no angle brackets": ("message_id", "'odd words'", "sent"),
    "a message id of two lines": ("message_id", "E'<a@odd>\\r\\nBcc: eve@odd.example'", "sent"),
    "the longest message id": ("message_id", "'<' || repeat('x', 991) || '@odd>'", "sent"),
    "letters of three octets": ("message_id", "repeat('睡', 332)", "sent"),
    "control characters": ("message_id", "E'\\x01\\x7f\\u202e\\ufffe'", "sent"),
    "a subject of two lines": ("subject", "E'a\\r\\nBcc: eve@odd.example\\r\\n\\r\\n.\\r\\nb'", "sent"),
    "a subject of 100,000 characters": ("subject", "repeat('long ', 20000)", "sent"),
    "a note of a million characters": ("note", "repeat('.' || chr(10), 500000)", "sent"),
    "a sender that is no address": ("sender_email", "E'\"@<>,;:\\n'", "sent"),
    "the first instant": ("remind_at", "'1970-01-01 00:00+00'", "sent"),
    "the last instant": ("remind_at", "'9998-12-31 00:00+00'", "stays"),
    "the lowest priority": ("priority", "-1000", "sent"),
    "the highest priority": ("priority", "1000", "sent"),
    "the longest duration": ("snooze_duration_hours", "2147483647", "sent"),
    "a zone that is none": ("zone", "'Nowhere/At all'", "sent"),
    "a zone with a path": ("zone", "'../../etc/passwd'", "sent"),
    "a recurrence of nothing": ("recurrence", "'{}'", "sent"),
    "a recurrence that is null": ("recurrence", "'null'", "sent"),
    "a recurrence of nonsense": ("recurrence", '\'{"every": [null, {"day": -1e308}]}\'', "sent"),
    "a trace of nonsense": ("traceparent", "'00-zz'", "sent"),
    "a bucket of no worker": ("bucket", "-7", "sent"),
    "a promise after its time": ("scheduled_for", "'2200-01-01 00:00+00'", "sent"),
    "all attempts but one": ("attempts", "4", "sent"),
    "all attempts": ("attempts", "5", "case"),
    "the most attempts": ("attempts, max_attempts", "2147483646, 2147483647", "sent"),
    "a lost worker": ("crash_count", "1", "sent"),
    "two lost workers": ("crash_count", "2", "sent"),
    "an empty key": ("serialization_key", "''", "sent"),
    "the longest key": ("serialization_key", "repeat('k', 998)", "sent"),
    "entered in another age": ("created_at", "'1970-01-01 00:00+00'", "sent"),
    "entered in the future": ("created_at", "'9000-01-01 00:00+00'", "sent"),
    "claimed by hand": (*CLAIMED_BY_HAND, "sent"),
    "paused": ("inactive", "TRUE", "stays"),
    "of a newer version": ("schema_version", "2", "stays"),
    "finished by hand": ("inactive, outcome, finished_at", "TRUE, 'sent', now()", "stays"),
    "not an address": ("user_email", "'odd words'", "case"),
    "an address of two lines": ("user_email", "E'odd@a.example\\r\\nRCPT TO:<eve@odd.example>'", "case"),
    "an address that needs SMTPUTF8": ("user_email", "'ödd@snoozer.example'", "case"),
}
REFUSED = {
    "a priority beyond the range": ("priority", "1001"),
    "no priority of the type": ("priority", "40000"),
    "a message id too long": ("message_id", "repeat('x', 999)"),
    "an empty message id": ("message_id", "''"),
    "an address too long": ("user_email", "repeat('x', 255)"),
    "a key too long": ("serialization_key", "repeat('k', 999)"),
    "never": ("remind_at", "'infinity'"),
    "before all": ("remind_at", "'-infinity'"),
    "beyond the calendar": ("remind_at", "'10000-01-01 00:00+00'"),
    "attempts below none": ("attempts", "-1"),
    "no attempt at all": ("max_attempts", "0"),
    "half a claim": ("claimed_at", "now()"),
    "an outcome of one that is alive": ("outcome, finished_at", "'sent', now()"),
    "an outcome that is none": ("inactive, outcome, finished_at", "TRUE, 'lost', now()"),
    "finished before all": ("inactive, outcome, finished_at", "TRUE, 'sent', '-infinity'"),
    "a recurrence that is a list": ("recurrence", "'[]'"),
    "a wall clock beyond the calendar": ("wall_time", "'99999-01-01 00:00'"),
}
USUAL = {"user_email": "'{name}@snoozer.example'", "message_id": "'<{name}@odd.example>'", "remind_at": "now()"}
TIMEOUT = 600.0 if FULL else 100.0
UNFINISHED = "SELECT count(*) AS unfinished FROM email_snoozes WHERE NOT inactive AND id <> ALL(%s)"
LEFT = "SELECT * FROM email_snoozes WHERE NOT inactive AND id <> ALL(%s)"
FATES = """
SELECT
    id,
    CASE WHEN claim_token IS NOT NULL THEN 'claimed' WHEN outcome = 'retired' THEN 'case'
        WHEN outcome = 'sent' AND EXISTS (SELECT 1 FROM reminder_sends WHERE snooze_id = snooze.id) THEN 'sent'
        ELSE 'stays'
    END AS fate
FROM email_snoozes AS snooze
WHERE id = ANY(%s)
"""


@pytest.fixture
def scene(ground: Ground, folder: Path, seed: int) -> Iterator[Scene]:
    with ground.scene(folder, seed=seed, rate=10.0) as scene:
        yield scene


@pytest.fixture
def rng(seed: int) -> Random:
    return Random(seed)


def insert(scene: Scene, *, name: str, columns: str, values: str) -> int:
    """One row, usual but for these columns; returns its id."""
    given = [column.strip() for column in columns.split(",")]
    usual = {column: value.format(name=name) for column, value in USUAL.items() if column not in given}
    statement = (
        f"INSERT INTO email_snoozes ({', '.join(usual)}, {columns}) "  # noqa: S608
        f"VALUES ({', '.join(usual.values())}, {values}) RETURNING id"
    )
    return int(scene.ask(statement)[0]["id"])


@pytest.mark.parametrize("name", REFUSED)
def test_a_row_that_makes_no_sense_is_refused(scene: Scene, name: str) -> None:
    columns, values = REFUSED[name]
    with pytest.raises((psycopg.errors.IntegrityError, psycopg.errors.DataError)):
        insert(scene, name="refused", columns=columns, values=values)
    assert scene.ask("SELECT 1 FROM email_snoozes") == []


def test_odd_rows_meet_their_fates_and_stop_no_other(
    scene_name: str, scene: Scene, report: Report, rng: Random, seed: int
) -> None:
    began, storm = time.time(), Storm(seed)
    ids = {
        insert(scene, name=f"odd{number}", columns=columns, values=values): name
        for number, (name, (columns, values, _)) in enumerate(ALLOWED.items())
    }
    stay = [id for id, name in ids.items() if ALLOWED[name][2] == "stays"]
    fleet = scene.fleet()
    try:
        fleet.start()
        scene.load.start()
        killer = nemeses.killer(scene, fleet, rng=rng)
        storm.let_loose("kill -9", killer, times=30 if FULL else 5, pace=(0.5, 1.5))
        assert storm.blow_over(seconds=TIMEOUT)
        scene.load.stop()
        assert until(lambda: scene.ask(UNFINISHED, stay)[0]["unfinished"] == 0, seconds=TIMEOUT), scene.ask(LEFT, stay)
        fleet.retire()
    finally:
        fleet.close()
    fates = {ids[row["id"]]: row["fate"] for row in scene.ask(FATES, list(ids))}
    assert fates == {name: fate for name, (_, _, fate) in ALLOWED.items()}
    evidence = Evidence.gather(sink=scene.sink.path, log=scene.history.path, database_url=scene.database_url)
    odd = [mail for mail in evidence.mails if not mail.rcpt.startswith("p")]
    ordinary = replace(
        evidence,
        mails=[mail for mail in evidence.mails if mail.rcpt.startswith("p")],
        entries=[entry for entry in evidence.entries if entry.user_email.startswith("p")],
    )
    verdict = judge(ordinary)
    report.add(
        scene_name, strikes=storm.struck, verdict=verdict, seconds=time.time() - began, odd=Counter(fates.values())
    )
    assert verdict.keeps_the_promise, verdict
    sent = sum(fate == "sent" for fate in fates.values())
    assert len({mail.message_id for mail in odd}) == sent
    assert {mail.rcpt for mail in odd} == {
        f"odd{number}@snoozer.example" for number, name in enumerate(ALLOWED) if ALLOWED[name][2] == "sent"
    }
