"""Export of spans, metrics and logs by OTLP or to the console, without anything they must not hold."""

import logging
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from opentelemetry import trace
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.metrics import Meter
from opentelemetry.sdk.metrics import AlwaysOffExemplarFilter, Counter, Histogram, MeterProvider, ObservableCounter
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    ConsoleMetricExporter,
    MetricExporter,
    MetricReader,
    PeriodicExportingMetricReader,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider, sampling
from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    ConsoleSpanExporter,
    SpanExporter,
    SpanExportResult,
)
from opentelemetry.trace import Status
from opentelemetry.util.types import Attributes

from snoozer import __version__
from snoozer.runtime.process_identity import process_name
from snoozer.telemetry.configuration import Config, SignalConfig
from snoozer.telemetry.spans import trace_statements

log = logging.getLogger(__name__)
# The SDK's parser of OTEL_EXPORTER_OTLP_HEADERS logs a header that it does not understand: a token.
logging.getLogger("opentelemetry.util.re").disabled = True

# Attributes of a request that may be exported. All others are its URL, or values that a client chooses.
REQUEST_ATTRIBUTES = frozenset(
    ["http.method", "http.request.method", "http.route", "http.status_code", "http.response.status_code", "error.type"]
)
REQUEST_SCOPE = "opentelemetry.instrumentation.flask"


@dataclass(frozen=True, kw_only=True)
class Providers:
    """The meters and the tracer of a process. Counts of `exported_meter` are on no page of Prometheus. `tracer` is None
    if spans are not exported; call `flush` at the end."""

    meter: Meter
    exported_meter: Meter
    tracer: trace.Tracer | None
    flush: Callable[[], None]


def start(*, service: str, instance: str | None, config: Config, with_page: bool) -> Providers:
    """Collect metrics, also for a page of Prometheus, and export what `config` says. Call it once in a process."""
    resource = _resource(config, service=service, instance=instance)
    tracers = _tracer_provider(config, resource)
    meters = exported = _meter_provider(resource, _metric_readers(config))
    if with_page:
        meters = _meter_provider(resource, [*_metric_readers(config), PrometheusMetricReader()])
    stop_logs = _export_logs(config, resource)
    tracer = None
    if tracers is not None:
        trace.set_tracer_provider(tracers)
        tracer = tracers.get_tracer("snoozer")
        trace_statements(tracer)

    def flush() -> None:
        for provider in {meters, exported}:
            provider.shutdown()
        if tracers is not None:
            tracers.shutdown()
        stop_logs()

    return Providers(
        meter=meters.get_meter("snoozer"), exported_meter=exported.get_meter("snoozer"), tracer=tracer, flush=flush
    )


def _meter_provider(resource: Resource, readers: Sequence[MetricReader]) -> MeterProvider:
    # Exemplars would hold the attributes of spans.
    return MeterProvider(resource=resource, metric_readers=readers, exemplar_filter=AlwaysOffExemplarFilter())


def _resource(config: Config, *, service: str, instance: str | None) -> Resource:
    """Each process is its own instance, or a receiver would take the series of several processes for one."""
    known = {
        "service.name": service,
        "service.version": __version__,
        "service.instance.id": instance or process_name().partition("@")[0],
        "snoozer.process": service.removeprefix("snoozer-"),
    }
    named = {} if config.service_name is None else {"service.name": config.service_name}
    return Resource.create(known | dict(config.resource) | named)


def _tracer_provider(config: Config, resource: Resource) -> TracerProvider | None:
    exporters: list[SpanExporter] = []
    if "otlp" in config.traces.exporters:
        exporters.append(_otlp_exporter("trace", "OTLPSpanExporter", config.traces))
    if "console" in config.traces.exporters:
        exporters.append(ConsoleSpanExporter(out=sys.stdout))
    if not exporters:
        return None
    provider = TracerProvider(resource=resource, sampler=_sampler(config), span_limits=SpanLimits())
    for exporter in exporters:
        processor = BatchSpanProcessor(
            RedactingExporter(exporter),
            max_queue_size=config.spans.queue_size,
            schedule_delay_millis=config.spans.delay,
            max_export_batch_size=config.spans.batch_size,
        )
        provider.add_span_processor(processor)
    return provider


def _sampler(config: Config) -> sampling.Sampler:
    root: sampling.Sampler = sampling.ALWAYS_ON
    if config.sampler.endswith("always_off"):
        root = sampling.ALWAYS_OFF
    elif config.sampler.endswith("traceidratio"):
        root = sampling.TraceIdRatioBased(config.ratio)
    return sampling.ParentBased(root) if config.sampler.startswith("parentbased") else root


def _metric_readers(config: Config) -> list[MetricReader]:
    exporters: list[MetricExporter] = []
    if "otlp" in config.metrics.exporters:
        temporality = _temporality(config)
        exporters.append(
            _otlp_exporter("metric", "OTLPMetricExporter", config.metrics, preferred_temporality=temporality)
        )
    if "console" in config.metrics.exporters:
        exporters.append(ConsoleMetricExporter(out=sys.stdout))
    timeout = config.metrics.timeout * 1000
    return [
        PeriodicExportingMetricReader(
            one, export_interval_millis=config.interval, export_timeout_millis=min(timeout, config.interval)
        )
        for one in exporters
    ]


def _temporality(config: Config) -> dict[type, AggregationTemporality]:
    delta = AggregationTemporality.DELTA
    match config.temporality:
        case "delta":
            return {Counter: delta, ObservableCounter: delta, Histogram: delta}
        case "lowmemory":
            return {Counter: delta, Histogram: delta}
    return {}


def _export_logs(config: Config, resource: Resource) -> Callable[[], None]:
    if not config.logs.exporters:
        return lambda: None
    from snoozer.telemetry import exporting_logs

    exporter = None
    if "otlp" in config.logs.exporters:
        exporter = _otlp_exporter("_log", "OTLPLogExporter", config.logs)
    return exporting_logs.start(
        resource, exporter=exporter, console="console" in config.logs.exporters, batches=config.records
    )


def _otlp_exporter(module: str, name: str, config: SignalConfig, **more: Any) -> Any:
    """The exporter of one signal for its protocol. Unset values are passed, too: for None it would read the
    environment."""
    if config.protocol == "grpc":
        from snoozer.telemetry import exporting_grpc

        return exporting_grpc.exporter(module, name, config, **more)
    from importlib import import_module

    from opentelemetry.exporter.otlp.proto.http import Compression

    exporter = getattr(import_module(f"opentelemetry.exporter.otlp.proto.http.{module}_exporter"), name)
    return exporter(
        endpoint=config.endpoint,
        certificate_file=config.certificate,
        client_key_file=config.client_key,
        client_certificate_file=config.client_certificate,
        headers=dict(config.headers),
        timeout=config.timeout,
        compression=Compression.Gzip if config.is_compressed else Compression.NoCompression,
        **more,
    )


class RedactingExporter(SpanExporter):
    """Removes the URLs of requests, which contain tokens and phrases, and the texts of exceptions, in which Postgres
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
    """The name and attributes of a span; a request keeps only its method, route and status."""
    if span.instrumentation_scope is None or span.instrumentation_scope.name != REQUEST_SCOPE:
        return span.name, span.attributes
    kept = {key: value for key, value in (span.attributes or {}).items() if key in REQUEST_ATTRIBUTES}
    method = kept.get("http.method") or kept.get("http.request.method") or "_OTHER"
    return f"{method} {kept.get('http.route', '(no route)')}", kept
