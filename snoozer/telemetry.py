"""Metrics and traces: all instruments, and what may leave the process. Never a subject, an address or a token.

Metrics can always be read by Prometheus (`/metrics` of the web, ports from SNOOZER_METRICS_PORT on for each process).
Metrics and traces also go to OTEL_EXPORTER_OTLP_ENDPOINT when that is set.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.instrumentation.psycopg import PsycopgInstrumentor
from opentelemetry.metrics import CallbackOptions, Meter, Observation
from opentelemetry.sdk.metrics import AlwaysOffExemplarFilter, MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.metrics.view import View
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import Link, Status
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.util.types import Attributes
from prometheus_client import start_http_server
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from snoozer.db.engine import deadline
from snoozer.db.statements import execute
from snoozer.domain.reminder import SUPPORTED_SCHEMA, DeliveryOutcome

log = logging.getLogger(__name__)

# The maximum of `snoozer worker --processes`.
MAX_PORTS = 64
LAST_PORT = 65_535
QUEUE = {"queue": "email_snoozes"}
FAILURES = frozenset(
    {DeliveryOutcome.RELEASED, DeliveryOutcome.RETIRED, DeliveryOutcome.UNCERTAIN, DeliveryOutcome.DEFERRED}
)

# Attributes of a request that may be exported. All others are its address, or values that a client chooses.
REQUEST_ATTRIBUTES = frozenset(
    ["http.method", "http.request.method", "http.route", "http.status_code", "http.response.status_code", "error.type"]
)
REQUEST_SCOPE = "opentelemetry.instrumentation.flask"
# In metrics http.target is the route, in spans it is the path.
VIEWS = (View(meter_name=REQUEST_SCOPE, attribute_keys={*REQUEST_ATTRIBUTES, "http.target"}),)
# Gauges that are read within this time share one query.
GAUGE_CACHE_SECONDS = 0.5
# There are two queries, and Prometheus waits for ten seconds.
GAUGE_TIMEOUT = 4.0

# Instrument, support query, its column, description.
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
    resource = Resource.create({"service.name": service})
    readers: list[MetricReader] = [PrometheusMetricReader()]
    if exports:
        readers.append(PeriodicExportingMetricReader(OTLPMetricExporter()))
        tracers = TracerProvider(resource=resource)
        tracers.add_span_processor(BatchSpanProcessor(RedactingExporter(OTLPSpanExporter())))
        trace.set_tracer_provider(tracers)
        tracing.tracer = tracers.get_tracer("snoozer")
        PsycopgInstrumentor().instrument()
    no_exemplars = AlwaysOffExemplarFilter()  # They hold attributes that a view drops.
    meters = MeterProvider(resource=resource, metric_readers=readers, views=VIEWS, exemplar_filter=no_exemplars)
    metrics.set_meter_provider(meters)
    register_gauges(engine, _meter)
    if metrics_port is not None:
        _serve(metrics_port)

    def flush() -> None:
        meters.shutdown()
        provider = trace.get_tracer_provider()
        if isinstance(provider, TracerProvider):
            provider.shutdown()

    return flush


def _serve(first: int) -> None:
    """Serve Prometheus. Where no port is free this is logged: reminders do not wait for metrics."""
    ports = range(first, min(first + MAX_PORTS, LAST_PORT + 1))
    for port in ports:
        try:
            start_http_server(port, addr="127.0.0.1")
        except OSError as error:
            last = error
        else:
            log.info("metrics are served on http://127.0.0.1:%d/metrics", port)
            return
    log.warning("no metrics: none of the ports %d to %d can be opened (%s)", first, ports[-1], last.strerror)


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
            return [Observation(float(self._row[column]))] if self._row else []

    def _read(self) -> Mapping[str, Any]:
        try:
            with deadline(GAUGE_TIMEOUT), self._engine.connect() as connection:
                row = execute(connection, f"support/{self._query}", known_schema=SUPPORTED_SCHEMA).mappings().one()
                return dict(row)
        except SQLAlchemyError:
            return {}  # No value is better than an old one; /readyz reports the outage.


class RedactingExporter(SpanExporter):
    """Removes the addresses of requests, which hold tokens and phrases, and the texts of exceptions, in which Postgres
    quotes values of rows."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return self._exporter.export([_redact(span) for span in spans])

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._exporter.force_flush(timeout_millis)


_KEPT_OF_SPANS = ("context", "parent", "resource", "links", "kind", "start_time", "end_time", "instrumentation_scope")


def _redact(span: ReadableSpan) -> ReadableSpan:
    name, attributes = _name_and_attributes(span)
    events = [event for event in span.events if event.name != "exception"]
    status = Status(span.status.status_code)
    kept = {name: getattr(span, name) for name in _KEPT_OF_SPANS}
    return ReadableSpan(name=name, attributes=attributes, events=events, status=status, **kept)


def _name_and_attributes(span: ReadableSpan) -> tuple[str, Attributes]:
    """Those of a span; a request keeps its method, route and status only."""
    if span.instrumentation_scope is None or span.instrumentation_scope.name != REQUEST_SCOPE:
        return span.name, span.attributes
    kept = {key: value for key, value in (span.attributes or {}).items() if key in REQUEST_ATTRIBUTES}
    method = kept.get("http.method") or kept.get("http.request.method") or "_OTHER"
    return f"{method} {kept.get('http.route', '(no route)')}", kept
