"""Metrics and traces of this process. They never contain a subject, an address or a token.

The web's page `/metrics` and SNOOZER_METRICS_PORT are for Prometheus; the OTEL_… variables configure export by OTLP.
Without a reader nothing is counted: counting would take a tenth of a worker's time.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from opentelemetry import trace
from opentelemetry.trace import Link, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from snoozer.queue.reminder import Claim, DeliveryOutcome, Recovered
from snoozer.telemetry.configuration import Config
from snoozer.telemetry.labels import QUEUE, UNNAMED

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from snoozer.telemetry.instruments import Instruments
    from snoozer.telemetry.request_counts import RequestCounts

WEB, CLOCK = "snoozer-web", "snoozer-clock"
FAILURES = frozenset(
    {
        DeliveryOutcome.RELEASED,
        DeliveryOutcome.RETIRED,
        DeliveryOutcome.UNCERTAIN,
        DeliveryOutcome.UNCERTAIN_CASE,
        DeliveryOutcome.DEFERRED,
    }
)
CASES = frozenset({DeliveryOutcome.RETIRED, DeliveryOutcome.UNCERTAIN_CASE})


@dataclass
class Reading:
    """The counts, spans, and requests recorded of this process; None if nothing reads them."""

    instruments: "Instruments | None" = None
    tracer: trace.Tracer | None = None
    requests: "RequestCounts | None" = None


reading = Reading()


def start(
    *,
    service: str,
    engine: "Engine",
    config: Config,
    metrics_port: int | None,
    dead_after: timedelta,
    worker: str | None = None,
) -> Callable[[], None]:
    """Set telemetry up for this process, once; returns a function that flushes it at the end.

    `config` says what to export; `metrics_port` is where a page for Prometheus is served on loopback, except for the
    web, which has its own page. `worker` is the name of this process's worker. The clock exports the gauges of the
    database, which count a worker that did not report for `dead_after` as not alive.
    """
    has_page = service == WEB and not config.is_disabled
    is_served = metrics_port is not None and service != WEB and not config.is_disabled
    # Imports are made here: a process without readers then starts in two thirds of the time.
    if has_page:
        from snoozer.telemetry import request_counts

        reading.requests = request_counts.of_this_process()
    if not (config.exports or is_served):
        return lambda: None
    from snoozer.telemetry import exporting, gauges, pages
    from snoozer.telemetry.instruments import Instruments

    providers = exporting.start(service=service, instance=worker, config=config, with_page=is_served)
    reading.instruments = Instruments(providers.meter, worker=worker)
    reading.tracer = providers.tracer
    if service == CLOCK:
        gauges.register(engine, providers.exported_meter, dead_after=dead_after)
    if is_served and metrics_port is not None:
        pages.serve(pages.of_process(engine, dead_after=dead_after, is_clock=service == CLOCK), metrics_port)
    return providers.flush


def traceparent() -> str | None:
    """The current span (W3C Trace Context), as stored in a row so that the worker's span can link to it."""
    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return carrier.get("traceparent")


def delivery_span(*, traceparent: str | None, snooze_id: int, worker: str) -> trace.Span:
    """The span of one delivery, linked to the request that snoozed the message; `end_delivery` ends it."""
    if reading.tracer is None:
        return trace.INVALID_SPAN
    origin = TraceContextTextMapPropagator().extract({"traceparent": traceparent or ""})
    context = trace.get_current_span(origin).get_span_context()
    links = [Link(context)] if context.is_valid else []
    attributes: dict[str, str | int] = {**QUEUE, "job.id": snooze_id, "worker": worker}
    return reading.tracer.start_span("queue.process", links=links, attributes=attributes)


def count_claimed(claims: Sequence[Claim]) -> None:
    """Count claims, and how long after its promise each was claimed."""
    if reading.instruments is not None and claims:
        reading.instruments.count_claimed(claims)


def end_delivery(
    span: trace.Span, outcome: DeliveryOutcome, *, error: str | None, seconds: float, claim: Claim, accepted: float
) -> None:
    """End the span of a delivery and count it by its outcome.

    `error` is the class of what went wrong (`labels`), `seconds` how long it took, `accepted` how many seconds after
    the claim the mail server accepted the mail. A delivery whose claim was lost does not count as a failure.
    """
    if span.is_recording():
        span.set_attribute("verdict", outcome.value)
        if outcome in FAILURES:
            span.set_attribute("error.type", error or UNNAMED)
            span.set_status(Status(StatusCode.ERROR))
        span.end()
    if reading.instruments is not None:
        reading.instruments.count_delivery(
            outcome,
            error=(error or UNNAMED) if outcome in FAILURES else None,
            is_case=outcome in CASES,
            seconds=seconds,
            claim=claim,
            accepted=accepted,
        )


def count_sweep(*, recovered: Sequence[Recovered], retired: int) -> None:
    """Count the changes of one sweep: claims taken back from lost workers, and rows whose attempts were spent."""
    if reading.instruments is not None:
        reading.instruments.count_sweep(recovered=recovered, retired=retired)


def count_request(*, method: str, route: str, status: int, seconds: float) -> None:
    """Count one request, before it is answered."""
    if reading.requests is not None:
        reading.requests.add(method=method, route=route, status=str(status), seconds=seconds)
    if reading.instruments is not None:
        reading.instruments.count_request(method=method, route=route, status=status, seconds=seconds)
