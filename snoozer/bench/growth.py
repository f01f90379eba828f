"""`snoozer bench growth`: what a claim takes beside ever more rows, and what many reminders leave on the disk."""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
import psycopg
from rich.console import Console
from rich.table import Table

from snoozer.bench import filling, floor, options
from snoozer.bench.ground import Ground, ground
from snoozer.bench.refusal import BenchRefused
from snoozer.bench.run import Progress, counters, settle
from snoozer.bench.shelf import Shelf, shelve
from snoozer.bench.telling import Bar, bar, part, table, write

WANTED = 1.5


@dataclass(frozen=True, kw_only=True)
class Claimed:
    """Milliseconds that a claim took beside so many rows that are asleep, and the sizes of table and indexes.

    `put_down_wal_bytes` is what the write-ahead log took for each row that was put down.
    """

    future: int
    put_down_wal_bytes: float
    p50_ms: float
    p99_ms: float
    table_bytes: int
    index_bytes: int


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
    console = Console()
    sizes = sorted(set(future))
    with bar(console) as begin:
        claimed = _claimed(sizes, claims=claims, batch=batch, rounds=rounds, begin=begin)
        shelf = _shelved(sent, begin=begin) if sent else None
    console.print(_table(claimed, batch=batch))
    if shelf:
        console.print(_shelf_table(shelf))
    write(
        "growth",
        {"batch": batch, "claims": [asdict(one) for one in claimed], "shelf": asdict(shelf) if shelf else None},
        to=to_json,
    )


def _claimed(sizes: Sequence[int], *, claims: int, batch: int, rounds: int, begin: Bar) -> list[Claimed]:
    with ExitStack() as stack:
        grounds = {size: stack.enter_context(ground(work=(0, 0))) for size in sizes}
        wal = {
            size: _put_down(here, size, progress=begin(f"{size:,} rows are put down", size))
            for size, here in grounds.items()
        }
        took: dict[int, list[float]] = {size: [] for size in sizes}
        for number in range(1, rounds + 1):
            for size, here in grounds.items():
                progress = begin(f"round {number} of {rounds}: beside {size:,}", claims)
                took[size] += _round(here, claims=claims, batch=batch, progress=progress)
        return [_told(size, here, took[size], wal=wal[size]) for size, here in grounds.items()]


def _put_down(here: Ground, size: int, *, progress: Progress) -> float:
    """Bytes of the write-ahead log for each row."""
    before = counters(here.engine)["wal"]
    with floor.bare(here.url) as database:
        filling.asleep(database, rows=size, progress=progress)
    return float(counters(here.engine)["wal"] - before) / max(1, size)


def _round(here: Ground, *, claims: int, batch: int, progress: Progress) -> list[float]:
    with floor.bare(here.url) as database:
        filling.due(database, rows=claims * batch)
        settle(here.engine)
        milliseconds = []
        for number in range(1, claims + 1):
            milliseconds.append(_claim(database, batch=batch))
            progress(number)
        return milliseconds


def _claim(database: "psycopg.Connection[Any]", *, batch: int) -> float:
    with database.transaction():
        began = time.perf_counter()
        claimed = floor.claim(database, batch=batch, worker="bench")
        took = 1000 * (time.perf_counter() - began)
    if len(claimed) != batch:
        raise BenchRefused(f"A claim took {len(claimed)} rows instead of {batch}")
    return took


def _told(size: int, here: Ground, took: Sequence[float], *, wal: float) -> Claimed:
    with floor.bare(here.url) as database:
        [queue] = [row for row in database.execute(floor.sql("bench/sizes")) if row["name"] == "email_snoozes"]
    return Claimed(
        future=size,
        put_down_wal_bytes=wal,
        p50_ms=part(took, 0.5),
        p99_ms=part(took, 0.99),
        table_bytes=queue["table_bytes"],
        index_bytes=queue["index_bytes"],
    )


def _shelved(sent: int, *, begin: Bar) -> Shelf:
    with ground(work=(0, 0)) as here:
        return shelve(here, reminders=sent, progress=begin(f"{sent:,} sent reminders are archived", sent))


def _table(claimed: Sequence[Claimed], *, batch: int) -> Table:
    least = claimed[0]
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
            for one in claimed
        ],
        caption=f"Wanted: a ratio of {WANTED} at the most.",
    )


def _shelf_table(shelf: Shelf) -> Table:
    return table(
        f"After {shelf.reminders:,} reminders, with the archive running",
        ("", "rows", "table (MB)", "indexes (MB)", "bytes each"),
        [
            (
                one.name,
                f"{one.rows:,}",
                f"{one.table_bytes / 1e6:,.1f}",
                f"{one.index_bytes / 1e6:,.1f}",
                f"{(one.table_bytes + one.index_bytes) / one.rows:,.0f}" if one.rows else "–",
            )
            for one in shelf.stored
        ],
        caption=f"Before it moved, each took {shelf.over_bytes:,.0f} bytes. Moved at {shelf.rate:,.0f} a second, "
        f"{shelf.wal_bytes:,.0f} bytes of WAL each.",
    )
