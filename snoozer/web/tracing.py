"""Spans of requests; what of them may leave the process is told in `telemetry`."""

from flask import Flask
from opentelemetry.instrumentation.flask import FlaskInstrumentor

QUIET = "healthz,readyz,metrics"


def instrument(app: Flask) -> None:
    """Trace and measure this app's requests, also those that are refused at once."""
    FlaskInstrumentor().instrument_app(app, excluded_urls=QUIET)  # type: ignore[no-untyped-call]
    # It hooks itself in last; what an earlier hook refuses would have no span, and a warning in the log each time.
    hooks = app.before_request_funcs[None]
    hooks.insert(0, hooks.pop())
