"""The site served by gunicorn on a socket, and a collector for the telemetry that it exports."""

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

CHECKOUT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, kw_only=True)
class LiveSite:
    """A running gunicorn with one worker, and the file it logs to."""

    port: int
    log: Path
    pid: int

    @property
    def worker(self) -> int:
        """The process that serves."""
        [child] = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return int(child)

    def connections(self) -> int:
        """How many files and sockets the worker has open."""
        return len(list(Path(f"/proc/{self.worker}/fd").iterdir()))

    def connect(self) -> socket.socket:
        """A connection on which nothing is waited for longer than half a minute."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def send(self, request: bytes) -> str:
        """Returns the whole response to these bytes, until the connection is closed."""
        with closing(socket.create_connection(("127.0.0.1", self.port), timeout=30)) as connection:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: connection.recv(65_536), b"")).decode("utf-8", "replace")

    def request(self, path: str, *, method: str = "GET", body: bytes = b"", **headers: str) -> tuple[int, str]:
        """Returns the status and the whole response; header names are written with underscores."""
        headers = {"host": "snoozer.example", "content_length": str(len(body)), "connection": "close"} | headers
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        response = self.send(f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + body)
        status = re.match(r"HTTP/1\.1 (\d{3}) ", response)
        assert status is not None, response
        return int(status[1]), response


@contextmanager
def live_site(postgres_url: str, home: Path, *, options: Sequence[str] = (), **variables: str) -> Iterator[LiveSite]:
    """Starts gunicorn with these options and environment variables, in which {port} is its port; at the end stops it
    and waits until it has flushed."""
    with socket.create_server(("127.0.0.1", 0)) as listener, (home / "web.log").open("wb") as log:
        port = listener.getsockname()[1]
        process = subprocess.Popen(
            [sys.executable, "-m", "gunicorn", "--bind", f"fd://{listener.fileno()}", *options, "wsgi:app"],
            cwd=CHECKOUT,
            env={
                "PATH": os.environ["PATH"],
                "SNOOZER_HOME": str(home),
                "DATABASE_URL": postgres_url,
                "SECRET_KEY": "a-test-key-of-enough-length",
                "SMTP_URL": "smtp://127.0.0.1:1",
                "MAIL_FROM": "snoozer@snoozer.example",
                "BASE_URL": "http://snoozer.example",
            }
            | {name: value.format(port=port) for name, value in variables.items()},
            pass_fds=[listener.fileno()],
            stdout=log,
            stderr=log,
        )
        try:
            yield LiveSite(port=port, log=home / "web.log", pid=process.pid)
        finally:
            process.terminate()
            process.wait(timeout=30)


@dataclass
class Collector:
    """What was received by OTLP over HTTP."""

    settings: Mapping[str, str] = field(default_factory=dict)
    bodies: list[tuple[str, bytes]] = field(default_factory=list)

    @property
    def everything(self) -> bytes:
        return b"".join(body for _, body in self.bodies)

    def spans(self) -> Iterator[Span]:
        for path, body in self.bodies:
            if path == "/v1/traces":
                for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                    for scope in resource.scope_spans:
                        yield from scope.spans


@contextmanager
def collect_telemetry() -> Iterator[Collector]:
    """Yields a collector; a process started with its `settings` exports to it."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            collector.bodies.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        Thread(target=listening.serve_forever, daemon=True).start()
        collector.settings = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{listening.server_port}"}
        yield collector
        listening.shutdown()
