"""Gauges that are read from the database: what waits, who works, what is late. See docs/decisions for who shows them.

The support queries and these gauges are the same `.sql` files, so that both agree.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from threading import Lock
from typing import Any

from opentelemetry.metrics import CallbackOptions, Meter, Observation
from prometheus_client.core import GaugeMetricFamily
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from snoozer.db import support
from snoozer.db.engine import deadline, limit_transaction

# Gauges that are read within this time share one query.
CACHE_SECONDS = 0.5
# There are five queries, and Prometheus waits for ten seconds.
TIMEOUT = 1.5
# Counts stop above it, so that a backlog of a million is read in time.
MOST = 100_000


@dataclass(frozen=True)
class Gauge:
    """An instrument, and the support query and its column that it shows. A column is a number, or a list of objects:
    the `value` of each, with its other fields as attributes. Of a query with several rows, `by` is the column that
    tells them apart, an attribute. `columns` are several of the row whose `what` is this gauge's `column`; there, `by`
    is the attribute that tells the columns apart, by their keys."""

    name: str
    query: str
    column: str
    description: str
    by: str | None = None
    columns: Mapping[str, str] | None = None


BANDS = {"≤ 10 s": "within_10_s", "≤ 60 s": "within_60_s", "≤ 30 min": "within_30_min", "more": "more"}


GAUGES = (
    Gauge("queue.depth", "backlog", "due", "Snoozes that are due and wait for a worker"),
    Gauge(
        "queue.behind_key", "backlog", "behind_key", "Due snoozes that wait behind others of their serialization key"
    ),
    Gauge("queue.deferred", "backlog", "deferred", "Due snoozes that wait for workers of a newer release"),
    Gauge(
        "queue.asleep", "backlog", "asleep", "Snoozes whose time has not come; beyond a hundred thousand an estimate"
    ),
    Gauge("queue.spent", "backlog", "spent", "Due snoozes without attempts left, which become cases"),
    Gauge("queue.retrying", "backlog", "retrying", "Snoozes that failed and wait for their next try"),
    Gauge("queue.retry_rate", "attempts", "retry_rate", "The share of the last hour's attempts that are made again"),
    Gauge("queue.held", "backlog", "held", "Snoozes that wait because their reminder may have been sent"),
    Gauge("queue.in_digest", "backlog", "in_digest", "Snoozes that wait for the digest that lists them"),
    Gauge("queue.resting", "backlog", "resting", "Snoozes that wait for the end of a rest of their person"),
    Gauge("queue.put_off", "backlog", "put_off", "Snoozes that wait for the return of their message"),
    Gauge("queue.paused", "backlog", "paused", "Snoozes that their persons paused"),
    Gauge("queue.paused_by_operator", "backlog", "paused_by_operator", "Snoozes that operators paused"),
    Gauge("queue.paused_in_database", "backlog", "paused_in_database", "Snoozes that were paused in the database"),
    Gauge("queue.in_flight", "backlog", "claimed", "Snoozes held by workers"),
    Gauge("queue.oldest_due_seconds", "backlog", "oldest_due_seconds", "How long the oldest due snooze has waited"),
    Gauge("queue.oldest_claim_seconds", "backlog", "oldest_claim_seconds", "How long the oldest claim has been held"),
    Gauge("queue.cases", "health", "cases", "Retired snoozes that wait for people"),
    Gauge("ledger.uncertain", "health", "uncertain", "Reminders that may have been sent"),
    Gauge("breaker.open", "health", "breakers_open", "Mail servers that are left alone for now"),
    Gauge("workers.alive", "health", "workers", "Workers that are alive"),
    Gauge("workers.lost", "health", "lost", "Workers of the last day that stopped reporting without ending"),
    Gauge(
        "queue.late", "wait", "waits", "Snoozes that should have come, by how late they are", by="band", columns=BANDS
    ),
    Gauge(
        "reminders.sent_late",
        "wait",
        "sent",
        "Reminders of the last hour, by how late they were",
        by="band",
        columns=BANDS,
    ),
    Gauge(
        "reminders.late_p50_seconds", "wait", "p50", "How late half of them are: sent within an hour, or due", by="what"
    ),
    Gauge("reminders.late_p99_seconds", "wait", "p99", "How late 99 in 100 are, at the most", by="what"),
    Gauge(
        "housekeeping.age_seconds",
        "health",
        "housekeeping_age",
        "Seconds since housekeeping last ran, -1 for never",
    ),
    Gauge("mailboxes.connected", "mailboxes", "connected", "Connected mailboxes, by state and problem"),
    Gauge("mailboxes.watched", "mailboxes", "watched", "Connected mailboxes that a process watches"),
    Gauge(
        "mailboxes.unwatched",
        "mailboxes",
        "unwatched",
        "Connected mailboxes that no process watches, without paused ones",
    ),
    Gauge("mailboxes.overdue", "mailboxes", "overdue", "Messages that should be back in their mailboxes"),
    Gauge(
        "mailboxes.oldest_overdue_seconds",
        "mailboxes",
        "oldest_overdue_seconds",
        "How long the oldest of those should be back",
    ),
    Gauge("push.devices", "push", "devices", "Devices that get pushes, by problem"),
    Gauge("push.sends", "push", "sends", "Pushes of the last day, by state and reason"),
    Gauge("push.due", "push", "due", "Pushes that are due and wait for a worker"),
    Gauge("push.oldest_due_seconds", "push", "oldest_due_seconds", "How long the oldest due push has waited"),
    Gauge("webhooks.endpoints", "webhooks", "endpoints", "Endpoints of webhooks, by state"),
    Gauge("webhooks.deliveries", "webhooks", "deliveries", "Webhooks of the last day, by state and reason"),
    Gauge("webhooks.waiting", "webhooks", "waiting", "Webhooks that are to be delivered"),
    Gauge(
        "webhooks.oldest_due_seconds", "webhooks", "oldest_due_seconds", "How long the oldest due webhook has waited"
    ),
    Gauge("mailboxes.moves_waiting", "mailboxes", "moves_waiting", "Messages that are to be moved in their mailboxes"),
)


class Source:
    """One support query, executed once for all gauges that are read together."""

    def __init__(self, engine: Engine, query: str, *, dead_after: timedelta) -> None:
        self._engine, self._query, self._dead_after = engine, query, dead_after
        self._rows: Sequence[Mapping[str, Any]] = []
        self._read_at = float("-inf")
        self._lock = Lock()

    def values(self, gauge: Gauge) -> list[tuple[float, dict[str, str]]]:
        """Each value with its attributes. Without an answer of the database none, which is better than an old one."""
        with self._lock:
            if time.monotonic() - self._read_at > CACHE_SECONDS:
                self._rows, self._read_at = self._read(), time.monotonic()
            rows = self._rows
        return [value for row in rows for value in _values(row, gauge)]

    def _read(self) -> Sequence[Mapping[str, Any]]:
        try:
            with deadline(TIMEOUT), self._engine.connect() as connection:
                # Also what this process does not wait for any more is not to go on.
                limit_transaction(connection, seconds=TIMEOUT)
                found = support.read(connection, self._query, most=MOST, dead_after=self._dead_after)
                return [dict(row) for row in found.mappings()]
        except SQLAlchemyError:
            return []


def _values(row: Mapping[str, Any], gauge: Gauge) -> list[tuple[float, dict[str, str]]]:
    if gauge.columns is not None:
        is_its = row["what"] == gauge.column
        return [(float(row[column]), {str(gauge.by): key}) for key, column in gauge.columns.items() if is_its]
    attributes = {} if gauge.by is None else {gauge.by: str(row[gauge.by])}
    found = row[gauge.column]
    if not isinstance(found, list):
        return [] if found is None else [(float(found), attributes)]
    return [(float(one["value"]), {key: str(one[key]) for key in one if key != "value"}) for one in found]


class DatabaseCollector:
    """The gauges for a page of Prometheus."""

    def __init__(self, engine: Engine, *, dead_after: timedelta) -> None:
        self._sources = _sources(engine, dead_after)

    def describe(self) -> list[GaugeMetricFamily]:
        """Names no metrics, so that to register it reads nothing."""
        return []

    def collect(self) -> Iterator[GaugeMetricFamily]:
        for gauge in GAUGES:
            values = self._sources[gauge.query].values(gauge)
            if values:
                labels = sorted({name for _, attributes in values for name in attributes})
                family = GaugeMetricFamily(gauge.name.replace(".", "_"), gauge.description, labels=labels)
                for value, attributes in values:
                    family.add_metric([attributes.get(label, "") for label in labels], value)
                yield family


def register(engine: Engine, meter: Meter, *, dead_after: timedelta) -> None:
    """Export the gauges by this meter; they are queried when they are read. A worker that did not report for
    `dead_after` is not alive."""
    sources = _sources(engine, dead_after)

    def observe(gauge: Gauge, options: CallbackOptions) -> Iterable[Observation]:
        return [Observation(value, attributes) for value, attributes in sources[gauge.query].values(gauge)]

    for gauge in GAUGES:
        meter.create_observable_gauge(gauge.name, callbacks=[partial(observe, gauge)], description=gauge.description)


def _sources(engine: Engine, dead_after: timedelta) -> dict[str, Source]:
    return {query: Source(engine, query, dead_after=dead_after) for query in {gauge.query for gauge in GAUGES}}
