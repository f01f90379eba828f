"""`snoozer bench herd`: very many reminders for one second. Is the rate steady, is it fair, who else suffers?"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from itertools import repeat
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from snoozer.bench import filling, floor, options
from snoozer.bench.crew import crew
from snoozer.bench.ground import Ground, ground
from snoozer.bench.plot import Line, svg
from snoozer.bench.processes import resident_bytes
from snoozer.bench.refusal import BenchRefused
from snoozer.bench.run import Progress, let_pass, settle
from snoozer.bench.telling import Bar, bar, draw, part, table, write
from snoozer.bench.visits import READER, Visits, reading, site
from snoozer.db.statements import execute

TENTHS = 10
# What a person has: one row, a few, or a heap. Half of all rows are single ones, a quarter lies on few heaps.
FEW, HEAPS = 5, 5
KINDS = {"one row": (1, 1), "a few": (2, FEW), "a heap": (FEW + 1, 2**31)}
READER_ROWS = 50
WARM_UP = 200
VISITS_A_SECOND = 10.0
PATIENCE_SECONDS = 60.0
LOOK_SECONDS = 0.5
LEAST_SECONDS = 0.001
WANTED_MB, WANTED_PAGES = 64, 2.0


@dataclass(frozen=True, kw_only=True)
class Wait:
    """Seconds from the promise to the mail server's 250, for persons of one kind."""

    kind: str
    rows: int
    p50: float
    p99: float
    worst: float


@dataclass(frozen=True, kw_only=True)
class Herd:
    """How one herd went. Rates are of each tenth of the rows in turn; pages are seconds at the 95th percentile."""

    rows: int
    seconds: float
    rate: float
    rates: tuple[float, ...]
    waits: tuple[Wait, ...]
    grown_bytes: tuple[int, ...]
    page_idle: float
    page_herd: float
    pages_failed: int
    reaped: int
    duplicates: int
    curves: dict[str, list[tuple[float, float]]]

    @property
    def page_ratio(self) -> float:
        return self.page_herd / self.page_idle if self.page_idle else 0.0


@click.command(name="herd", short_help="Very many reminders for the same second.")
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
    console = Console()
    asked = [f"--concurrency={concurrency}", f"--batch={batch}"]
    with bar(console) as begin, ground(work=work) as here:
        herd = measure(here, rows=rows, processes=processes, asked=asked, calm=calm, begin=begin)
    console.print(_table(herd))
    console.print(_waits(herd))
    figures = {name: value for name, value in asdict(herd).items() if name != "curves"}
    write("herd", figures | {"page_ratio": herd.page_ratio}, to=to_json)
    lines = [Line(name=kind, points=points) for kind, points in herd.curves.items()]
    draw(svg(lines, what="Reminders of each kind of person sent over time", upwards="% of the kind"), to=to_svg)


def measure(ground: Ground, *, rows: int, processes: int, asked: Sequence[str], calm: float, begin: Bar) -> Herd:
    """One herd, with a reader who asks for pages before it and during it."""
    with site(ground) as pages, crew(ground, count=processes, options=asked) as pids:
        with floor.bare(ground.url) as database:
            tomorrow = datetime.now(UTC) + timedelta(days=1)
            filling.promised(database, [tomorrow] * READER_ROWS, persons=repeat(READER))
            filling.due(database, rows=WARM_UP)
            _wait_for(ground, count=WARM_UP, progress=begin("workers warm up", WARM_UP), pids=[])
            with reading(pages, rate=VISITS_A_SECOND) as idle:
                let_pass(calm, progress=begin("pages are read while nothing is due", round(calm)))
            promise = datetime.now(UTC) + timedelta(seconds=5 + rows / 4000)
            filling.promised(database, [promise] * rows, persons=persons(rows))
        settle(ground.engine)
        before = [resident_bytes(pid) for pid in pids]
        if datetime.now(UTC) > promise:
            raise BenchRefused("The rows were put down after the second they are promised for; try fewer")
        time.sleep((promise - datetime.now(UTC)).total_seconds())
        with reading(pages, rate=VISITS_A_SECOND) as busy:
            peaks = _wait_for(ground, count=WARM_UP + rows, progress=begin(f"{rows:,} are due", rows), pids=pids)
    with ground.engine.begin() as connection:
        sent = [(row.seconds, row.of_person) for row in execute(connection, "bench/herd", promise=promise)]
        outcome = execute(connection, "bench/outcome").one()
    grown = tuple(peak - start for peak, start in zip(peaks, before, strict=True))
    return _told(sent, grown=grown, idle=idle, busy=busy, outcome=outcome)


def persons(rows: int) -> Iterable[str]:
    """Whose row each is, the heaps first."""
    heaped, of_few = rows // 4, rows // 4
    for number in range(rows):
        if number < heaped:
            yield f"heap-{number % HEAPS}@snoozer.example"
        elif number < heaped + of_few:
            yield f"few-{number // FEW}@snoozer.example"
        else:
            yield f"one-{number}@snoozer.example"


def _wait_for(ground: Ground, *, count: int, progress: Progress, pids: Sequence[int]) -> list[int]:
    """Until so many reminders are out in all; answers the most memory that each process held meanwhile."""
    peaks, done, moved = [0] * len(pids), -1, time.monotonic()
    while done < count:
        with ground.engine.begin() as connection:
            now_done = int(execute(connection, "bench/done").scalar_one())
        if now_done > done:
            done, moved = now_done, time.monotonic()
        if time.monotonic() - moved > PATIENCE_SECONDS:
            raise BenchRefused(f"Nothing was sent for {PATIENCE_SECONDS:g} s, and {count - done} are left")
        peaks = [max(peak, resident_bytes(pid)) for peak, pid in zip(peaks, pids, strict=True)]
        progress(done)
        time.sleep(LOOK_SECONDS)
    return peaks


def _told(
    sent: Sequence[tuple[float, int]], *, grown: tuple[int, ...], idle: Visits, busy: Visits, outcome: Any
) -> Herd:
    seconds = [one for one, _ in sent]
    kinds = {kind: [one for one, of in sent if least <= of <= most] for kind, (least, most) in KINDS.items()}
    return Herd(
        rows=len(sent),
        seconds=seconds[-1],
        rate=len(sent) / seconds[-1],
        rates=_rates(seconds),
        waits=tuple(
            Wait(kind=kind, rows=len(took), p50=part(took, 0.5), p99=part(took, 0.99), worst=max(took, default=0.0))
            for kind, took in kinds.items()
        ),
        grown_bytes=grown,
        page_idle=part(idle.seconds, 0.95),
        page_herd=part(busy.seconds, 0.95),
        pages_failed=idle.failed + busy.failed,
        reaped=outcome.reaped,
        duplicates=outcome.duplicates,
        curves={kind: _curve(took) for kind, took in kinds.items()},
    )


def _rates(seconds: Sequence[float]) -> tuple[float, ...]:
    """How many a second left in each tenth of the rows."""
    ends = [len(seconds) * tenth // TENTHS for tenth in range(TENTHS + 1)]
    at = [seconds[end - 1] if end else 0.0 for end in ends]
    return tuple(
        (ends[tenth + 1] - ends[tenth]) / max(at[tenth + 1] - at[tenth], LEAST_SECONDS) for tenth in range(TENTHS)
    )


def _curve(took: Sequence[float]) -> list[tuple[float, float]]:
    """Per cent of the kind that were out after so many seconds, in a hundred points."""
    return [(0.0, 0.0), *((part(took, percent / 100), float(percent)) for percent in range(1, 101))]


def _table(herd: Herd) -> Table:
    rates = " ".join(f"{rate:,.0f}" for rate in herd.rates)
    grown = " ".join(f"{size / 1e6:.0f}" for size in herd.grown_bytes)
    return table(
        f"{herd.rows:,} reminders for the same second",
        ("", "measured", "wanted"),
        [
            ("reminders a second", f"{herd.rate:,.0f}", ""),
            ("the same in each tenth", rates, "steady"),
            ("slowest tenth beside the fastest", f"{min(herd.rates) / max(herd.rates):.2f}", ""),
            ("a worker's memory grew by (MB)", grown, f"≤ {WANTED_MB} each"),
            ("a page, p95, idle (ms)", f"{1000 * herd.page_idle:.1f}", ""),
            ("a page, p95, in the herd (ms)", f"{1000 * herd.page_herd:.1f}", ""),
            ("ratio of the two", f"{herd.page_ratio:.2f}", f"≤ {WANTED_PAGES:g}"),
            ("pages that failed", f"{herd.pages_failed}", "0"),
            ("claims reaped, sent again", f"{herd.reaped}, {herd.duplicates}", "0, 0"),
        ],
    )


def _waits(herd: Herd) -> Table:
    return table(
        "How long persons waited, in seconds",
        ("who has", "rows", "p50", "p99", "worst"),
        [(one.kind, f"{one.rows:,}", f"{one.p50:.1f}", f"{one.p99:.1f}", f"{one.worst:.1f}") for one in herd.waits],
    )
