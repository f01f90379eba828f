"""What the lab shows of a row, and what its judge finds in the mail server's file and the tables."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, text

from lab import naive
from lab import queue_rows as lab_rows
from lab.judge import Judge, Promise
from tests.db.transitions import claim
from tests.factories import a_kept_message, a_snooze, now

MINUTE = timedelta(minutes=1)


@pytest.fixture
def connection(engine: Engine) -> Iterator[Connection]:
    """With the naive loop's tables, which only a lab has: they are rolled back."""
    with engine.connect() as connection, connection.begin() as transaction:
        naive.create_jobs(connection)
        naive.create_sends(connection)
        yield connection
        transaction.rollback()


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    return tmp_path / "accepted.jsonl"


def write(facts: Path, about: str, *, at: float = 10.0, rcpt: str = "a@lab.example", **fact: Any) -> None:
    """The mail server accepts one mail."""
    line = {"at": at, "rcpt": rcpt, "message_id": "<r@lab.example>", "in_reply_to": about, "sha256": "00"} | fact
    with facts.open("a") as file:
        file.write(json.dumps(line) + "\n")


def a_sent(connection: Connection, message_id: str, *, outcome: str = "sent") -> int:
    """A finished row with its entry in the ledger, written by hand: nothing of it is to be believed."""
    row = text(
        "INSERT INTO email_snoozes (user_email, message_id, remind_at, scheduled_for, inactive, outcome, finished_at) "
        "VALUES ('a@lab.example', :id, now(), now(), TRUE, :outcome, now()) RETURNING id"
    )
    id = int(connection.execute(row, {"id": message_id, "outcome": outcome}).scalar_one())
    send = text(
        "INSERT INTO reminder_sends (snooze_id, user_email, message_id, scheduled_for, bucket, reminder_message_id, "
        "state, claim_token, zone, bytes_sha256, reserved_at, sent_at) "
        "SELECT id, user_email, message_id, scheduled_for, bucket, '<r@lab.example>', "
        "'sent', gen_random_uuid(), 'UTC', '00', now(), now() FROM email_snoozes WHERE id = :id"
    )
    connection.execute(send, {"id": id})
    return id


def uncertain(connection: Connection, snooze_id: int) -> None:
    event = text(
        "INSERT INTO snooze_events (snooze_id, kind, actor, route) VALUES (:id, 'uncertain', 'clock', 'clock')"
    )
    connection.execute(event, {"id": snooze_id})


def judge(facts: Path, *message_ids: str) -> Judge:
    found = Judge(facts)
    found.promise(Promise(message_id=id, due=7.0) for id in message_ids)
    return found


def test_a_row_is_shown_where_it_is(engine: Engine) -> None:
    a_snooze(engine, remind_at=now() + MINUTE)
    a_snooze(engine, user_email="claimed@snoozer.example")
    claim(engine)
    a_snooze(engine)
    # It waits to be tried again: its promise has passed, so that it does not sleep.
    a_snooze(engine, remind_at=now() + MINUTE, scheduled_for=now() - MINUTE, attempts=1)
    a_snooze(engine, inactive=True, outcome="retired", finished_at=now())
    a_snooze(engine, inactive=True, outcome="sent", finished_at=now())
    a_snooze(engine, inactive=True, outcome="sent", finished_at=now() - MINUTE)
    with engine.connect() as connection:
        stages = {row.stage: row.in_stage for row in lab_rows.list_rows(connection, most=1)}
    assert stages == {"asleep": 1, "due": 2, "claimed": 1, "case": 1, "sent": 1, "back": 1}


def test_a_message_that_did_not_return_is_not_shown_as_back(engine: Engine) -> None:
    message_id = "<1@lab.example>"
    a_kept_message(engine, message_id=message_id)
    a_snooze(engine, message_id=message_id, inactive=True, outcome="sent", finished_at=now() - MINUTE)
    with engine.connect() as connection:
        [row] = lab_rows.list_rows(connection, most=1)
    assert row.stage == "sent"


def test_a_promise_that_the_tables_call_sent_is_lost_without_a_mail(connection: Connection, facts: Path) -> None:
    a_sent(connection, "<1@lab.example>")
    ours, _ = judge(facts, "<1@lab.example>").count(connection)
    assert (ours.lost, ours.sent, ours.waiting) == (1, 0, 0)
    assert ours.named["lost"] == ["<1@lab.example>"]


def test_a_promise_without_a_row_is_lost(connection: Connection, facts: Path) -> None:
    ours, _ = judge(facts, "<1@lab.example>").count(connection)
    assert (ours.lost, ours.keeps_the_promise) == (1, False)


def test_a_case_is_not_lost(connection: Connection, facts: Path) -> None:
    a_sent(connection, "<1@lab.example>", outcome="retired")
    ours, _ = judge(facts, "<1@lab.example>").count(connection)
    assert (ours.lost, ours.cases) == (0, 1)


def test_a_mail_counts_for_its_promise_with_its_lateness(connection: Connection, facts: Path) -> None:
    a_sent(connection, "<1@lab.example>")
    write(facts, "<1@lab.example>", at=10.5)
    ours, theirs = judge(facts, "<1@lab.example>").count(connection)
    assert (ours.sent, ours.lost, ours.twice, ours.late_most) == (1, 0, 0, 3.5)
    # A mail of ours is none of the naive loop's, which has no row.
    assert (theirs.sent, theirs.lost) == (0, 1)


def test_a_line_without_its_end_is_not_there_yet(connection: Connection, facts: Path) -> None:
    a_sent(connection, "<1@lab.example>")
    write(facts, "<1@lab.example>")
    whole = facts.read_bytes()
    facts.write_bytes(whole[:20])
    found = judge(facts, "<1@lab.example>")
    assert found.mails_of("<1@lab.example>") == 0
    facts.write_bytes(whole)
    assert found.mails_of("<1@lab.example>") == 1


@pytest.mark.parametrize(
    ("is_on_record", "second", "marked"),
    [
        (True, {}, 1),
        (False, {}, 0),
        (True, {"sha256": "11"}, 0),
        (True, {"message_id": "<other@lab.example>"}, 0),
    ],
    ids=["as it should be", "not on record", "other bytes", "another id"],
)
def test_a_copy_is_marked_by_its_record_and_its_bytes(
    connection: Connection, facts: Path, is_on_record: bool, second: dict[str, Any], marked: int
) -> None:
    id = a_sent(connection, "<1@lab.example>")
    if is_on_record:
        uncertain(connection, id)
    write(facts, "<1@lab.example>")
    write(facts, "<1@lab.example>", **second)
    ours, _ = judge(facts, "<1@lab.example>").count(connection)
    assert (ours.twice, ours.copies, ours.marked, ours.unmarked) == (1, 1, marked, 1 - marked)


def test_the_naive_loop_loses_what_it_gave_up(connection: Connection, facts: Path) -> None:
    naive.enqueue(
        connection, rcpt="a@naive.example", remind_at=now() - MINUTE, message_ids=["<1@lab.example>"], subjects=["A"]
    )
    found = judge(facts, "<1@lab.example>")
    assert found.count(connection)[1].waiting == 1
    connection.execute(text("UPDATE naive_jobs SET status = 'dead'"))
    assert found.count(connection)[1].lost == 1


def test_the_naive_ledger_takes_the_same_message_for_another_time(connection: Connection) -> None:
    """What is wrong with it: a retry moves the time, and so the key."""
    naive.enqueue(
        connection, rcpt="a@naive.example", remind_at=now() - MINUTE, message_ids=["<1@lab.example>"], subjects=["A"]
    )
    [job] = naive.claim(connection, worker="a", lease=MINUTE, batch_size=5)
    naive.record(connection, message_id=job.message_id, remind_at=job.remind_at)
    naive.retry(connection, id=job.id, worker="a", generation=job.lease_generation)
    moved = connection.execute(text("SELECT remind_at FROM naive_jobs")).scalar_one()
    assert naive.is_sent(connection, message_id=job.message_id, remind_at=job.remind_at)
    assert not naive.is_sent(connection, message_id=job.message_id, remind_at=moved)
