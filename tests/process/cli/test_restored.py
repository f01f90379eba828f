"""A restored dump: what is due in it may have been sent since, so people decide before it goes out twice."""

from pathlib import Path

from sqlalchemy import Engine, text

from snoozer.db import health_checks
from snoozer.queue import workers as registry
from tests.db.operations import operate
from tests.db.transitions import a_held_mail, authorise, finalize
from tests.factories import HOUR, a_snooze, now, the_row, the_send
from tests.process.cli.running import refusal, run_command


def lines(engine: Engine, home: Path, *more: str, until: str | None = None) -> list[str]:
    ended = run_command("restored", "--until", until or now().isoformat(), *more, engine=engine, home=home)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


def test_what_may_have_been_sent_waits_for_people(engine: Engine, tmp_path: Path) -> None:
    due, later = a_snooze(engine), a_snooze(engine, remind_at=now() + HOUR)
    held = a_snooze(engine, claimed_at=now() - HOUR)
    repeats = a_snooze(engine, recurrence={"every": "day"})
    before = the_row(engine, due)
    listed = lines(engine, tmp_path)
    assert [(int(line.split()[0]), line.endswith("  repeats")) for line in listed] == [
        (due, False),
        (held, False),
        (repeats, True),
    ]
    assert the_row(engine, due) == before
    assert lines(engine, tmp_path, "--apply") == listed
    assert [the_row(engine, id).outcome for id in (due, held, later, repeats)] == ["retired", "retired", None, None]
    assert the_row(engine, held).claim_token is None
    assert the_row(engine, due).scheduled_for == before.remind_at
    assert lines(engine, tmp_path) == listed[2:]
    with engine.connect() as connection:
        log = connection.execute(text("SELECT act, snooze_id, target FROM audit_log ORDER BY id")).all()
    assert [tuple(row) for row in log] == [
        ("retire_restored", due, None),
        ("retire_restored", held, None),
        ("accept_database", None, "database"),
    ]
    with engine.begin() as connection:
        assert operate(connection, "reactivate", [due]) == [due]
        assert operate(connection, "dismiss", [held]) == [held]
        assert [name for name in health_checks.INVARIANTS if health_checks.violations(connection, name)] == []


def test_the_message_id_is_the_one_in_the_mail_servers_log(engine: Engine, tmp_path: Path) -> None:
    """Marked when the dump was made: only the mail server knows whether it was sent."""
    held, send = a_held_mail(engine)
    assert authorise(engine, send)
    sender = f"Snoozer <snoozer@{send.reminder_message_id.rpartition('@')[2].rstrip('>')}>"
    listed = run_command(
        "restored", "--apply", "--until", now().isoformat(), engine=engine, home=tmp_path, MAIL_FROM=sender
    )
    assert [line.split()[2] for line in listed.stdout.splitlines()] == [send.reminder_message_id]
    assert the_send(engine, held.id).state == "uncertain"
    assert not finalize(engine, held)
    with engine.begin() as connection:
        assert operate(connection, "dismiss", [held.id]) == [held.id]
    assert the_send(engine, held.id).state == "failed"


def test_what_the_clock_took_back_from_a_lost_worker_is_listed_too(engine: Engine, tmp_path: Path) -> None:
    """It runs on while workers wait. What it takes back is due a moment later, and would go out twice unlisted."""
    held = a_snooze(engine, claimed_at=now() - HOUR, scheduled_for=now() - HOUR)
    a_snooze(engine, scheduled_for=now() - HOUR, remind_at=now() + HOUR, last_error="451 4.3.0 later")
    stopped = now()
    assert run_command("clock", "--once", engine=engine, home=tmp_path).returncode == 0
    assert the_row(engine, held).claimed_at is None
    assert the_row(engine, held).remind_at > stopped
    assert [int(line.split()[0]) for line in lines(engine, tmp_path, until=stopped.isoformat())] == [held]


def test_nothing_becomes_a_case_while_a_worker_is_alive(engine: Engine, tmp_path: Path) -> None:
    a_snooze(engine)
    with engine.begin() as connection:
        registry.register(connection, id="host-1-abc")
    long_dead_after = {"SNOOZER_WORKER_DEAD_SECONDS": "3600"}
    ended = run_command(
        "restored", "--apply", "--until", now().isoformat(), engine=engine, home=tmp_path, **long_dead_after
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "A worker is at work" in ended.stderr


def test_a_time_without_its_offset_is_refused(engine: Engine, tmp_path: Path) -> None:
    for until in ("2027-01-04T09:30", "yesterday"):
        assert "a moment with its offset" in refusal("restored", "--until", until, engine=engine, home=tmp_path)
