"""Metrics and traces: all instruments, and what may leave the process. Never a subject, an address or a token.

Metrics can always be read by Prometheus (`/metrics` of the web, ports from SNOOZER_METRICS_PORT on for each process).
Metrics and traces also go to OTEL_EXPORTER_OTLP_ENDPOINT when that is set.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry.metrics import CallbackOptions, Meter, Observation
from opentelemetry.trace import Link
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from snoozer.db.engine import deadline
from snoozer.db.statements import execute
from snoozer.domain.reminder import SUPPORTED_SCHEMA, DeliveryOutcome

QUEUE = {"queue": "email_snoozes"}
FAILURES = frozenset(
    {DeliveryOutcome.RELEASED, DeliveryOutcome.RETIRED, DeliveryOutcome.UNCERTAIN, DeliveryOutcome.DEFERRED}
)

# Gauges that are read within this time share one query.
GAUGE_CACHE_SECONDS = 0.5
# There are four queries, and Prometheus waits for ten seconds.
GAUGE_TIMEOUT = 2.25

# Instrument, support query, its column, description. A column is a number, or a list of objects: the `value` of each,
# with its other fields as attributes.
_GAUGES = (
    ("queue.depth", "backlog", "due", "Snoozes that are due and wait for a worker"),
    ("queue.behind_key", "backlog", "behind_key", "Due snoozes that wait behind others of their serialization key"),
    ("queue.deferred", "backlog", "deferred", "Due snoozes that wait for workers of a newer release"),
    ("queue.asleep", "backlog", "asleep", "Snoozes whose time has not come; beyond a hundred thousand an estimate"),
    ("queue.in_flight", "backlog", "claimed", "Snoozes held by workers"),
    ("queue.oldest_due_seconds", "backlog", "oldest_due_seconds", "How long the oldest due snooze has waited"),
    ("queue.oldest_claim_seconds", "backlog", "oldest_claim_seconds", "How long the oldest claim has been held"),
    ("queue.cases", "health", "cases", "Retired snoozes that wait for people"),
    ("queue.retrying", "health", "retrying", "Snoozes with failed attempts that are tried again within a day"),
    ("ledger.uncertain", "health", "uncertain", "Reminders that may have been sent"),
    ("breaker.open", "health", "breakers_open", "Mail servers that are left alone for now"),
    ("workers.alive", "health", "workers", "Workers that are alive"),
    ("housekeeping.age_seconds", "health", "housekeeping_age", "Seconds since housekeeping last ran, -1 for never"),
    ("mailboxes.connected", "mailboxes", "connected", "Connected mailboxes, by state and problem"),
    ("mailboxes.watched", "mailboxes", "watched", "Connected mailboxes that a process watches"),
    (
        "mailboxes.unwatched",
        "mailboxes",
        "unwatched",
        "Connected mailboxes that no process watches, without paused ones",
    ),
    ("mailboxes.overdue", "mailboxes", "overdue", "Messages that should be back in their mailboxes"),
    (
        "mailboxes.oldest_overdue_seconds",
        "mailboxes",
        "oldest_overdue_seconds",
        "How long the oldest of those should be back",
    ),
    ("push.devices", "push", "devices", "Devices that get pushes, by problem"),
    ("push.sends", "push", "sends", "Pushes of the last day, by state and reason"),
    ("push.due", "push", "due", "Pushes that are due and wait for a worker"),
    ("push.oldest_due_seconds", "push", "oldest_due_seconds", "How long the oldest due push has waited"),
    ("mailboxes.moves_waiting", "mailboxes", "moves_waiting", "Messages that are to be moved in their mailboxes"),
)

_meter = metrics.get_meter("snoozer")
_claimed = _meter.create_counter("queue.claimed", unit="1", description="Rows claimed from the queue")
_processed = _meter.create_counter("queue.processed", unit="1", description="Rows processed to their end")
_failed = _meter.create_counter("queue.failed", unit="1", description="Deliveries that failed, by verdict")
_recovered = _meter.create_counter("queue.stale_recovered", unit="1", description="Claims taken back from lost workers")
_retired = _meter.create_counter("queue.retired", unit="1", description="Rows that became cases")
_lost = _meter.create_counter("queue.lost_ownership", unit="1", description="Deliveries whose claim was lost meanwhile")
_duration = _meter.create_histogram("queue.job_duration_ms", unit="ms", description="Time spent on one delivery")


@dataclass
class Tracing:
    """The tracer of deliveries; without one no spans are created."""

    tracer: trace.Tracer | None = None


tracing = Tracing()


def start(
    *, service: str, engine: Engine, exports: bool, metrics_port: int | None, has_page: bool = False
) -> Callable[[], None]:
    """Set telemetry up for this process, once; returns a function that flushes it at the end.

    `exports` sends by OTLP to where OTEL_EXPORTER_OTLP_ENDPOINT points; `metrics_port` serves Prometheus on loopback,
    at the first free port from there on, because a machine runs several processes with the same settings. Without
    either, and without a page of its own, nothing is counted: it would take a tenth of a worker's time for no reader.
    """
    if not (exports or has_page or metrics_port is not None):
        return lambda: None
    # Imported here: a process without readers starts in two thirds of the time.
    from snoozer import telemetry_export

    tracing.tracer, flush = telemetry_export.start(service=service, exports=exports)
    register_gauges(engine, _meter)
    if metrics_port is not None:
        telemetry_export.serve(metrics_port)
    return flush


def traceparent() -> str | None:
    """The current span (W3C Trace Context), as stored in a row so that the worker's span can link to it."""
    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return carrier.get("traceparent")


def delivery_span(*, traceparent: str | None, snooze_id: int) -> trace.Span:
    """The span of one delivery, linked to the request that snoozed the message; to be ended by the caller."""
    if tracing.tracer is None:
        return trace.INVALID_SPAN
    origin = TraceContextTextMapPropagator().extract({"traceparent": traceparent or ""})
    context = trace.get_current_span(origin).get_span_context()
    links = [Link(context)] if context.is_valid else []
    return tracing.tracer.start_span("queue.process", links=links, attributes={**QUEUE, "job.id": snooze_id})


def count_claimed(count: int) -> None:
    if count:
        _claimed.add(count, QUEUE)


def count_delivery(outcome: DeliveryOutcome, *, milliseconds: float) -> None:
    """Count one delivery by its outcome."""
    if outcome in FAILURES:
        _failed.add(1, QUEUE | {"verdict": outcome.value})
    elif outcome is DeliveryOutcome.LOST:
        _lost.add(1, QUEUE)
    elif outcome is not DeliveryOutcome.UNCLAIMED:
        _processed.add(1, QUEUE)
    if outcome is DeliveryOutcome.RETIRED:
        _retired.add(1, QUEUE)
    _duration.record(milliseconds, QUEUE)


def count_sweep(*, recovered: int, cases: int) -> None:
    """Count what one sweep changed."""
    if recovered:
        _recovered.add(recovered, QUEUE)
    if cases:
        _retired.add(cases, QUEUE)


def register_gauges(engine: Engine, meter: Meter) -> None:
    """Register gauges whose values are queried from the database when they are read."""
    sources = {query: _GaugeSource(engine, query) for _, query, _, _ in _GAUGES}
    for name, query, column, description in _GAUGES:
        read = partial(sources[query].observe, column)
        meter.create_observable_gauge(name, callbacks=[read], description=description)


class _GaugeSource:
    """One support query, executed once for all gauges that are read together."""

    def __init__(self, engine: Engine, query: str) -> None:
        self._engine, self._query = engine, query
        self._row: Mapping[str, Any] = {}
        self._read_at = float("-inf")
        self._lock = Lock()

    def observe(self, column: str, options: CallbackOptions) -> Iterable[Observation]:
        with self._lock:
            if time.monotonic() - self._read_at > GAUGE_CACHE_SECONDS:
                self._row, self._read_at = self._read(), time.monotonic()
            return _observations(self._row[column]) if self._row else []

    def _read(self) -> Mapping[str, Any]:
        try:
            with deadline(GAUGE_TIMEOUT), self._engine.connect() as connection:
                row = execute(connection, f"support/{self._query}", known_schema=SUPPORTED_SCHEMA).mappings().one()
                return dict(row)
        except SQLAlchemyError:
            return {}  # No value is better than an old one; /readyz reports the outage.


def _observations(value: Any) -> list[Observation]:
    if not isinstance(value, list):
        return [Observation(float(value))]
    return [Observation(float(one["value"]), {key: one[key] for key in one if key != "value"}) for one in value]
