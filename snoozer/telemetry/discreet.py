"""What of a request and of an error may leave the process."""

from collections.abc import Sequence

from opentelemetry.sdk.metrics.view import View
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace import Status
from opentelemetry.util.types import Attributes

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
