"""A web server of our own: answers from a table, over TLS or without, and keeps what it was asked."""

import ssl
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True)
class Page:
    """`endless`: the body goes on until the client hangs up, without a length."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    endless: bool = False


class WebSite:
    """Listens on loopback from `with` to its end; pages are known by their path."""

    def __init__(self, pages: dict[str, Page], *, tls: ssl.SSLContext | None = None) -> None:
        site = self
        self.asked: list[str] = []
        self.pages = pages
        self._scheme = "http" if tls is None else "https"

        class Handler(BaseHTTPRequestHandler):
            timeout = 30

            def do_GET(self) -> None:
                site.asked.append(self.path)
                page = site.pages.get(self.path, Page(status=404))
                self.send_response(page.status)
                for name, value in page.headers.items():
                    self.send_header(name, value)
                if not page.endless:
                    self.send_header("Content-Length", str(len(page.body)))
                self.end_headers()
                self._send(page)

            def _send(self, page: Page) -> None:
                while page.endless and not site.ended.wait(0.01):
                    self.wfile.write(page.body)
                if not page.endless:
                    self.wfile.write(page.body)

            def log_message(self, *_: Any) -> None:
                """Nothing."""

        class Server(ThreadingHTTPServer):
            def finish_request(self, connection: Any, client: Any) -> None:
                secured = connection if tls is None else tls.wrap_socket(connection, server_side=True)
                with secured:
                    super().finish_request(secured, client)

            def handle_error(self, *_: Any) -> None:
                """A client that hangs up, or does not trust us."""

        self.ended = threading.Event()
        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self.port = self._server.server_port

    def url(self, path: str, *, host: str = "localhost") -> str:
        return f"{self._scheme}://{host}:{self.port}{path}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
