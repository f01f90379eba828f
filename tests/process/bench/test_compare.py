"""The comparison's arithmetic and its mails: what needs none of the other queues installed."""

import asyncio
import hashlib
import re
import socket
from collections.abc import Iterator
from dataclasses import fields
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from bench import baseline, mails
from bench.comparison import drains, figures, scheduled, targets
from bench.comparison.contestants import BEFORE, KEEPS_LEDGER, LEDGERS, QUEUES, Contestant, draining
from bench.comparison.contestants import scheduled as scheduled_contestants
from bench.comparison.figures import Run
from bench.comparison.stage import Stage, journal_stage
from bench.mail_server import MailServer, bench_mail_server, read_journal
from bench.peers import journal, venv
from bench.peers.job import composed, payload
from bench.peers.smtp_client import BlockingSmtpClient, SmtpClient, as_data
from bench.schedule import Schedule
from snoozer.queue.reminder import Send
from tests import loops
from tests.process.bench.running import ROOT, run_bench


def a_run(who: str, number: int, *, rate: float, duplicates: int = 0) -> Run:
    return Run(
        who=who,
        round=number,
        rows=1000,
        seconds=1000 / rate,
        rate=rate,
        p50_wait=500 / rate,
        p99_wait=990 / rate,
        cpu_ms=1.0,
        work_cpu_ms=0.8,
        server_cpu_ms=0.25,
        commits=0.5,
        wal_bytes=2000.0,
        duplicates=duplicates,
        mails=None,
        commands=None,
    )


def test_the_help_lists_the_options() -> None:
    ended = run_bench("compare", "--help")
    assert ended.returncode == 0
    for option in ("--run", "--peer", "--rows", "--rounds", "--beside", "--json", "--svg"):
        assert option in ended.stdout


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    """Without an interpreter of the peers."""
    with journal_stage(processes=1, python=Path("python-of-bench-venv")) as one:
        yield one


def ours(name: str) -> Contestant:
    all_of_us = draining(concurrency=4, batch=50, queues=(), beside=None)
    [found] = [one for one in all_of_us if one.name == name]
    return found


@pytest.mark.parametrize("who", ["baseline", "baseline, composing", "snoozer, 32 × 50"])
def test_our_own_runs_stand_beside_the_others(stage: Stage, who: str) -> None:
    run = drains.measure(ours(who), stage, rows=200, number=2, progress=lambda done: None)
    assert (run.who, run.round, run.rows, run.duplicates) == (who, 2, 200, 0)
    assert run.rate > 0


def test_another_checkout_drains_in_a_database_of_its_own(stage: Stage, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for name in ("snoozer", "migrations", "templates", "static"):
        (other / name).symlink_to(ROOT / name)
    [before] = [one for one in draining(concurrency=4, batch=50, queues=(), beside=other) if one.name == BEFORE]
    run = drains.measure(before, stage, rows=100, number=1, progress=lambda done: None)
    assert (run.who, run.rows, run.duplicates) == (BEFORE, 100, 0)


def test_the_baseline_composes_the_bytes_of_a_worker(stage: Stage) -> None:
    drains.measure(ours("snoozer"), stage, rows=100, number=1, progress=lambda done: None)
    with baseline.connect(stage.environment.url) as database:
        sent = database.execute(
            "SELECT send.*, snooze.created_at AS dated, NULL AS thread_ids, NULL AS digest_id, "
            "'{}'::text[] AS members, FALSE AS repeats, NULL AS excerpt, NULL AS as_of, FALSE AS is_review "
            "FROM reminder_sends AS send "
            "JOIN email_snoozes AS snooze ON snooze.id = send.snooze_id"
        ).fetchall()
    assert len(sent) == 100
    names = {field.name for field in fields(Send)} - {"bytes_sha256", "former_token"}
    for row in sent:
        send = Send(**{name: row[name] for name in names}, bytes_sha256=None)
        assert hashlib.sha256(mails.composed(send)).hexdigest() == row["bytes_sha256"]


def test_lateness_is_by_the_clock_of_the_mail_server(stage: Stage) -> None:
    [snoozer] = scheduled_contestants(concurrency=4, batch=50, queues=())
    late = scheduled.measure(snoozer, stage, rows=20, seconds=1, number=1, progress=lambda done: None)
    assert (late.who, late.rows) == ("snoozer", 20)
    assert 0 < late.first_ms <= late.p50_ms <= late.p99_ms <= late.last_ms
    assert len(late.curve) == 20


def test_ratios_are_taken_within_a_round_so_that_a_slow_minute_affects_both() -> None:
    runs = [
        *(a_run("snoozer", number, rate=rate) for number, rate in ((1, 2000), (2, 200), (3, 2000))),
        *(a_run("pgqueuer", number, rate=rate) for number, rate in ((1, 1000), (2, 100), (3, 100))),
    ]
    assert figures.medians(runs, "pgqueuer")["rate"] == 100
    assert figures.ratios(runs, "pgqueuer")["rate"] == 2


def test_one_bad_round_is_not_hidden_by_two_good_ones() -> None:
    runs = [a_run("pgqueuer", number, rate=1000, duplicates=number // 3) for number in (1, 2, 3)]
    assert figures.medians(runs, "pgqueuer")["duplicates"] == 1


def test_the_table_shows_every_contestant_and_its_duplicates() -> None:
    runs = [a_run("snoozer", 1, rate=1234), a_run("pgqueuer, composing", 1, rate=617, duplicates=3)]
    console = Console(width=100, record=True, file=StringIO())
    console.print(figures.table(runs, title="smtp", caption="Medians."))
    drawn = console.export_text()
    lines = [re.split(" {2,}", line.strip()) for line in drawn.splitlines()]
    assert ["snoozer", "1,234", "0.41", "0.80", "1.00", "0.80", "0.25", "0.50", "2,000", "0"] in lines
    assert ["pgqueuer, composing", "617", "0.81", "1.60", "1.00", "0.80", "0.25", "0.50", "2,000", "3"] in lines


def test_every_peer_drains_in_three_ways_and_one_also_with_a_ledger() -> None:
    names = [one.name for one in draining(concurrency=64, batch=100, queues=QUEUES, beside=None) if one.is_peer]
    assert len(names) == 3 * len(QUEUES) + len(KEEPS_LEDGER) * len(LEDGERS)
    assert {"pgqueuer", "awa, composing", "procrastinate, aiosmtplib", "celery, smtplib"} <= set(names)
    assert {"pgqueuer, with a ledger", "pgqueuer, with a batched ledger"} <= set(names)


def test_a_ratio_that_is_missed_is_named() -> None:
    rates = {"snoozer": 1000, "baseline, composing": 2000, "pgqueuer, aiosmtplib": 100, "awa, composing": 500}
    found = targets.reached([a_run(who, 1, rate=rate) for who, rate in rates.items()])
    assert [(one.ratio, one.wanted, one.holds) for one in found] == [
        (0.5, "≥ 0.75", False),
        (10.0, "≥ 1.9", True),
        (2.0, "", True),
    ]


def test_the_schedule_of_a_run_is_the_same_for_all() -> None:
    schedule = Schedule(rows=100, first=20, start=1000.0, seconds=10.0)
    due = schedule.due_times()
    assert due is not None
    assert due == schedule.due_times() == sorted(due)
    assert 1000 <= due[0] < due[-1] <= 1010
    assert schedule.numbers[0] == 20
    assert Schedule(rows=3).due_times() is None


def test_what_workers_of_a_peer_did_is_read_from_their_journals(tmp_path: Path) -> None:
    written = journal.Journal(str(tmp_path))
    written.add(7, began=1.0)
    (tmp_path / "4711").write_text("8 0.500000 0.750000\n7 2.000000 2.500000\n")
    assert (journal.processes(tmp_path), journal.count(tmp_path)) == (2, 3)
    assert [one.number for one in journal.read(tmp_path)] == [8, 7, 7]


def test_every_version_that_is_compared_is_exact() -> None:
    pins = venv.pins()
    assert {"pgqueuer", "procrastinate", "awa-pg", "celery", "redis"} <= pins.keys()
    assert venv.versions(QUEUES).keys() == set(QUEUES)
    assert all(re.fullmatch(r"[0-9][0-9A-Za-z.]*", version) for version in pins.values())


def test_the_counters_of_smtp_sink_are_read_to_the_last_mail(tmp_path: Path) -> None:
    counters = tmp_path / "counters"
    server = MailServer(port=25, name="smtp-sink", counters=counters)
    counters.write_bytes(b"")
    assert server.accepted() == 0
    counters.write_bytes(b"".join(b"sess=%5d quit=%5d mesg=%5d\r" % (2, 0, number) for number in range(1, 1001)))
    assert server.accepted() == 1000


def test_a_pipelined_envelope_waits_for_the_reply_to_the_mail_before_it() -> None:
    envelope = b"MAIL FROM:<a@snoozer.example>\r\nRCPT TO:<b@snoozer.example>\r\nDATA\r\n"
    with bench_mail_server((50, 50)) as port, socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"EHLO test\r\n" + envelope + b"body\r\n.\r\n" + envelope + b"body\r\n.\r\nQUIT\r\n")
        replies = connection.makefile("rb").read().decode("ascii").splitlines()
    codes = [line[:3] for line in replies if line[3:4] != "-"]
    assert codes == ["220", "250", *["250", "250", "354", "250"] * 2, "221"]
    assert [number for number, line in enumerate(replies) if "queued" in line] == [7, 11]


def test_the_blocking_client_sends_one_mail_after_the_other(tmp_path: Path) -> None:
    accepted = tmp_path / "accepted"
    with bench_mail_server((0, 0), journal=accepted) as port:
        client = BlockingSmtpClient(port)
        for number in range(3):
            client.send(b"person-%d@snoozer.example" % number, as_data(composed(payload(number))))
        client.close()
    assert [who for who, _ in read_journal(accepted)] == [f"person-{number}@snoozer.example" for number in range(3)]


def test_the_smtp_client_of_the_peers_keeps_its_connections() -> None:
    async def send(port: int) -> int:
        client = SmtpClient(port)
        mail = as_data(composed(payload(7)))
        await asyncio.gather(*(client.send(b"person-7@snoozer.example", mail) for _ in range(8)))
        await asyncio.gather(*(client.send(b"person-7@snoozer.example", mail) for _ in range(8)))
        client.close()
        await asyncio.sleep(0)
        return client.opened

    with bench_mail_server((0, 0)) as port:
        assert loops.run(send(port)) == 8


@pytest.mark.parametrize(
    ("message", "sent"),
    [(b"a\r\n.b\r\n", b"a\r\n..b\r\n.\r\n"), (b".\r\n", b"..\r\n.\r\n")],
)
def test_no_line_of_a_mail_ends_it_early(message: bytes, sent: bytes) -> None:
    assert as_data(message) == sent
