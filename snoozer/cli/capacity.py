"""What so many people need: the throughput formula of a queue, fitted to measurements, and what follows from it.

A worker process takes `batch` reminders in `batch_seconds + batch * reminder_seconds`: what a batch costs however small
it is (claim, commits, round trips), and what each reminder adds. Throughput is workers times batch over that. The
database server's CPU follows the same line with figures of its own, and it is what one database runs out of first,
because workers can be put on other machines.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

YEAR_DAYS = 365


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What was measured. Seconds and bytes; `server_…` are CPU of the database server, per batch and per reminder.

    `wal_bytes` are written while a reminder is sent, `other_wal_bytes` when it is put away and when it is archived.
    `asleep_bytes` are table and indexes for a row that waits, `over_bytes` for one that was sent with its entry in the
    ledger, `archived_bytes` for both in the archive.
    """

    batch_seconds: float
    reminder_seconds: float
    worker_cpu_seconds: float
    server_batch_seconds: float
    server_reminder_seconds: float
    wal_bytes: float
    other_wal_bytes: float
    asleep_bytes: float
    over_bytes: float
    archived_bytes: float


@dataclass(frozen=True, kw_only=True)
class Demand:
    """Who snoozes how much, and when it comes back.

    `herd_share` of a day's reminders are promised for one and the same second and are to be out `herd_seconds` later;
    the others come evenly over `waking_hours`.
    """

    people: float
    per_day: float
    herd_share: float = 0.1
    herd_seconds: float = 60.0
    waking_hours: float = 12.0
    asleep_days: float = 3.0

    @property
    def daily(self) -> float:
        """Reminders a day."""
        return self.people * self.per_day

    @property
    def peak(self) -> float:
        """Reminders a second while the herd drains: its own, and those that come meanwhile."""
        evenly = self.daily * (1 - self.herd_share) / (self.waking_hours * 3600)
        return self.daily * self.herd_share / self.herd_seconds + evenly


@dataclass(frozen=True, kw_only=True)
class Means:
    """What there is. `busy` is the share of a core or a disk that one wants to use at the peak."""

    batch: int = 50
    database_cores: float = 4.0
    wal_bytes_a_second: float = 50e6
    busy: float = 0.7
    archive_after_days: float = 35.0


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is needed, and where one database ends: `most` reminders a second at the peak, `most_people` people."""

    peak: float
    a_worker: float
    workers: int
    worker_cores: float
    database_cores: float
    wal_bytes_a_day: float
    bytes_after_a_year: float
    most: float
    most_people: float
    limit: str

    @property
    def fits(self) -> bool:
        """Is one database enough?"""
        return self.peak <= self.most


def plan(demand: Demand, means: Means, figures: Figures) -> Plan:
    """What this demand needs, by these figures."""
    a_worker = throughput(figures, batch=means.batch)
    server = figures.server_reminder_seconds + figures.server_batch_seconds / means.batch
    by_cpu = means.busy * means.database_cores / server
    by_wal = means.busy * means.wal_bytes_a_second / figures.wal_bytes
    most = min(by_cpu, by_wal)
    return Plan(
        peak=demand.peak,
        a_worker=a_worker,
        workers=max(1, ceil(demand.peak / (means.busy * a_worker))),
        worker_cores=demand.peak * figures.worker_cpu_seconds / means.busy,
        database_cores=demand.peak * server / means.busy,
        wal_bytes_a_day=demand.daily * (figures.wal_bytes + figures.other_wal_bytes),
        bytes_after_a_year=_bytes_after_a_year(demand, means, figures),
        most=most,
        most_people=most * demand.people / demand.peak,
        limit="CPU" if by_cpu <= by_wal else "write-ahead log",
    )


def throughput(figures: Figures, *, batch: int, workers: int = 1) -> float:
    """Reminders a second: workers * batch / (what a batch costs + what its reminders cost)."""
    return workers * batch / (figures.batch_seconds + batch * figures.reminder_seconds)


def fitted(seconds: Mapping[int, float]) -> tuple[float, float]:
    """What a batch costs and what each reminder adds, by least squares over seconds per batch of each size.

    Neither is less than nothing; of one size only, all of it counts as the reminders'.
    """
    sizes, took = list(seconds), list(seconds.values())
    if len(sizes) < 2:
        return 0.0, took[0] / sizes[0]
    middle, mean = sum(sizes) / len(sizes), sum(took) / len(took)
    spread = sum((size - middle) ** 2 for size in sizes)
    each = sum((size - middle) * (one - mean) for size, one in zip(sizes, took, strict=True)) / spread
    if each < 0:
        return mean, 0.0
    if mean < each * middle:
        return 0.0, _through_the_origin(sizes, took)
    return mean - each * middle, each


def _through_the_origin(sizes: Sequence[int], took: Sequence[float]) -> float:
    return sum(size * one for size, one in zip(sizes, took, strict=True)) / sum(size**2 for size in sizes)


def _bytes_after_a_year(demand: Demand, means: Means, figures: Figures) -> float:
    """Rows that wait, rows that are over and not archived yet, and the archive of the rest of the year."""
    days_over = min(means.archive_after_days, YEAR_DAYS)
    each = (
        demand.asleep_days * figures.asleep_bytes
        + days_over * figures.over_bytes
        + (YEAR_DAYS - days_over) * figures.archived_bytes
    )
    return demand.daily * each


MEASURED = Figures(
    batch_seconds=0.0118,
    reminder_seconds=0.00060,
    worker_cpu_seconds=0.00089,
    server_batch_seconds=0.0033,
    server_reminder_seconds=0.00022,
    wal_bytes=3_900,
    other_wal_bytes=3_500,
    asleep_bytes=640,
    over_bytes=1_270,
    archived_bytes=975,
)
