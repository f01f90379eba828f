"""The site as gunicorn serves it to sockets, and a collector for the telemetry that leaves it."""

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

CHECKOUT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, kw_only=True)
class Server:
    """A gunicorn that listens, and the file it writes its log to."""

    port: int
    log: Path

    def answer(self, request: bytes) -> str:
        """All that it says to these bytes, until it hangs up."""
        with closing(socket.create_connection(("127.0.0.1", self.port), timeout=30)) as line:
            line.sendall(request)
            line.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: line.recv(65_536), b"")).decode("utf-8", "replace")

    def ask(self, path: str, *, method: str = "GET", body: bytes = b"", **headers: str) -> tuple[int, str]:
        """The status and the whole answer; header names are written with underscores."""
        headers = {"host": "snoozer.example", "content_length": str(len(body)), "connection": "close"} | headers
        told = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        said = self.answer(f"{method} {path} HTTP/1.1\r\n{told}\r\n".encode() + body)
        status = re.match(r"HTTP/1\.1 (\d{3}) ", said)
        assert status is not None, said
        return int(status[1]), said


@contextmanager
def served(postgres_url: str, home: Path, **told: str) -> Iterator[Server]:
    """Started with these settings; at the end it is stopped, and has sent and written all it had to."""
    with socket.create_server(("127.0.0.1", 0)) as door, (home / "web.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "gunicorn", "--bind", f"fd://{door.fileno()}", "wsgi:app"],
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
            | told,
            pass_fds=[door.fileno()],
            stdout=log,
            stderr=log,
        )
        try:
            yield Server(port=door.getsockname()[1], log=home / "web.log")
        finally:
            process.terminate()
            process.wait(timeout=30)


@dataclass
class Collector:
    """What came in by OTLP."""

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
def collecting() -> Iterator[Collector]:
    """A collector; `settings` make a process send to it."""
    collector = Collector()

    class Door(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            collector.bodies.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *words: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Door) as listening:
        Thread(target=listening.serve_forever, daemon=True).start()
        collector.settings = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{listening.server_port}"}
        yield collector
        listening.shutdown()
