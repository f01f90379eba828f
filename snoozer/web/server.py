"""gunicorn's asyncio worker, serving the site behind `Front`, with features that the worker lacks: deadlines for the
head of a request, for reading a response and for hanging up, and a limit of connections.

gunicorn has no hooks for these: `Connection` overrides private methods of gunicorn 27.
"""

import asyncio
import resource
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any, ClassVar

from gunicorn.asgi.parser import InvalidChunkSize
from gunicorn.workers import gasgi

from snoozer.web import body_limits
from snoozer.web.api import problems
from snoozer.web.front import Capacity, Front

# File descriptors of a process reserved for the database, files and the log.
RESERVED_DESCRIPTORS = 128
# A body with more pieces than these, plus one per `BYTES_PER_PIECE`, only wastes the parser's time.
MIN_PIECES = 1_024
BYTES_PER_PIECE = 64
# Bytes that a client may still send after its request was refused, so that it can read the reason.
MAX_DISCARDED_BYTES = 256 * 1024 * 1024

REFUSAL = "This request cannot be read: it breaks the rules of HTTP. Nothing was changed."


@dataclass(frozen=True, kw_only=True)
class Deadlines:
    """Seconds: for the first request's head after connecting, for a client that does not read its response, and for a
    client that continues to send a refused request."""

    head: float = 10.0
    response: float = 20.0
    refused: float = 5.0
    discarded_bytes_per_second: float = 256 * 1024


class Connection(gasgi.ASGIProtocol):  # type: ignore[misc]
    """One client's connection."""

    transport: Any
    _closed: bool

    def __init__(self, worker: "Worker") -> None:
        super().__init__(worker)
        self._deadlines = worker.deadlines
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._turned_away = self._malformed = self._half_closed = self._discarding = False
        self._close_announced = False
        self._body_pieces = self._body_bytes = self._discarded_bytes = 0
        self._discarding_since = 0.0

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        if self.worker.nr_conns >= self.worker.worker_connections:
            self._turned_away = True
            transport.abort()
            return
        self._start_timer("head", self._deadlines.head, self._keepalive_timeout)
        super().connection_made(transport)
        self.worker.connections.add(self)

    def data_received(self, data: bytes) -> None:
        if not self._discarding:
            super().data_received(data)
            return
        self._discarded_bytes += len(data)
        if self._discarded_bytes > MAX_DISCARDED_BYTES:
            self.transport.abort()

    def _feed_callback_parser(self, data: bytes) -> bool:
        """Returns whether the parser goes on. gunicorn does not catch what int() raises for thousands of digits."""
        try:
            return bool(super()._feed_callback_parser(data))
        except ValueError:
            self._send_error_response(HTTPStatus.BAD_REQUEST, REFUSAL)
            self._close_transport()
            return False

    def eof_received(self) -> bool:
        """Returns whether the connection stays open: a client that ends its side after a complete request still gets
        the response, but no stream, because a stream has no end."""
        self._half_closed = True
        receiver = self._body_receiver
        whole = receiver is not None and receiver._complete
        # Only a stream waits for more than the body: to notice that its client hangs up.
        streams = whole and receiver._body_finished and receiver._waiter is not None
        return whole and not streams and not self._closed

    def connection_lost(self, exc: Exception | None) -> None:
        for name in list(self._timers):
            self._stop_timer(name)
        self.worker.connections.discard(self)
        if not self._turned_away:
            super().connection_lost(exc)

    def end_if_idle(self) -> None:
        """Hangs up between two requests."""
        if self.req_count > 1 and self._current_request is None:
            self._keepalive_timeout()

    def pause_writing(self) -> None:
        self._start_timer("response", self._deadlines.response, self.transport.abort)
        super().pause_writing()

    def resume_writing(self) -> None:
        self._stop_timer("response")
        super().resume_writing()

    def _on_headers_complete(self) -> bool:
        self._stop_timer("head")
        self._body_pieces = self._body_bytes = 0
        return bool(super()._on_headers_complete())

    def _on_body(self, chunk: bytes) -> None:
        self._body_pieces += 1
        self._body_bytes += len(chunk)
        if self._body_pieces > MIN_PIECES + self._body_bytes // BYTES_PER_PIECE:
            raise InvalidChunkSize("too many small chunks")
        super()._on_body(chunk)

    def _is_websocket_upgrade(self, request: Any) -> bool:
        return False

    def _will_close(self, request: Any, response_requires_close: bool) -> bool:
        return self._half_closed or super()._will_close(request, response_requires_close)

    def _send_response_start(self, status: int, headers: Any, request: Any, close: bool = False) -> None:
        announced = {value.lower() for name, value in headers if name.lower() == b"connection"}
        self._close_announced = self._close_announced or b"close" in announced
        super()._send_response_start(status, headers, request, close=close)

    async def _serve_http_request(self, request: Any, sockname: Any, peername: Any) -> bool:
        """Returns whether the connection serves another request. gunicorn passes the site's `Connection: close` on to
        the client, but would still answer later requests on the connection."""
        keeps = await super()._serve_http_request(request, sockname, peername)
        return keeps and not self._close_announced

    def _send_error_response(self, status: int, message: str, extra_headers: Any = ()) -> None:
        """Refuses a malformed request; neither the log nor the response repeats its contents."""
        if self._closed:
            return
        self._malformed = True
        error = sys.exception()
        if error is not None and status < 500:
            self.log.warning("A request was refused: %s", type(error).__name__)
        super()._send_error_response(status, REFUSAL, extra_headers)

    def _close_transport(self) -> None:
        """Hangs up. A client that is still sending would lose the response with a reset: its bytes are discarded until
        it has read the reason, or for some seconds."""
        if self.transport is None or self._closed:
            return
        whole = self._body_receiver is None or self._body_receiver._complete
        if (whole and not self._malformed) or self._half_closed or not self.transport.can_write_eof():
            super()._close_transport()
            self._abort_unless_taken(left=None)
            return
        self._closed = self._discarding = True
        self._discarding_since = self.worker.loop.time()
        self.transport.write_eof()
        self._resume_reading()
        self._start_timer("refused", self._deadlines.refused, self._stop_discarding)

    def _abort_unless_taken(self, *, left: int | None) -> None:
        """Ends the connection if the client has not read any more of its response, of which `left` bytes were left."""
        now_left = self.transport.get_write_buffer_size()
        if left is not None and now_left >= left:
            self.transport.abort()
        else:
            check = partial(self._abort_unless_taken, left=now_left)
            self._start_timer("response", self._deadlines.response, check)

    def _stop_discarding(self) -> None:
        """Ends the connection, unless the client still sends as fast as a client that wants to read its response."""
        allowed = self._deadlines.refused + self._discarded_bytes / self._deadlines.discarded_bytes_per_second
        left = self._discarding_since + allowed - self.worker.loop.time()
        if left <= 0:
            self.transport.abort()
        else:
            self._start_timer("refused", left, self._stop_discarding)

    def _start_timer(self, name: str, seconds: float, action: Callable[[], Any]) -> None:
        self._stop_timer(name)
        self._timers[name] = self.worker.loop.call_later(seconds, action)

    def _stop_timer(self, name: str) -> None:
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()


# The worker gets the class of its connections from this global.
gasgi.ASGIProtocol = Connection


class Worker(gasgi.ASGIWorker):  # type: ignore[misc]
    """`--worker-class snoozer.web.server.Worker`. Tests set other deadlines and another capacity in a subclass."""

    asgi: Any
    worker_connections: int
    deadlines: ClassVar[Deadlines] = Deadlines()
    capacity: ClassVar[Capacity] = Capacity()

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.connections: set[Connection] = set()

    def handle_exit_signal(self) -> None:
        super().handle_exit_signal()
        if isinstance(self.asgi, Front):
            self.asgi.end_streams()
        for connection in list(self.connections):
            connection.end_if_idle()

    def load_wsgi(self) -> None:
        super().load_wsgi()
        if hasattr(self.asgi, "wsgi_app"):
            limits = body_limits.for_front(self.asgi)
            self.asgi = Front(self.asgi, limits=limits, capacity=self.capacity, describe=problems.describe)
        descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.worker_connections = min(self.worker_connections, max(64, descriptors - RESERVED_DESCRIPTORS))
