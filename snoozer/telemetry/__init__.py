"""Telemetry: every instrument's name, once. Counts and ages only: never a subject, an address or a token.

Metrics can always be read by Prometheus (`/metrics` of the web, ports from SNOOZER_METRICS_PORT on for each process).
Metrics and traces also go to OTEL_EXPORTER_OTLP_ENDPOINT when that is set.
"""

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from threading import Event

from opentelemetry import metrics, trace
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.instrumentation.psycopg import PsycopgInstrumentor
from opentelemetry.sdk.metrics import AlwaysOffExemplarFilter, MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Link
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from prometheus_client import start_http_server
from sqlalchemy import Engine

from snoozer.domain.reminder import DeliveryOutcome
from snoozer.telemetry.discreet import VIEWS, RedactingExporter
from snoozer.telemetry.gauges import register_gauges

log = logging.getLogger(__name__)

# As many processes as `snoozer worker --processes` takes.
MOST_PORTS = 64
LAST_PORT = 65_535
QUEUE = {"queue": "email_snoozes"}
FAILURES = frozenset(
    {DeliveryOutcome.RELEASED, DeliveryOutcome.RETIRED, DeliveryOutcome.UNCERTAIN, DeliveryOutcome.DEFERRED}
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
