"""A span for each request."""

from flask import Flask
from opentelemetry.instrumentation.flask import FlaskInstrumentor
from opentelemetry.metrics import NoOpMeterProvider

UNTRACED_PATHS = "healthz,readyz,metrics"


def trace_requests(app: Flask) -> None:
    """Traces all requests, even if an earlier before_request function refuses them."""
    FlaskInstrumentor().instrument_app(  # type: ignore[no-untyped-call]
        app, excluded_urls=UNTRACED_PATHS, meter_provider=NoOpMeterProvider()
    )
    # The instrumentor adds its function last; a request refused before it would have no span, and log a warning.
    functions = app.before_request_funcs[None]
    functions.insert(0, functions.pop())
