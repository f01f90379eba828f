"""Spans of requests, without what a URL may hold: a token in its path, a phrase in its query."""

from typing import Any

from flask import Flask, request
from opentelemetry.instrumentation.flask import FlaskInstrumentor
from opentelemetry.trace import Span

QUIET = "healthz,readyz,metrics"
_ADDRESSES = ("http.target", "http.url", "url.path", "url.query", "url.full")


def instrument(app: Flask) -> None:
    """Trace and measure this app's requests, named by their route, also those that are refused at once."""
    FlaskInstrumentor().instrument_app(  # type: ignore[no-untyped-call]
        app, excluded_urls=QUIET, request_hook=_hide_address
    )
    # It hooks itself in last; what an earlier hook refuses would have no span, and a warning in the log each time.
    hooks = app.before_request_funcs[None]
    hooks.insert(0, hooks.pop())


def _hide_address(span: Span | None, environ: dict[str, Any]) -> None:
    if span is None or not span.is_recording():
        return
    route = request.url_rule.rule if request.url_rule else "(no route)"
    for name in _ADDRESSES:
        span.set_attribute(name, route)
