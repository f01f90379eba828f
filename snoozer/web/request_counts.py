"""Counts requests by method, route and status, with the time until the response begins.

The path of a request is never used: it may hold a token, and would create a series of its own.
"""

import time
from collections.abc import Callable, Iterable
from typing import Any

from flask import Flask, request

from snoozer import telemetry

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
# Requests by monitoring, which are not counted.
NOT_COUNTED = frozenset({"/healthz", "/readyz", "/metrics"})
ROUTE = "snoozer.route"

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def init_app(app: Flask) -> None:
    """Count the requests of this site from now on, including refused and failed ones."""
    app.before_request_funcs.setdefault(None, []).insert(0, _note_route)
    serve: Application = app.wsgi_app

    def counted(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        began, statuses = time.monotonic(), [500]

        def start(status: str, *more: Any) -> Any:
            statuses.append(int(status[:3]))
            return start_response(status, *more)

        try:
            return serve(environ, start)
        finally:
            route = environ.get(ROUTE, "(no route)")
            if route not in NOT_COUNTED:
                method = environ["REQUEST_METHOD"]
                telemetry.count_request(
                    method=method if method in METHODS else "_OTHER",
                    route=route,
                    status=statuses[-1],
                    seconds=time.monotonic() - began,
                )

    app.wsgi_app = counted  # type: ignore[method-assign]


def _note_route() -> None:
    if request.url_rule is not None:
        request.environ[ROUTE] = request.url_rule.rule
