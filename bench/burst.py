"""`bench burst`: very many reminders for the same second. Is the rate steady, is it fair, and do the pages suffer?"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from itertools import repeat
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from bench import baseline, options, seed
from bench.environment import Environment, scratch_environment
from bench.http_load import READER, Responses, requests, web_server
from bench.idle import wait
from bench.report import (
    BenchError,
    Line,
    Progress,
    StartStage,
    open_console,
    percentile,
    progress_bar,
    table,
    write_json,
    write_svg,
)
from bench.statements import execute
from bench.usage import resident_bytes
from bench.workers import running_workers

TENTHS = 10
# How many rows a person has: one, a few, or a heap. Half of all rows are single ones, a quarter belongs to few people.
FEW, HEAPS = 5, 5
KINDS = {"one row": (1, 1), "a few": (2, FEW), "a heap": (FEW + 1, 2**31)}
READER_ROWS = 50
WARM_UP = 200
REQUESTS_PER_SECOND = 10.0
TIMEOUT_SECONDS = 60.0
POLL_SECONDS = 0.5
MIN_SECONDS = 0.001
WANTED_MB, WANTED_PAGE_RATIO = 64, 2.0


@dataclass(frozen=True, kw_only=True)
class Wait:
    """Seconds from the time promised to the mail server's 250, for people of one kind."""

    kind: str
    rows: int
    p50: float
    p99: float
    worst: float


@dataclass(frozen=True, kw_only=True)
class Burst:
    """How one burst went. Rates are of each tenth of the rows in turn; pages are seconds at the 95th percentile."""

    rows: int
    seconds: float
    rate: float
    rates: tuple[float, ...]
    waits: tuple[Wait, ...]
    grown_bytes: tuple[int, ...]
    page_idle: float
    page_burst: float
    pages_failed: int
    reaped: int
    duplicates: int
    curves: dict[str, list[tuple[float, float]]]

    @property
    def page_ratio(self) -> float:
        return self.page_burst / self.page_idle if self.page_idle else 0.0


@click.command(name="burst", short_help="Very many reminders for the same second.")
@click.option("--rows", type=click.IntRange(100), default=100_000, show_default=True, help="Rows of one second.")
@options.processes(default=2)
@click.option("--concurrency", type=click.IntRange(1, 100), default=16, show_default=True, help="Deliveries of each.")
@options.batch()
@options.work(default=(0.0, 0.0))
@click.option("--calm", type=click.FloatRange(1, 3600), default=15, show_default=True, help="Seconds before it.")
@options.to_json
@options.to_svg
def command(
    rows: int,
    processes: int,
    concurrency: int,
    batch: int,
    work: tuple[float, float],
    calm: float,
    to_json: Path | None,
    to_svg: Path | None,
) -> None:
    """Promise ROWS reminders for the same second, and watch workers, persons and pages.

    Half of the rows are of persons who have no other, a quarter lies on five heaps that were put down first.
    """
    options.check_work(work)
    console = open_console()
    worker_options = [f"--concurrency={concurrency}", f"--batch={batch}"]
    with progress_bar(console) as start_stage, scratch_environment(work=work) as environment:
        burst = measure(
            environment, rows=rows, processes=processes, options=worker_options, calm=calm, start_stage=start_stage
        )
    console.print(_table(burst))
    console.print(_wait_table(burst))
    figures = {name: value for name, value in asdict(burst).items() if name != "curves"}
    write_json("burst", figures | {"page_ratio": burst.page_ratio}, to=to_json)
    lines = [Line(name=kind, points=points) for kind, points in burst.curves.items()]
    write_svg(lines, label="Reminders of each kind of person sent over time", y_unit="% of the kind", to=to_svg)


def measure(
    environment: Environment,
    *,
    rows: int,
    processes: int,
    options: Sequence[str],
    calm: float,
    start_stage: StartStage,
) -> Burst:
    """One burst, with a client that requests pages before it and during it."""
    with web_server(environment) as site, running_workers(environment, count=processes, options=options) as pids:
        with baseline.connect(environment.url) as database:
            tomorrow = datetime.now(UTC) + timedelta(days=1)
            seed.copy_at(database, [tomorrow] * READER_ROWS, people=repeat(READER))
            seed.copy_due(database, rows=WARM_UP)
            _wait_for(environment, count=WARM_UP, progress=start_stage("workers warm up", WARM_UP), pids=[])
            with requests(site, rate=REQUESTS_PER_SECOND) as idle:
                wait(calm, progress=start_stage("pages are read while nothing is due", round(calm)))
            due = datetime.now(UTC) + timedelta(seconds=5 + rows / 4000)
            seed.copy_at(database, [due] * rows, people=people(rows))
        seed.analyze(environment.engine)
        before = [resident_bytes(pid) for pid in pids]
        if datetime.now(UTC) > due:
            raise BenchError("The rows were put down after the second they are promised for; try fewer")
        time.sleep((due - datetime.now(UTC)).total_seconds())
        with requests(site, rate=REQUESTS_PER_SECOND) as busy:
            progress = start_stage(f"{rows:,} are due", rows)
            peaks = _wait_for(environment, count=WARM_UP + rows, progress=progress, pids=pids)
    with environment.engine.begin() as connection:
        sent = [(row.seconds, row.of_person) for row in execute(connection, "burst", due=due)]
        outcome = execute(connection, "outcome").one()
    grown = tuple(peak - start for peak, start in zip(peaks, before, strict=True))
    return _burst(sent, grown=grown, idle=idle, busy=busy, outcome=outcome)


def people(rows: int) -> Iterable[str]:
    """Yield the person of each row, starting with the people who have very many rows."""
    of_heaps, of_few = rows // 4, rows // 4
    for number in range(rows):
        if number < of_heaps:
            yield f"heap-{number % HEAPS}@snoozer.example"
        elif number < of_heaps + of_few:
            yield f"few-{number // FEW}@snoozer.example"
        else:
            yield f"one-{number}@snoozer.example"


def _wait_for(environment: Environment, *, count: int, progress: Progress, pids: Sequence[int]) -> list[int]:
    """Wait until so many reminders are sent in all; returns the peak memory of each process in bytes."""
    peaks, done, moved = [0] * len(pids), -1, time.monotonic()
    while done < count:
        with environment.engine.begin() as connection:
            now_done = int(execute(connection, "sent_count").scalar_one())
        if now_done > done:
            done, moved = now_done, time.monotonic()
        if time.monotonic() - moved > TIMEOUT_SECONDS:
            raise BenchError(f"Nothing was sent for {TIMEOUT_SECONDS:g} s, and {count - done} are left")
        peaks = [max(peak, resident_bytes(pid)) for peak, pid in zip(peaks, pids, strict=True)]
        progress(done)
        time.sleep(POLL_SECONDS)
    return peaks


def _burst(
    sent: Sequence[tuple[float, int]], *, grown: tuple[int, ...], idle: Responses, busy: Responses, outcome: Any
) -> Burst:
    seconds = [one for one, _ in sent]
    kinds = {kind: [one for one, rows in sent if least <= rows <= most] for kind, (least, most) in KINDS.items()}
    return Burst(
        rows=len(sent),
        seconds=seconds[-1],
        rate=len(sent) / seconds[-1],
        rates=_rates(seconds),
        waits=tuple(
            Wait(
                kind=kind,
                rows=len(waits),
                p50=percentile(waits, 0.5),
                p99=percentile(waits, 0.99),
                worst=max(waits, default=0.0),
            )
            for kind, waits in kinds.items()
        ),
        grown_bytes=grown,
        page_idle=percentile(idle.seconds, 0.95),
        page_burst=percentile(busy.seconds, 0.95),
        pages_failed=idle.failed + busy.failed,
        reaped=outcome.reaped,
        duplicates=outcome.duplicates,
        curves={kind: _curve(waits) for kind, waits in kinds.items()},
    )


def _rates(seconds: Sequence[float]) -> tuple[float, ...]:
    """How many a second were sent in each tenth of the rows."""
    ends = [len(seconds) * tenth // TENTHS for tenth in range(TENTHS + 1)]
    at = [seconds[end - 1] if end else 0.0 for end in ends]
    return tuple(
        (ends[tenth + 1] - ends[tenth]) / max(at[tenth + 1] - at[tenth], MIN_SECONDS) for tenth in range(TENTHS)
    )


def _curve(waits: Sequence[float]) -> list[tuple[float, float]]:
    """Per cent of the kind that were sent after so many seconds, in a hundred points."""
    return [(0.0, 0.0), *((percentile(waits, percent / 100), float(percent)) for percent in range(1, 101))]


def _table(burst: Burst) -> Table:
    rates = " ".join(f"{rate:,.0f}" for rate in burst.rates)
    grown = " ".join(f"{size / 1e6:.0f}" for size in burst.grown_bytes)
    return table(
        f"{burst.rows:,} reminders for the same second",
        ("", "measured", "wanted"),
        [
            ("reminders a second", f"{burst.rate:,.0f}", ""),
            ("the same in each tenth", rates, "steady"),
            ("slowest tenth beside the fastest", f"{min(burst.rates) / max(burst.rates):.2f}", ""),
            ("a worker's memory grew by (MB)", grown, f"≤ {WANTED_MB} each"),
            ("a page, p95, idle (ms)", f"{1000 * burst.page_idle:.1f}", ""),
            ("a page, p95, in the burst (ms)", f"{1000 * burst.page_burst:.1f}", ""),
            ("ratio of the two", f"{burst.page_ratio:.2f}", f"≤ {WANTED_PAGE_RATIO:g}"),
            ("pages that failed", f"{burst.pages_failed}", "0"),
            ("claims reaped, sent again", f"{burst.reaped}, {burst.duplicates}", "0, 0"),
        ],
    )


def _wait_table(burst: Burst) -> Table:
    return table(
        "How long persons waited, in seconds",
        ("who has", "rows", "p50", "p99", "worst"),
        [(one.kind, f"{one.rows:,}", f"{one.p50:.1f}", f"{one.p99:.1f}", f"{one.worst:.1f}") for one in burst.waits],
    )
