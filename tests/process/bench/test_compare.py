"""The comparison's arithmetic and its mails: what needs none of the other queues installed."""

import asyncio
import re
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from bench import figures
from bench.compare import measure_ours, scenes
from bench.drain import Load
from bench.environment import scratch_environment
from bench.figures import Run
from bench.mail_server import MailServer, bench_mail_server
from bench.peers import venv
from bench.peers.job import composed, payload
from bench.peers.smtp_client import SmtpClient, as_data
from tests import loops
from tests.process.bench.running import run_bench


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
        commits=0.5,
        wal_bytes=2000.0,
        duplicates=duplicates,
        mails=None,
    )


def test_the_help_lists_the_options() -> None:
    ended = run_bench("compare", "--help")
    assert ended.returncode == 0
    for option in ("--rows", "--rounds", "--scene", "--json"):
        assert option in ended.stdout


@pytest.mark.parametrize("who", ["baseline", "baseline, composing"])
def test_our_own_runs_stand_beside_the_others(who: str) -> None:
    load = Load(rows=200, processes=1, concurrency=4, batch=50)
    with scratch_environment(work=(0, 0)) as environment:
        run = measure_ours(who, environment, load, number=2, progress=lambda done: None)
    assert (run.who, run.round, run.rows, run.duplicates) == (who, 2, 200, 0)
    assert run.rate > 0


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
    assert ["snoozer", "1,234", "0.41", "0.80", "1.00", "0.50", "2,000", "0"] in lines
    assert ["pgqueuer, composing", "617", "0.81", "1.60", "1.00", "0.50", "2,000", "3"] in lines
    assert ["Snoozer ÷ pgqueuer, composing", "2.00", "0.50", "0.50", "1.00", "1.00", "1.00"] in lines


def test_both_scenes_have_every_queue_and_sleeping_has_the_shape_of_the_harness() -> None:
    both = scenes(rows=1000, processes=2, concurrency=64, batch=100, compose=True)
    assert [peer.name for peer in both["smtp"].peers] == [
        "pgqueuer",
        "pgqueuer, composing",
        "pgqueuer, aiosmtplib",
        "procrastinate",
        "procrastinate, composing",
        "procrastinate, aiosmtplib",
    ]
    assert {peer.parallel for peer in both["sleep"].peers} == {16}
    assert (both["sleep"].load.concurrency, both["sleep"].load.batch) == (32, 50)


def test_every_version_that_is_compared_is_exact() -> None:
    pins = venv.pins()
    assert {"pgqueuer", "procrastinate"} <= pins.keys()
    assert all(re.fullmatch(r"[0-9][0-9A-Za-z.]*", version) for version in pins.values())


def test_the_counters_of_smtp_sink_are_read_to_the_last_mail(tmp_path: Path) -> None:
    counters = tmp_path / "counters"
    server = MailServer(port=25, name="smtp-sink", counters=counters)
    counters.write_bytes(b"")
    assert server.accepted() == 0
    counters.write_bytes(b"".join(b"sess=%5d quit=%5d mesg=%5d\r" % (2, 0, number) for number in range(1, 1001)))
    assert server.accepted() == 1000


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
