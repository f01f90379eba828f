"""`bench growth`: how long a claim takes as the table grows, and how many bytes finished reminders take on disk."""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import click
import psycopg
from rich.table import Table

from bench import baseline, options, seed
from bench.environment import Environment, scratch_environment
from bench.report import BenchError, Progress, StartStage, open_console, percentile, progress_bar, table, write_json
from bench.statements import execute
from bench.usage import counters
from snoozer.db.statements import rows_as
from snoozer.delivery.chores import chores

WANTED_RATIO = 1.5
ARCHIVE_WAVES = 10
RETENTION = chores.Retention(archive_after=timedelta(days=35), keep_months=24)
FINISHED_AGE = timedelta(days=40)


@dataclass(frozen=True, kw_only=True)
class ClaimTime:
    """Milliseconds that a claim took with `future` rows asleep, and the sizes of the table and its indexes.

    `insert_wal_bytes` is the write-ahead log's growth for each inserted row.
    """

    future: int
    insert_wal_bytes: float
    p50_ms: float
    p99_ms: float
    table_bytes: int
    index_bytes: int


@dataclass(frozen=True, kw_only=True)
class StoredTable:
    """One table with its partitions."""

    name: str
    rows: int
    table_bytes: int
    index_bytes: int


@dataclass(frozen=True, kw_only=True)
class ArchiveGrowth:
    """Where so many finished reminders are stored at the end; `rate` and `wal_bytes` (each) are of archiving them.

    `over_bytes` is what each took in the queue's own tables and indexes before that.
    """

    reminders: int
    over_bytes: float
    rate: float
    wal_bytes: float
    stored: tuple[StoredTable, ...]


@click.command(name="growth", short_help="What a claim takes beside ever more rows, and what the archive holds.")
@click.option(
    "--future", type=click.IntRange(0), multiple=True, default=(10_000, 1_000_000), help="Rows that are asleep."
)
@click.option("--claims", type=click.IntRange(1), default=200, show_default=True, help="Claims in a round.")
@options.batch()
@options.rounds(help="Rounds, in turn.")
@click.option("--sent", type=click.IntRange(0), default=100_000, show_default=True, help="Reminders for the archive.")
@options.to_json
def command(future: tuple[int, ...], claims: int, batch: int, rounds: int, sent: int, to_json: Path | None) -> None:
    """Claim among rows that are asleep, each number of them on a server of its own; then archive what was sent.

    Say --future several times for several sizes: 10000000 need about 5 GB of disk. Ratios are against the smallest.
    """
    console = open_console()
    with progress_bar(console) as start_stage:
        times = _claim_times(sorted(set(future)), claims=claims, batch=batch, rounds=rounds, start_stage=start_stage)
        archive = _archive_growth(sent, start_stage=start_stage) if sent else None
    console.print(_claim_table(times, batch=batch))
    if archive:
        console.print(_archive_table(archive))
    write_json(
        "growth",
        {"batch": batch, "claims": [asdict(one) for one in times], "archive": asdict(archive) if archive else None},
        to=to_json,
    )


def _claim_times(
    sizes: Sequence[int], *, claims: int, batch: int, rounds: int, start_stage: StartStage
) -> list[ClaimTime]:
    with ExitStack() as stack:
        environments = {size: stack.enter_context(scratch_environment(work=(0, 0))) for size in sizes}
        wal = {
            size: _insert_asleep(environment, size, progress=start_stage(f"{size:,} rows are inserted", size))
            for size, environment in environments.items()
        }
        milliseconds: dict[int, list[float]] = {size: [] for size in sizes}
        for number in range(1, rounds + 1):
            for size, environment in environments.items():
                progress = start_stage(f"round {number} of {rounds}: beside {size:,}", claims)
                milliseconds[size] += _claim_round(environment, claims=claims, batch=batch, progress=progress)
        return [
            _claim_time(size, environment, milliseconds[size], wal=wal[size])
            for size, environment in environments.items()
        ]


def _insert_asleep(environment: Environment, size: int, *, progress: Progress) -> float:
    """Return the bytes of the write-ahead log for each row."""
    before = counters(environment.engine)["wal"]
    with baseline.connect(environment.url) as database:
        seed.copy_asleep(database, rows=size, progress=progress)
    return float(counters(environment.engine)["wal"] - before) / max(1, size)


def _claim_round(environment: Environment, *, claims: int, batch: int, progress: Progress) -> list[float]:
    with baseline.connect(environment.url) as database:
        seed.copy_due(database, rows=claims * batch)
        seed.analyze(environment.engine)
        milliseconds = []
        for number in range(1, claims + 1):
            milliseconds.append(_timed_claim(database, batch=batch))
            progress(number)
        return milliseconds


def _timed_claim(database: "psycopg.Connection[Any]", *, batch: int) -> float:
    with database.transaction():
        start = time.perf_counter()
        claimed = baseline.claim(database, batch=batch, worker="bench")
        milliseconds = 1000 * (time.perf_counter() - start)
    if len(claimed) != batch:
        raise BenchError(f"A claim took {len(claimed)} rows instead of {batch}")
    return milliseconds


def _claim_time(size: int, environment: Environment, milliseconds: Sequence[float], *, wal: float) -> ClaimTime:
    [queue] = [one for one in _stored(environment) if one.name == "email_snoozes"]
    return ClaimTime(
        future=size,
        insert_wal_bytes=wal,
        p50_ms=percentile(milliseconds, 0.5),
        p99_ms=percentile(milliseconds, 0.99),
        table_bytes=queue.table_bytes,
        index_bytes=queue.index_bytes,
    )


def _archive_growth(reminders: int, *, start_stage: StartStage) -> ArchiveGrowth:
    with scratch_environment(work=(0, 0)) as environment:
        progress = start_stage(f"{reminders:,} sent reminders are archived", reminders)
        return _archive_in_waves(environment, reminders=reminders, progress=progress)


def _archive_in_waves(environment: Environment, *, reminders: int, progress: Progress) -> ArchiveGrowth:
    """Insert finished rows and archive them in waves: each wave reuses the space that the previous wave has freed."""
    engine = environment.engine
    chores.maintain_partitions(engine, config=RETENTION)
    moved, seconds, wal, over_bytes = 0, 0.0, 0.0, 0.0
    for wave in range(ARCHIVE_WAVES):
        rows = (wave + 1) * reminders // ARCHIVE_WAVES - wave * reminders // ARCHIVE_WAVES
        with baseline.connect(environment.url) as database:
            seed.copy_sent(database, rows=rows, age=FINISHED_AGE)
        seed.analyze(engine, all_tables=True)
        if not wave:
            queue = [one for one in _stored(environment) if not one.name.endswith("_archive")]
            over_bytes = sum(one.table_bytes + one.index_bytes for one in queue) / rows
        before, start = counters(engine)["wal"], time.monotonic()
        while batch := chores.archive(engine, config=RETENTION):
            moved += batch
            progress(moved)
        seconds += time.monotonic() - start
        wal += counters(engine)["wal"] - before
    seed.analyze(engine, all_tables=True)
    return ArchiveGrowth(
        reminders=moved,
        over_bytes=over_bytes,
        rate=moved / seconds,
        wal_bytes=wal / max(1, moved),
        stored=_stored(environment),
    )


def _stored(environment: Environment) -> tuple[StoredTable, ...]:
    with environment.engine.connect() as connection:
        return tuple(rows_as(execute(connection, "table_sizes"), StoredTable))


def _claim_table(times: Sequence[ClaimTime], *, batch: int) -> Table:
    least = times[0]
    return table(
        f"A claim of {batch}, in milliseconds",
        ("rows asleep", "p50", "ratio", "p99", "ratio", "table (MB)", "indexes (MB)"),
        [
            (
                f"{one.future:,}",
                f"{one.p50_ms:.2f}",
                f"{one.p50_ms / least.p50_ms:.2f}",
                f"{one.p99_ms:.2f}",
                f"{one.p99_ms / least.p99_ms:.2f}",
                f"{one.table_bytes / 1e6:,.0f}",
                f"{one.index_bytes / 1e6:,.0f}",
            )
            for one in times
        ],
        caption=f"Wanted: a ratio of {WANTED_RATIO} at the most.",
    )


def _archive_table(archive: ArchiveGrowth) -> Table:
    return table(
        f"After {archive.reminders:,} reminders, with the archive running",
        ("", "rows", "table (MB)", "indexes (MB)", "bytes each"),
        [
            (
                one.name,
                f"{one.rows:,}",
                f"{one.table_bytes / 1e6:,.1f}",
                f"{one.index_bytes / 1e6:,.1f}",
                f"{(one.table_bytes + one.index_bytes) / one.rows:,.0f}" if one.rows else "–",
            )
            for one in archive.stored
        ],
        caption=f"Before it moved, each took {archive.over_bytes:,.0f} bytes. Moved at {archive.rate:,.0f} a second, "
        f"{archive.wal_bytes:,.0f} bytes of WAL each.",
    )
