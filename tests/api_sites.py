"""The site on a loopback port, and a server that answers what a test wants."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine
from werkzeug.serving import WSGIRequestHandler, make_server

from snoozer.dev import ports
from snoozer.settings import Settings
from snoozer.web import create_app

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment


class SilentHandler(WSGIRequestHandler):
    """Serves without logging."""

    def log(self, type: str, message: str, *args: Any) -> None:
        return


def _closing_its_answers(app: "WSGIApplication") -> "WSGIApplication":
    """Werkzeug's server forgets to close an answer whose reader went away, and the file that it sends stays open."""

    def answered(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterator[bytes]:
        with ExitStack() as stack:
            answer = app(environ, start_response)
            if hasattr(answer, "close"):
                stack.callback(answer.close)
            yield from answer

    return answered


@contextmanager
def a_site(engine: Engine, settings: Settings) -> Iterator[str]:
    """The address of a running site."""
    held = ports.hold(0)
    assert held is not None
    url = f"http://{ports.HOST}:{ports.of(held)}"
    app = create_app(engine=engine, settings=settings.model_copy(update={"base_url": url}))
    server = make_server(
        ports.HOST,
        ports.of(held),
        _closing_its_answers(app),
        threaded=True,
        request_handler=SilentHandler,
        fd=held.fileno(),
    )
    with _running(server):
        yield url
    held.close()


Answer = tuple[int, dict[str, str], bytes]


@dataclass
class Script:
    """A server's answers, in order: the last one is repeated, and None closes the connection instead. `requests` are
    those that came: method, path, headers, body."""

    answers: list[Answer | None]
    url: str = ""
    requests: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)

    def next(self) -> Answer | None:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@contextmanager
def a_script(*answers: Answer | None) -> Iterator[Script]:
    script = Script(list(answers))

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            script.requests.append((self.command, self.path, dict(self.headers), body))
            answer = script.next()
            if answer is None:
                self.close_connection = True
                return
            status, headers, content = answer
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PATCH = do_DELETE = _answer  # noqa: N815 - names of the standard library

        def log_message(self, format: str, *args: Any) -> None:
            return

    server = ThreadingHTTPServer((ports.HOST, 0), Handler)
    script.url = f"http://{ports.HOST}:{server.server_port}"
    with _running(server):
        yield script


@contextmanager
def _running(server: Any) -> Iterator[None]:
    serve: Callable[..., None] = server.serve_forever
    thread = Thread(target=serve, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
