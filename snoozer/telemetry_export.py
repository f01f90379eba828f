"""What leaves the process: metrics for Prometheus and by OTLP, spans by OTLP without what they must not hold."""

import logging
from collections.abc import Callable, Sequence

from opentelemetry import metrics, trace
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.instrumentation.psycopg import PsycopgInstrumentor
from opentelemetry.sdk.metrics import AlwaysOffExemplarFilter, MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.metrics.view import View
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import Status
from opentelemetry.util.types import Attributes
from prometheus_client import start_http_server

log = logging.getLogger(__name__)

# The maximum of `snoozer worker --processes`.
MAX_PORTS = 64
LAST_PORT = 65_535
# Attributes of a request that may be exported. All others are its address, or values that a client chooses.
REQUEST_ATTRIBUTES = frozenset(
    ["http.method", "http.request.method", "http.route", "http.status_code", "http.response.status_code", "error.type"]
)
REQUEST_SCOPE = "opentelemetry.instrumentation.flask"
# In metrics http.target is the route, in spans it is the path.
VIEWS = (View(meter_name=REQUEST_SCOPE, attribute_keys={*REQUEST_ATTRIBUTES, "http.target"}),)


def start(*, service: str, exports: bool) -> tuple[trace.Tracer | None, Callable[[], None]]:
    """Collect metrics, and with `exports` send them and spans by OTLP. Returns the tracer of deliveries, None without
    `exports`, and a function that flushes all of it at the end. Called once in a process."""
    resource = Resource.create({"service.name": service})
    readers: list[MetricReader] = [PrometheusMetricReader()]
    tracers: TracerProvider | None = None
    if exports:
        readers.append(PeriodicExportingMetricReader(OTLPMetricExporter()))
        tracers = TracerProvider(resource=resource)
        tracers.add_span_processor(BatchSpanProcessor(RedactingExporter(OTLPSpanExporter())))
        trace.set_tracer_provider(tracers)
        PsycopgInstrumentor().instrument()
    no_exemplars = AlwaysOffExemplarFilter()  # They hold attributes that a view drops.
    meters = MeterProvider(resource=resource, metric_readers=readers, views=VIEWS, exemplar_filter=no_exemplars)
    metrics.set_meter_provider(meters)

    def flush() -> None:
        meters.shutdown()
        if tracers is not None:
            tracers.shutdown()

    return tracers.get_tracer("snoozer") if tracers is not None else None, flush


def serve(first: int) -> None:
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
