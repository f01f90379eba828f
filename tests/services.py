"""ntfy and Gotify as their documentation describes them, on loopback. They are strict: they refuse unknown fields, too.

ntfy: docs.ntfy.sh/publish, "Publish as JSON" and, since 2.16, "Deleting notifications". Gotify: gotify.net/api-docs,
`POST /message` with the token of an application, `DELETE /message/{id}` with the token of a client.
"""

import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from sqlalchemy import Engine

from snoozer.notify import services
from tests.push_service import KEYS

TOKEN = "AbCdEf.123-token"
CLIENT_TOKEN = "CdEfGh.456-client"
NTFY_FIELDS = {"topic": str, "message": str, "title": str, "click": str, "tags": list, "priority": int, "actions": list}
GOTIFY_FIELDS = {"title": str, "message": str, "priority": int, "extras": dict}

Refusal = tuple[int, dict[str, str]]


@dataclass
class Server:
    """Takes what `judge` returns nothing for; `refusals` are used first, each once."""

    judge: Callable[[str, dict[str, str], Any], int | None]
    # The id of the nth message that was taken, and the status of a DELETE.
    name: Callable[[int], str | int] = str
    delete: Callable[[str, dict[str, str], list[str]], int] = lambda path, headers, ids: 405
    deleted: list[str] = field(default_factory=list)
    taken: list[dict[str, Any]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)

    def __enter__(self) -> Self:
        server = self

        class Handler(BaseHTTPRequestHandler):
            timeout = 30

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                server.asked.append(self.path)
                self._answer(lambda headers: server.answer(self.path, headers, body))

            def do_DELETE(self) -> None:
                server.asked.append(f"DELETE {self.path}")
                self._answer(lambda headers: server.withdrawn(self.path, headers))

            def _answer(self, judge: Callable[[dict[str, str]], int]) -> None:
                status, headers = server.refusals.pop(0) if server.refusals else (0, {})
                if not status:
                    status = judge({k.lower(): v for k, v in self.headers.items()})
                taken = {"id": server.name(len(server.taken)), "time": 1_796_000_000}
                content = json.dumps(taken).encode() if status == 200 else b""
                self.send_response(status)
                for name, value in {"Content-Length": str(len(content)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            def do_GET(self) -> None:
                server.asked.append(f"GET {self.path}")
                self.send_error(405)

            def log_message(self, *_: Any) -> None:
                """Nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def answer(self, path: str, headers: dict[str, str], body: bytes) -> int:
        try:
            content = json.loads(body)
        except ValueError:
            return 400
        if not isinstance(content, dict):
            return 400
        status = self.judge(path, headers, content)
        if status is None:
            self.taken.append(content)
        return status or 200

    def withdrawn(self, path: str, headers: dict[str, str]) -> int:
        ids = [str(self.name(number + 1)) for number in range(len(self.taken))]
        status = self.delete(path, headers, [id for id in ids if id not in self.deleted])
        if status == 200:
            self.deleted.append(path.rpartition("/")[2])
        return status


def _is_of(content: dict[str, Any], fields: dict[str, type]) -> bool:
    return all(name in fields and isinstance(value, fields[name]) for name, value in content.items())


def ntfy() -> Server:
    """Publishing needs TOKEN for topics that begin with `private`."""

    def judge(path: str, headers: dict[str, str], content: Any) -> int | None:
        if path != "/":
            return 404
        if not _is_of(content, NTFY_FIELDS) or not re.fullmatch(r"[-_A-Za-z0-9]{1,64}", content.get("topic", "")):
            return 400
        if content["topic"].startswith("private") and headers.get("authorization") != f"Bearer {TOKEN}":
            return 403
        return None if len(content.get("message", "")) <= 4_096 else 413

    def delete(path: str, headers: dict[str, str], ids: list[str]) -> int:
        _, topic, id = path.split("/")
        if topic.startswith("private") and headers.get("authorization") != f"Bearer {TOKEN}":
            return 403
        return 200 if id in ids else 404

    return Server(judge, name=lambda number: f"hwQ2YpKd{number}", delete=delete)


def gotify() -> Server:
    def judge(path: str, headers: dict[str, str], content: Any) -> int | None:
        if path != "/message":
            return 404
        if headers.get("x-gotify-key") != TOKEN:
            return 401
        is_message = headers.get("content-type") == "application/json" and _is_of(content, GOTIFY_FIELDS)
        return None if is_message and content.get("message") else 400

    def delete(path: str, headers: dict[str, str], ids: list[str]) -> int:
        if headers.get("x-gotify-key") != CLIENT_TOKEN:
            return 403
        return 200 if path in [f"/message/{id}" for id in ids] else 404

    return Server(judge, name=lambda number: 20 + number, delete=delete)


def add(engine: Engine, account_id: int, service: str, *, subject: bool = False, **address: str) -> int:
    """Adds a service through the use case; returns its id."""
    with engine.begin() as connection:
        return services.add(
            connection,
            account_id=account_id,
            key_ring=KEYS,
            service=service,
            address=address,
            shows_subject=subject,
            allowed=tuple(services.SERVICES),
            allow_private=True,
        )
