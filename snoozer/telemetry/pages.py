"""Pages for Prometheus: the web's `/metrics`, and a page of each other process on its own port.

The gauges of the database are the same in all processes. So that a scrape of all of them has each once, only the web's
page shows them (`?database=0` leaves them out, for a second host), and the clock's on request (`?database=1`).
"""

import logging
from collections.abc import Callable, Iterable
from datetime import timedelta
from threading import Thread
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import parse_qs
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, Metric, generate_latest
from sqlalchemy import Engine

from snoozer.telemetry.gauges import DatabaseCollector

if TYPE_CHECKING:
    from snoozer.telemetry import Reading

log = logging.getLogger(__name__)

# The maximum of `snoozer worker --processes`.
MAX_PORTS = 64
LAST_PORT = 65_535


class Collector(Protocol):
    """A source of metrics for a page."""

    def collect(self) -> Iterable[Metric]:
        """The current metrics."""


class Page:
    """The page of a process. `own` are its own counts, `database` the gauges of the database, if it has them."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(
        self, own: Collector | None, database: Collector | None = None, *, with_database: bool = False
    ) -> None:
        self._own, self._database, self._with_database = own, database, with_database

    def render(self, database: str | None = None) -> bytes:
        """The page; `database` is the query argument of that name, `0` or `1`."""
        wanted = self._with_database if database not in ("0", "1") else database == "1"
        shown = [self._own, self._database if wanted else None]
        return generate_latest(_Together([one for one in shown if one is not None]))


class _Together:
    def __init__(self, collectors: list[Collector]) -> None:
        self._collectors = collectors

    def collect(self) -> Iterable[Metric]:
        for collector in self._collectors:
            yield from collector.collect()


def serve(page: Page, first: int) -> None:
    """Serve the page on loopback, at the first free port from `first` on, because a machine runs several processes with
    the same settings. If no port is free, log that and go on: reminders do not wait for metrics."""

    def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        if environ["PATH_INFO"] not in ("/", "/metrics"):
            start_response("404 Not Found", [("Content-Type", "text/plain")])
            return [b"The metrics are at /metrics.\n"]
        asked = parse_qs(environ.get("QUERY_STRING", "")).get("database", [None])
        body = page.render(asked[-1])
        start_response("200 OK", [("Content-Type", page.content_type)])
        return [body]

    ports = range(first, min(first + MAX_PORTS, LAST_PORT + 1))
    for port in ports:
        try:
            server = make_server("127.0.0.1", port, application, _Server, _Handler)
        except OSError as error:
            last = error
        else:
            Thread(target=server.serve_forever, name="metrics", daemon=True).start()
            log.info("metrics are served on http://127.0.0.1:%d/metrics", port)
            return
    log.warning("no metrics: none of the ports %d to %d can be opened (%s)", first, ports[-1], last.strerror)


def of_web(engine: Engine, reading: "Reading", *, dead_after: timedelta) -> Page:
    """The page of the web's processes: requests, and the gauges of the database."""
    return Page(reading.requests, DatabaseCollector(engine, dead_after=dead_after), with_database=True)


def of_process(engine: Engine, *, dead_after: timedelta, is_clock: bool) -> Page:
    """The page of another process: its counts, and its use of the machine."""
    return Page(REGISTRY, DatabaseCollector(engine, dead_after=dead_after) if is_clock else None)


class _Server(WSGIServer):
    # Two processes must not get the same port.
    allow_reuse_address = False


class _Handler(WSGIRequestHandler):
    timeout = 10

    def log_message(self, format: str, *args: Any) -> None:
        pass
