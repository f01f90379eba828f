"""A receiver of webhooks, of the tests' own: it verifies what comes by the library that receivers use."""

import json
import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from threading import Event
from typing import Any, Self

from sqlalchemy import Engine, text
from standardwebhooks import Webhook

from snoozer.notify import webhooks
from snoozer.notify.webhook_channel import WebhookChannel, WebhookSender
from snoozer.notify.webhook_message import EVENTS
from snoozer.notify.webhooks import Added

KEYS = ("a-key-for-stories-of-enough-length",)


@dataclass(frozen=True)
class Answer:
    """`hangs_up` closes the connection where the answer should begin."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    hangs_up: bool = False


@dataclass(frozen=True)
class Posted:
    path: str
    headers: dict[str, str]
    body: bytes
    method: str = "POST"

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def content(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.body)
        return content

    def verify(self, secret: str) -> None:
        """Raises where it was not signed by this secret in the last minutes."""
        Webhook(secret).verify(self.body, self.headers)


class Receiver:
    """Listens on loopback from `with` to its end, and takes everything, unless `answers` has others for a path: each is
    used once, and a function is called first. `posted` has the complete requests, `taken` the requests answered with
    2xx, in order."""

    def __init__(self) -> None:
        receiver = self
        self.posted: list[Posted] = []
        self.taken: list[Posted] = []
        self.answers: dict[str, list[Answer | Callable[[], Answer]]] = defaultdict(list)
        self.lock = threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            timeout = 30

            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length", 0))
                body = self.rfile.read(length)
                if len(body) < length:
                    return  # The sender was killed before it had sent all of it.
                headers = {name.lower(): value for name, value in self.headers.items()}
                posted = Posted(self.path, headers, body, self.command)
                with receiver.lock:
                    receiver.posted.append(posted)
                    planned = receiver.answers[self.path]
                    answer = planned.pop(0) if planned else Answer()
                answer = answer if isinstance(answer, Answer) else answer()
                if answer.hangs_up:
                    self.close_connection = True
                    return
                if 200 <= answer.status < 300:
                    with receiver.lock:
                        receiver.taken.append(posted)
                try:
                    self.send_response(answer.status)
                    for name, value in {"Content-Length": str(len(answer.body)), **answer.headers}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(answer.body)
                except OSError:
                    return  # The sender was killed, or hung up.

            def do_GET(self) -> None:
                self.do_POST()

            def log_message(self, *_: Any) -> None:
                """Nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})

    def url(self, name: str = "hook") -> str:
        return f"http://127.0.0.1:{self._server.server_port}/{name}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def an_endpoint(
    engine: Engine,
    *,
    account_id: int,
    url: str = "https://hooks.example/1",
    events: tuple[str, ...] = EVENTS,
    subject: bool = False,
    keys: tuple[str, ...] = KEYS,
) -> Added:
    """Adds an endpoint through the use case."""
    with engine.begin() as connection:
        return webhooks.add(
            connection,
            account_id=account_id,
            key_ring=keys,
            url=url,
            events=events,
            shows_subject=subject,
            allow_private=True,
        )


def the_sender(engine: Engine, *, seconds: float = 15.0, keys: tuple[str, ...] = KEYS, **changes: Any) -> WebhookSender:
    """A sender of webhooks without threads."""
    given: dict[str, Any] = {
        "engine": engine,
        "allow_private": True,
        "failpoint": lambda step, endpoint: None,
        "stopping": Event(),
    } | changes
    return WebhookSender(channel=WebhookChannel(keys=keys, rng=Random(1), seconds=seconds), **given)


def edit(engine: Engine, id: int, times: int = 1) -> None:
    """The note of a snooze is changed so many times."""
    for number in range(times):
        with engine.begin() as connection:
            connection.execute(
                text("UPDATE email_snoozes SET note = :note WHERE id = :id"), {"id": id, "note": f"note {number}"}
            )


def deliveries(engine: Engine) -> list[Any]:
    """The rows of the ledger, by their order."""
    with engine.connect() as connection:
        return list(connection.execute(text("SELECT * FROM webhook_deliveries ORDER BY id")).all())


def entered(engine: Engine) -> list[str]:
    """The events in the ledger, by their order."""
    return [row.event for row in deliveries(engine)]


def the_endpoint(engine: Engine, id: int) -> Any:
    with engine.connect() as connection:
        return connection.execute(text("SELECT * FROM webhook_endpoints WHERE id = :id"), {"id": id}).one()


def later(engine: Engine, *, hours: float = 3) -> None:
    """As if so much time had passed for webhooks."""
    with engine.begin() as connection:
        values = {"by": f"{hours} hours"}
        connection.execute(
            text(
                "UPDATE webhook_deliveries SET try_at = try_at - CAST(:by AS interval), "
                "first_tried_at = first_tried_at - CAST(:by AS interval), "
                "claimed_until = claimed_until - CAST(:by AS interval)"
            ),
            values,
        )
        connection.execute(
            text(
                "UPDATE webhook_endpoints SET quiet_until = quiet_until - CAST(:by AS interval), "
                "delivered_at = delivered_at - CAST(:by AS interval)"
            ),
            values,
        )


def a_failed_webhook(engine: Engine, *, url: str, answer: str) -> tuple[int, int]:
    """An endpoint of the first account that was switched off, and what it did not take."""
    hook = an_endpoint(engine, account_id=1, url=url)
    with engine.begin() as connection:
        delivery = connection.execute(
            text(
                "INSERT INTO webhook_deliveries (endpoint_id, account_id, event, state, finished_at, tried_at, "
                "attempts, status, reason, answer, answer_ms) "
                "VALUES (:hook, 1, 'test', 'failed', now(), now(), 9, 500, 'answer', :answer, 12) RETURNING id"
            ),
            {"hook": hook.id, "answer": answer},
        ).scalar_one()
        off = "UPDATE webhook_endpoints SET is_on = FALSE, off_reason = 'failing', off_at = now() WHERE id = :id"
        connection.execute(text(off), {"id": hook.id})
    return hook.id, delivery
