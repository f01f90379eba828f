"""Telemetry: every instrument's name, once. Counts and ages only: never a subject, an address or a token.

Metrics can always be read by Prometheus (`/metrics` of the web, ports from SNOOZER_METRICS_PORT on for each process).
Metrics and traces also go to OTEL_EXPORTER_OTLP_ENDPOINT when that is set.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from threading import Event, Lock
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

from snoozer.db.statements import execute
from snoozer.db.timeouts import deadline
from snoozer.domain.reminder import DeliveryOutcome

log = logging.getLogger(__name__)

# As many processes as `snoozer worker --processes` takes.
MOST_PORTS = 64
LAST_PORT = 65_535
QUEUE = {"queue": "email_snoozes"}
FAILURES = frozenset(
    {DeliveryOutcome.RELEASED, DeliveryOutcome.RETIRED, DeliveryOutcome.UNCERTAIN, DeliveryOutcome.DEFERRED}
)

# What may be told of a request. Whatever else a library notes of it is its address, or whatever a stranger invents.
REQUEST = frozenset(
    {
        "http.method",
        "http.request.method",
        "http.route",
        "http.status_code",
        "http.response.status_code",
        "error.type",
    }
)
REQUESTS_BY = "opentelemetry.instrumentation.flask"
# Among figures http.target is the route; in a span it is the path.
VIEWS = (View(meter_name=REQUESTS_BY, attribute_keys={*REQUEST, "http.target"}),)
# Gauges that are read together come from one answer.
SAME_MOMENT_SECONDS = 0.5
# Two queries are asked, and Prometheus waits for ten seconds.
ANSWER_SECONDS = 4.0

# Instrument, support query, its column, what it means.
_GAUGES = (
    ("queue.depth", "backlog", "due", "Snoozes that are due and not claimed"),
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
_tracer = trace.get_tracer("snoozer")
# Does anybody get our spans? Asking the library for its provider reads the environment each time.
_traced = Event()
_claimed = _meter.create_counter("queue.claimed", unit="1", description="Rows claimed from the queue")
_processed = _meter.create_counter("queue.processed", unit="1", description="Rows processed to their end")
_failed = _meter.create_counter("queue.failed", unit="1", description="Deliveries that failed, by verdict")
_recovered = _meter.create_counter("queue.stale_recovered", unit="1", description="Claims taken back from lost workers")
_retired = _meter.create_counter("queue.retired", unit="1", description="Rows that became cases")
_lost = _meter.create_counter("queue.lost_ownership", unit="1", description="Deliveries whose claim was lost meanwhile")
_duration = _meter.create_histogram("queue.job_duration_ms", unit="ms", description="Time spent on one delivery")


def start(*, service: str, engine: Engine, exports: bool, metrics_port: int | None) -> Callable[[], None]:
    """Set telemetry up for this process, once; answers what flushes it at the end.

    `exports` sends by OTLP to where OTEL_EXPORTER_OTLP_ENDPOINT points; `metrics_port` serves Prometheus on loopback,
    at the first free port from there on, because a machine runs several processes with the same settings.
    """
    resource = Resource.create({"service.name": service})
    readers: list[MetricReader] = [PrometheusMetricReader()]
    if exports:
        readers.append(PeriodicExportingMetricReader(OTLPMetricExporter()))
        tracers = TracerProvider(resource=resource)
        tracers.add_span_processor(BatchSpanProcessor(RedactingExporter(OTLPSpanExporter())))
        trace.set_tracer_provider(tracers)
        _traced.set()
        PsycopgInstrumentor().instrument()
    meters = MeterProvider(
        resource=resource,
        metric_readers=readers,
        views=VIEWS,
        exemplar_filter=AlwaysOffExemplarFilter(),  # They carry what a view leaves out.
    )
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
    """Serve Prometheus. Where no port can be had, a line says so: reminders do not wait for figures."""
    ports = range(first, min(first + MOST_PORTS, LAST_PORT + 1))
    for port in ports:
        try:
            start_http_server(port, addr="127.0.0.1")
        except OSError as refused:
            last = refused
        else:
            log.info("metrics are served on http://127.0.0.1:%d/metrics", port)
            return
    log.warning("no metrics: none of the ports %d to %d can be opened (%s)", first, ports[-1], last.strerror)


def traceparent() -> str | None:
    """The current span, as it is kept in a row so that the worker's trace can be linked to it (W3C Trace Context)."""
    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return carrier.get("traceparent")


def delivery_span(*, traceparent: str | None, snooze_id: int) -> AbstractContextManager[object]:
    """The span of one delivery, linked to the request that put the message away; nothing where nobody traces."""
    if not _traced.is_set():
        return nullcontext()
    origin = TraceContextTextMapPropagator().extract({"traceparent": traceparent or ""})
    context = trace.get_current_span(origin).get_span_context()
    links = [Link(context)] if context.is_valid else []
    return _tracer.start_as_current_span("queue.process", links=links, attributes={**QUEUE, "job.id": snooze_id})


def count_claimed(count: int) -> None:
    if count:
        _claimed.add(count, QUEUE)


def count_delivery(verdict: DeliveryOutcome, *, milliseconds: float) -> None:
    """Count one delivery by what became of it."""
    if verdict in FAILURES:
        _failed.add(1, QUEUE | {"verdict": verdict.value})
    elif verdict is DeliveryOutcome.LOST:
        _lost.add(1, QUEUE)
    elif verdict is not DeliveryOutcome.UNCLAIMED:
        _processed.add(1, QUEUE)
    if verdict is DeliveryOutcome.RETIRED:
        _retired.add(1, QUEUE)
    _duration.record(milliseconds, QUEUE)


def count_sweep(*, recovered: int, cases: int) -> None:
    """Count what one sweep of housekeeping changed."""
    if recovered:
        _recovered.add(recovered, QUEUE)
    if cases:
        _retired.add(cases, QUEUE)


def register_gauges(engine: Engine, meter: Meter) -> None:
    """Gauges of what the database says now."""
    told = {query: _Told(engine, query) for _, query, _, _ in _GAUGES}
    for name, query, column, description in _GAUGES:
        read = partial(told[query].observed, column)
        meter.create_observable_gauge(name, callbacks=[read], description=description)


class _Told:
    """What one support query says: asked once for all the gauges that are read in the same moment."""

    def __init__(self, engine: Engine, query: str) -> None:
        self._engine, self._query = engine, query
        self._row: Mapping[str, Any] = {}
        self._asked = float("-inf")
        self._lock = Lock()

    def observed(self, column: str, options: CallbackOptions) -> Iterable[Observation]:
        with self._lock:
            if time.monotonic() - self._asked > SAME_MOMENT_SECONDS:
                self._row, self._asked = self._ask(), time.monotonic()
            return [Observation(float(self._row[column]))] if self._row else []

    def _ask(self) -> Mapping[str, Any]:
        try:
            with deadline(ANSWER_SECONDS), self._engine.connect() as connection:
                return dict(execute(connection, f"support/{self._query}").mappings().one())
        except SQLAlchemyError:
            return {}  # No figure is better than an old one: the database is away, and /readyz says so.


class RedactingExporter(SpanExporter):
    """Leaves out the addresses of requests, which hold tokens and phrases, and what exceptions say: Postgres quotes the
    values of a row in its messages."""

    def __init__(self, onward: SpanExporter) -> None:
        self._onward = onward

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return self._onward.export([_without_words(span) for span in spans])

    def shutdown(self) -> None:
        self._onward.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._onward.force_flush(timeout_millis)


def _without_words(span: ReadableSpan) -> ReadableSpan:
    name, attributes = _described(span)
    return ReadableSpan(
        name=name,
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        attributes=attributes,
        events=[event for event in span.events if event.name != "exception"],
        links=span.links,
        kind=span.kind,
        status=Status(span.status.status_code),
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


def _described(span: ReadableSpan) -> tuple[str, Attributes]:
    """Name and attributes: a request's are its method, its route and its end."""
    if span.instrumentation_scope is None or span.instrumentation_scope.name != REQUESTS_BY:
        return span.name, span.attributes
    kept = {key: value for key, value in (span.attributes or {}).items() if key in REQUEST}
    method = kept.get("http.method") or kept.get("http.request.method") or "_OTHER"
    return f"{method} {kept.get('http.route', '(no route)')}", kept
